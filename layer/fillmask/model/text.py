"""Text to tokens and back to the caller's own characters.

Every offset is in code points into the string as it was sent. Offsets come from the tokenizer's alignment,
which knows what the normaliser dropped, folded or split; nothing here searches in the text.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tokenizers import AddedToken, Tokenizer
from tokenizers.normalizers import BertNormalizer

from fillmask.errors import EngineUnavailable
from fillmask.model.manifest import Manifest

# Never dropped by BERT's normaliser: printable ASCII, white space, CJK punctuation and ideographs, full-width forms.
PLAIN = re.compile(r"[\t\n\r -~\u3000-\u3029\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff5e\u2018-\u201d]+")
SENTENCE_ENDS = "。！？!?；;…"
# What people write for a mask elsewhere, and how an error names it without repeating the caller's text.
NEAR_MASKS = (
    (r"\[\s*mask\s*\]", "[mask], which must be in capitals and without spaces"),
    (r"［\s*mask\s*］", "［MASK］ in full-width brackets"),
    (r"[【〔「『〖]\s*mask\s*[】〕」』〗]", "【MASK】 in Chinese brackets"),
    (r"[<＜]\s*mask\s*[>＞]", "<mask>"),
    (r"[{(（｛]{1,2}\s*mask\s*[})）｝]{1,2}", "(MASK) or {MASK}"),
    (r"\[mask\b|\bmask\]", "MASK with one bracket missing"),
    (r"[_＿]{2,}", "___"),
    (r"[□▢]", "□"),
    (r"[（(]\s*[)）]|\[\s*\]|【\s*】", "empty brackets"),
)


class Stretch(NamedTuple):
    """A part of the text the model could not see: [start, end) and "unknown" or "dropped"."""

    start: int
    end: int
    reason: str


class Encoded(NamedTuple):
    """A text as tokens, without [CLS] and [SEP]: ids, their spans in the text, and the indices of the masks."""

    ids: list[int]
    spans: list[tuple[int, int]]
    masks: list[int]
    unknown: list[Stretch]


class TextCodec:
    """The tokenizer of one model, with capitals folded or kept.

    Safe to share between threads: no tokenizer changes once it is made, and two threads that make the same twin
    at once make equal ones."""

    def __init__(self, tokenizer: Tokenizer, manifest: Manifest) -> None:
        if tokenizer.get_vocab_size() != manifest.vocabulary:
            raise EngineUnavailable(
                f"tokenizer.json has {tokenizer.get_vocab_size()} tokens and model.json says {manifest.vocabulary}."
            )
        if tokenizer.token_to_id(manifest.mask_token) != manifest.special.get("mask"):
            raise EngineUnavailable(
                f"tokenizer.json and model.json disagree on the id of {manifest.mask_token}."
            )
        self._manifest = manifest
        self._tokenizers = {manifest.lowercase: tokenizer}
        self._ends = {tokenizer.token_to_id(mark) for mark in SENTENCE_ENDS}
        self._dropped = lru_cache(maxsize=4096)(self._is_dropped)

    @classmethod
    def load(cls, folder: Path, manifest: Manifest) -> "TextCodec":
        """Read tokenizer.json of a model folder."""
        try:
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # the library raises plain Exception for every malformed file
            raise EngineUnavailable(f"{folder / 'tokenizer.json'} is not a tokenizer.") from error
        return cls(tokenizer, manifest)

    def _tokenizer(self, lowercase: bool) -> Tokenizer:
        """The one of the file, or its twin that treats capitals the other way and shares its vocabulary."""
        if lowercase not in self._tokenizers:
            ours = self._tokenizers[self._manifest.lowercase]
            twin = Tokenizer(ours.model)
            twin.normalizer = BertNormalizer(
                lowercase=lowercase, strip_accents=ours.normalizer.strip_accents
            )
            twin.pre_tokenizer = ours.pre_tokenizer
            twin.add_special_tokens(
                [AddedToken(self._manifest.mask_token, special=True, normalized=False)]
            )
            self._tokenizers[lowercase] = twin
        return self._tokenizers[lowercase]

    def encode(self, text: str, lowercase: bool) -> Encoded:
        """Tokens of `text`, their spans, the masks among them, and what was lost."""
        encoding = self._tokenizer(lowercase).encode(text, add_special_tokens=False)
        ids, spans = encoding.ids, encoding.offsets
        special = self._manifest.special
        unseen = [
            Stretch(*span, "unknown")
            for token, span in zip(ids, spans, strict=True)
            if token == special["unknown"]
        ]
        unseen += self._lost(text, lowercase, unseen)
        masks = [index for index, token in enumerate(ids) if token == special.get("mask")]
        return Encoded(ids, spans, masks, _merge(unseen))

    def _lost(self, text: str, lowercase: bool, unknown: list[Stretch]) -> Iterable[Stretch]:
        """Characters the normaliser deletes, outside of the stretches already unknown."""
        covered = {index for stretch in unknown for index in range(stretch.start, stretch.end)}
        at = 0
        for plain in [*PLAIN.finditer(text), None]:
            end = plain.start() if plain else len(text)
            for index in range(at, end):
                if index not in covered and self._dropped(text[index], lowercase):
                    yield Stretch(index, index + 1, "dropped")
            at = plain.end() if plain else end

    def _is_dropped(self, character: str, lowercase: bool) -> bool:
        return not self._tokenizer(lowercase).normalizer.normalize_str(character)

    def token(self, token_id: int) -> str:
        """The vocabulary's text of an id, with ## where it is a continuation piece."""
        return str(self._tokenizers[self._manifest.lowercase].id_to_token(token_id))

    def piece_id(self, token: str) -> int | None:
        """The id of a continuation piece named as the vocabulary names it (##...), or None."""
        found = (
            self._tokenizers[self._manifest.lowercase].token_to_id(token)
            if token.startswith("##")
            else None
        )
        return found if len(token) > 2 else None

    def sentence_ends(self, ids: Iterable[int]) -> list[int]:
        """The indices just after the tokens that end a sentence."""
        return [index + 1 for index, token in enumerate(ids) if token in self._ends]

    def near_mask(self, text: str) -> str | None:
        """The kind of thing in `text` that looks like a mask but is not one, as a hint without the text itself."""
        folded = unicodedata.normalize("NFKC", text)
        found = (
            name
            for form in (text, folded)
            for pattern, name in NEAR_MASKS
            if re.search(pattern, form, re.IGNORECASE)
        )
        name = next(found, None)
        return name and f"the text has {name}; the mask is written {self._manifest.mask_token}"


def _merge(stretches: list[Stretch]) -> list[Stretch]:
    """Sorted, with neighbours of the same reason joined."""
    merged: list[Stretch] = []
    for stretch in sorted(stretches):
        if merged and merged[-1].end == stretch.start and merged[-1].reason == stretch.reason:
            merged[-1] = Stretch(merged[-1].start, stretch.end, stretch.reason)
        else:
            merged.append(stretch)
    return merged


def shown(token: str) -> str:
    """A token as it stands in a sentence: a continuation piece without its ##."""
    return token[2:] if token.startswith("##") and len(token) > 2 else token
