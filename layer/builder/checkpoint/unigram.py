"""Unigram, the tokenizer of XLM-R and of the multilingual encoders: its tokenizer.json, checked.

The file's own pipeline runs, in the library that it was written for, and offsets follow from its
alignment. Two things are changed. Control tokens are not matched in a text: a typed <s> is three
characters. And pieces are made up for embeddings that have none. For embeddings alone: there is no
list of what may be a candidate.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from tokenizers import Tokenizer

from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.json_files import read_object, read_object_if_any
from builder.checkpoint.wordpiece import RuntimeTokenizer
from fillmask.model.manifest import NO_TOKEN, Special

KIND: Final = "Unigram"
SPECIAL: Final = {"pad": "<pad>", "unknown": "<unk>", "start": "<s>", "end": "</s>"}
CONTROL: Final = frozenset([*SPECIAL.values(), "<mask>"])
# Steps whose result stays aligned with the text, character by character.
NORMALIZERS: Final = frozenset(
    ["Precompiled", "Replace", "Strip", "Lowercase", "Nmt", "NFC", "NFD", "NFKC", "NFKD"]
)
PRE_TOKENIZERS: Final = frozenset(["WhitespaceSplit", "Metaspace"])
# Ends a piece that no text can reach: Metaspace leaves no space in what it hands on.
UNREACHABLE: Final = " "


class Unigram(NamedTuple):
    """A checkpoint's tokenizer: its pieces by id, and the file they are from."""

    tokens: list[str]
    scores: list[float]
    content: Mapping[str, Any]  # of tokenizer.json
    made_up: int = 0  # how many of the pieces
    lowercase: bool = False  # capitals are folded before the file's own pipeline

    def padded(self, count: int) -> "Unigram":
        """With made-up pieces at the end, so that there are `count` of them."""
        made_up = [f"<unused{index}>" for index in range(len(self.tokens), count)]
        return self._replace(
            tokens=[*self.tokens, *made_up],
            scores=[*self.scores, *[0.0] * len(made_up)],
            made_up=self.made_up + len(made_up),
        )

    def folding_capitals(self) -> "Unigram":
        """The same with capitals folded."""
        return self._replace(lowercase=True)


def found(folder: Path) -> bool:
    """Whether a checkpoint folder has such a tokenizer, and none of WordPiece's kind beside it."""
    if (folder / "vocab.txt").exists():
        return False
    model = read_object_if_any(folder / "tokenizer.json").get("model")
    return isinstance(model, dict) and model.get("type") == KIND


def read(folder: Path) -> Unigram:
    """The tokenizer of a folder; raises CheckpointError where it cannot be followed exactly."""
    path = folder / "tokenizer.json"
    content = read_object(path)
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception for every malformed file
        raise CheckpointError(f"{path} is not a tokenizer: {error}.") from error

    _check_pipeline(content, path)
    tokens, scores = zip(*content["model"]["vocab"], strict=True)
    _check_control(tokenizer, list(tokens), path)
    return Unigram(list(tokens), list(scores), content)


def write(unigram: Unigram) -> RuntimeTokenizer:
    """The tokenizer of the built model."""
    special = Special(
        **{role: unigram.tokens.index(token) for role, token in SPECIAL.items()}, mask=NO_TOKEN
    )

    reachable = len(unigram.tokens) - unigram.made_up
    pieces = [
        [piece + UNREACHABLE if piece in CONTROL or index >= reachable else piece, score]
        for index, (piece, score) in enumerate(zip(unigram.tokens, unigram.scores, strict=True))
    ]
    changed = {
        "added_tokens": [],
        "post_processor": None,
        "truncation": None,
        "padding": None,
        "model": unigram.content["model"] | {"vocab": pieces},
    }
    if unigram.lowercase:
        steps = [{"type": "Lowercase"}, *_steps(unigram.content.get("normalizer"), "normalizers")]
        changed["normalizer"] = {"type": "Sequence", "normalizers": steps}

    whole = {**unigram.content, **changed}
    written = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
    return RuntimeTokenizer(written, special, unigram.lowercase)


def _check_pipeline(content: Mapping[str, Any], path: Path) -> None:
    """Raises CheckpointError for a step that may lose the offsets, and for added tokens."""
    normalizers = _steps(content.get("normalizer"), "normalizers")
    pre_tokenizers = _steps(content.get("pre_tokenizer"), "pretokenizers")
    for steps, known in ((normalizers, NORMALIZERS), (pre_tokenizers, PRE_TOKENIZERS)):
        for kind in (step["type"] for step in steps):
            if kind not in known:
                raise CheckpointError(
                    f"{path} has a step {kind}, and only these can be followed: "
                    f"{', '.join(sorted(known))}."
                )

    if not normalizers or "Metaspace" not in (step["type"] for step in pre_tokenizers):
        raise CheckpointError(f"{path} has no normalizer or no Metaspace, as XLM-R's has.")
    if content["model"].get("byte_fallback"):
        raise CheckpointError(f"{path} falls back to bytes, which have no offsets in the text.")

    for added in content.get("added_tokens", ()):
        if added["content"] not in CONTROL:
            raise CheckpointError(
                f"{path} adds the token {added['content']!r}, and a Unigram vocabulary can only be "
                "taken as it was trained."
            )


def _check_control(tokenizer: Tokenizer, tokens: list[str], path: Path) -> None:
    """The control tokens are XLM-R's, each once, and a text stands between <s> and </s>."""
    for token in SPECIAL.values():
        if tokens.count(token) != 1:
            raise CheckpointError(f"{path} has {token} {tokens.count(token)} times, and not once.")

    frame = [SPECIAL["start"], SPECIAL["end"]]
    if tokenizer.encode("").tokens != frame:
        raise CheckpointError(
            f"{path} puts {tokenizer.encode('').tokens} around a text, and only {frame} can be had."
        )
    if tokens.index(SPECIAL["unknown"]) != json.loads(tokenizer.to_str())["model"]["unk_id"]:
        raise CheckpointError(f"{path} has another token for what it does not know than <unk>.")


def _steps(part: Any, members: str) -> list[Mapping[str, Any]]:
    """The steps of a normalizer or pre-tokenizer, sequences unpacked."""
    if part is None:
        return []
    if part["type"] != "Sequence":
        return [part]
    return [step for inner in part[members] for step in _steps(inner, members)]
