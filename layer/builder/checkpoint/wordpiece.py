"""WordPiece: what a checkpoint says of it, and the run-time tokenizer.json that is written.

That file differs from Hugging Face's on purpose in two places. Of the
control tokens only the mask is an added token, so a typed [CLS] or [SEP] stays text; tokens that a
fine-tune added are tokens. And what lies outside of Unicode's first plane (emoji, ideographs
of the later extensions that BERT's list of Chinese characters leaves out) stands alone, one
character a word, instead of making one unknown word with its neighbours.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers
from tokenizers.normalizers import BertNormalizer

from builder.checkpoint import added, pipeline
from builder.checkpoint.added import Added
from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.json_files import read_object, read_object_if_any
from fillmask.model.manifest import NO_TOKEN, Special

SPECIAL: Final = {
    "pad": "[PAD]",
    "unknown": "[UNK]",
    "start": "[CLS]",
    "end": "[SEP]",
    "mask": "[MASK]",
}
MASK: Final = SPECIAL["mask"]
CONTINUATION: Final = "##"
LONGEST_WORD: Final = 100  # in characters; a longer one is unknown, as in BERT
OTHER_PLANES: Final = r"[\x{10000}-\x{10FFFF}]"
CONTROL: Final = re.compile(r"\[[^\]]+\]|<[^>]+>")  # [PAD], [unused12], <S>: never text
CAPITAL: Final = re.compile(r"[A-Z]")
# Begins the made-up token of an embedding that has none: a control token, so never a candidate.
PADDING: Final = "[unused_pad"
# Begins the made-up token of a row that a later line of the vocabulary repeats. The last one wins,
# as in transformers.
REPEATED: Final = "[unused_repeated"


class Normaliser(NamedTuple):
    """What a checkpoint says of BERT's normaliser; None where it says nothing."""

    lowercase: bool | None
    strip_accents: bool | None
    split_ideographs: bool | None

    def folding_capitals(self) -> "Normaliser":
        """The same with capitals folded; accents are kept unless something was said of them."""
        return self._replace(lowercase=True, strip_accents=bool(self.strip_accents))


class WordPiece(NamedTuple):
    """A checkpoint's tokenizer: its tokens by id, its normaliser, and what a fine-tune added."""

    tokens: list[str]
    normaliser: Normaliser
    added: tuple[Added, ...] = ()  # their contents are among the tokens

    def padded(self, count: int) -> "WordPiece":
        """With made-up tokens at the end, so that there are `count` of them."""
        made_up = [f"{PADDING}{index}]" for index in range(len(self.tokens), count)]
        return self._replace(tokens=[*self.tokens, *made_up])

    @property
    def made_up(self) -> int:
        """How many tokens were made up."""
        return sum(token.startswith(PADDING) for token in self.tokens)


class RuntimeTokenizer(NamedTuple):
    """What the run-time package gets: tokenizer.json, and what model.json says of it."""

    json: str
    special: Special
    lowercase: bool  # capitals are folded


def read(folder: Path) -> WordPiece:
    """The tokenizer of a checkpoint folder, from vocab.txt or tokenizer.json.

    Raises CheckpointError where there is neither, or another kind of tokenizer.
    """
    words, described = folder / "vocab.txt", folder / "tokenizer.json"
    if not words.exists() and not described.exists():
        raise CheckpointError(f"{folder} has neither {words.name} nor {described.name}.")

    listed = added.read(folder)
    pipeline.check(described)
    tokens = _lines(words) if words.exists() else _described_tokens(described, listed)

    complete = _with_added(tokens, listed, folder)
    ours = tuple(token for token in listed if token.content not in SPECIAL.values())
    return WordPiece(complete, _normaliser(folder), ours)


def write(wordpiece: WordPiece, *, needs_mask: bool) -> RuntimeTokenizer:
    """The tokenizer of the built model.

    A vocabulary without a mask will do unless one is needed: no text has one then. Raises
    CheckpointError for a vocabulary that lacks another special token, and for a normaliser that
    leaves ideographs together.
    """
    ids = {token: index for index, token in enumerate(wordpiece.tokens)}
    special = _special(ids, needs_mask=needs_mask)
    if wordpiece.normaliser.split_ideographs is False:
        raise CheckpointError(
            "The checkpoint does not take ideographs one by one (tokenize_chinese_chars is false)."
        )

    lowercase = folds_capitals(wordpiece)
    tokenizer = _tokenizer(ids, lowercase, wordpiece.normaliser.strip_accents)
    tokenizer.add_tokens([token.for_tokenizer() for token in wordpiece.added])
    if MASK in ids:
        tokenizer.add_special_tokens([AddedToken(MASK, special=True, normalized=False)])
        if tokenizer.encode(MASK).ids != [special.mask]:
            raise CheckpointError(f"The mask token {MASK} does not become one id.")
    return RuntimeTokenizer(tokenizer.to_str(), special, lowercase)


