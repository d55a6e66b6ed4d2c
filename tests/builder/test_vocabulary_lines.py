"""vocab.txt as people have it: repeated lines, a byte order mark, blank lines at the end."""

from pathlib import Path

import numpy as np

from builder.checkpoint import wordpiece
from builder.checkpoint.reading import Checkpoint
from builder.checkpoint.wordpiece import WordPiece
from support.checkpoint_forms import vocabulary


def test_the_last_of_repeated_lines_wins_and_the_others_are_never_candidates(source: Path) -> None:
    vocabulary(source, lambda lines: [*lines[:150], "$", *lines[151:]])
    first = wordpiece.read(source).tokens
    assert first[150] == "$"

    checkpoint = Checkpoint.load(source)
    assert isinstance(checkpoint.tokenizer, WordPiece)
    shadowed = checkpoint.tokenizer.tokens.index("[unused_repeated8]")
    assert (source / "vocab.txt").read_text(encoding="utf-8").split("\n")[shadowed] == "$"
    assert len(checkpoint.tokenizer.tokens) == checkpoint.shape.vocabulary
    assert np.isneginf(wordpiece.allowed(checkpoint.tokenizer.tokens)[:, shadowed]).all()
    assert wordpiece.write(checkpoint.tokenizer, needs_mask=True).special.mask == 4


def test_a_byte_order_mark_and_blank_last_lines_are_no_tokens(source: Path) -> None:
    expected = wordpiece.read(source).tokens
    path = source / "vocab.txt"
    path.write_text("\ufeff" + path.read_text(encoding="utf-8") + "\n\n", encoding="utf-8")
    assert wordpiece.read(source).tokens == expected