def folds_capitals(wordpiece: WordPiece) -> bool:
    """True where the checkpoint says so, and where its vocabulary has no capitals at all.

    bert-base-chinese says do_lower_case=false over a vocabulary without any, and would read iPhone
    as unknown.
    """
    if wordpiece.normaliser.lowercase:
        return True
    added_later = {token.content for token in wordpiece.added}
    words = (
        token
        for token in wordpiece.tokens
        if not CONTROL.fullmatch(token) and token not in added_later
    )
    return not any(CAPITAL.search(word) for word in words)


def allowed(tokens: Sequence[str]) -> npt.NDArray[np.float32]:
    """[2, tokens] of 0 and -inf: what may be a candidate.

    Row 0 allows whole words, row 1 continuation pieces (##) too; none allows control tokens.
    """
    control = np.array([CONTROL.fullmatch(token) is not None for token in tokens])
    pieces = np.array([token.startswith(CONTINUATION) and len(token) > 2 for token in tokens])
    return np.where([control | pieces, control], -np.inf, 0).astype(np.float32)


def _special(ids: dict[str, int], *, needs_mask: bool) -> Special:
    for token in SPECIAL.values():
        if token not in ids and (needs_mask or token != MASK):
            raise CheckpointError(f"The vocabulary has no {token}.")
    return Special(**{role: ids.get(token, NO_TOKEN) for role, token in SPECIAL.items()})


def _tokenizer(ids: dict[str, int], lowercase: bool, strip_accents: bool | None) -> Tokenizer:
    tokenizer = Tokenizer(
        models.WordPiece(ids, unk_token=SPECIAL["unknown"], max_input_chars_per_word=LONGEST_WORD)
    )
    tokenizer.normalizer = BertNormalizer(lowercase=lowercase, strip_accents=strip_accents)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.BertPreTokenizer(),
            pre_tokenizers.Split(Regex(OTHER_PLANES), "isolated"),
        ]
    )
    return tokenizer


def _normaliser(folder: Path) -> Normaliser:
    """What tokenizer_config.json says, or else the `normalizer` of tokenizer.json."""
    first = read_object_if_any(folder / "tokenizer_config.json")
    second = read_object_if_any(folder / "tokenizer.json").get("normalizer")
    second = second if isinstance(second, dict) else {}

    def option(name: str, name_in_second: str) -> bool | None:
        value = first.get(name)
        value = second.get(name_in_second) if value is None else value
        if value is not None and not isinstance(value, bool):
            raise CheckpointError(
                f"{folder} gives {value!r} as {name}, which is neither true nor false."
            )
        return value

    return Normaliser(
        lowercase=option("do_lower_case", "lowercase"),
        strip_accents=option("strip_accents", "strip_accents"),
        split_ideographs=option("tokenize_chinese_chars", "handle_chinese_chars"),
    )


def _lines(path: Path) -> list[str]:
    """The tokens of a vocab.txt, one per line, without blank lines at the end."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise CheckpointError(f"{path} is not a text in UTF-8.") from None

    lines = [line.rstrip("\r") for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    last = {token: index for index, token in enumerate(lines)}
    return [
        token if last[token] == index else f"{REPEATED}{index}]"
        for index, token in enumerate(lines)
    ]


def _with_added(tokens: list[str], listed: Sequence[Added], folder: Path) -> list[str]:
    """The tokens with those that were added behind them, each at its id."""
    complete = list(tokens)
    for token in listed:
        while len(complete) <= token.id and token.content not in complete:
            gap = len(complete) < token.id
            complete.append(f"{PADDING}{len(complete)}]" if gap else token.content)
        if token.id >= len(complete) or complete[token.id] != token.content:
            raise CheckpointError(
                f"{folder} lists an added token with the id {token.id}, and its vocabulary has "
                "another token there or the same token elsewhere."
            )
    return complete


def _described_tokens(path: Path, listed: Sequence[Added]) -> list[str]:
    try:
        return _tokens(path, listed)
    except (AttributeError, KeyError, TypeError):
        raise CheckpointError(f"{path} does not list tokens and their ids.") from None


def _tokens(path: Path, listed: Sequence[Added]) -> list[str]:
    """The tokens of a tokenizer.json; raises KeyError or the like where they are not in order."""
    model: dict[str, Any] = read_object(path).get("model") or {}
    by_id = {index: token for token, index in model.get("vocab", {}).items()}
    by_id |= {token.id: token.content for token in listed}
    if sorted(by_id) != list(range(len(by_id))):
        raise CheckpointError(f"{path} leaves gaps between its token ids.")
    if not all(isinstance(token, str) for token in by_id.values()):
        raise TypeError
    return [by_id[index] for index in range(len(by_id))]
