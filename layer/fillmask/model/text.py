"""Text to tokens, and back to the caller's own characters.

Every offset is in code points into the string as it was sent. Offsets come from the tokenizer's
alignment, which knows what the normaliser dropped, folded or split; nothing here searches the text.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer

from fillmask.errors import EngineUnavailable
from fillmask.model.manifest import NO_TOKEN, Manifest

# What BERT's normaliser never drops: printable ASCII, white space, CJK punctuation and ideographs,
# full-width forms.
PLAIN: Final = re.compile(
    r"[\t\n\r -~\u3000-\u3029\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff5e\u2018-\u201d]+"
)
SENTENCE_ENDS: Final = "。！？!?；;…"
CONTINUATION: Final = "##"
LONGEST_WORD: Final = 100  # in characters; a longer one is unknown, as in BERT
CONTROL: Final = re.compile(r"\[[^\]]+\]|<[^>]+>")  # [PAD], [unused12], <S>

# What people write for a mask elsewhere, and how an error names it without repeating their text.
NEAR_MASKS: Final = (
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


Span = tuple[int, int]


class Stretch(NamedTuple):
    """A part of the text that the model could not see: [start, end) and the reason."""

    start: int
    end: int
    reason: str  # "unknown" or "dropped"


class Encoded(NamedTuple):
    """A text as tokens, without [CLS] and [SEP]."""

    ids: list[int]
    spans: list[Span]  # offsets [start, end) of each token in the text
    masks: list[int]  # indices of the mask tokens
    unknown: list[Stretch]


class TextCodec:
    """The tokenizer of one model, with capitals folded or kept.

    Threads may share it. No tokenizer changes once it is made, and two threads that make the same
    twin at the same time make equal ones.
    """

    def __init__(self, tokenizer: Tokenizer, manifest: Manifest) -> None:
        """Raises EngineUnavailable when the tokenizer and the manifest disagree."""
        size = tokenizer.get_vocab_size()
        if size != manifest.vocabulary:
            raise EngineUnavailable(
                f"tokenizer.json has {size} tokens and model.json says {manifest.vocabulary}."
            )

        mask = tokenizer.token_to_id(manifest.mask_token)
        if (NO_TOKEN if mask is None else mask) != manifest.special.mask:
            raise EngineUnavailable(
                f"tokenizer.json and model.json disagree on the id of {manifest.mask_token}."
            )

        self._manifest = manifest
        self._original, self._model = tokenizer, tokenizer.model
        self._by_lowercase = {manifest.lowercase: tokenizer}
        self._ends = {tokenizer.token_to_id(mark) for mark in SENTENCE_ENDS}
        self._dropped = lru_cache(maxsize=4096)(self._is_dropped)

    @classmethod
    def load(cls, folder: Path, manifest: Manifest) -> "TextCodec":
        """The codec of a model folder; raises EngineUnavailable."""
        path = folder / "tokenizer.json"
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises plain Exception for every malformed file
            raise EngineUnavailable(f"{path} is not a tokenizer.") from error
        return cls(tokenizer, manifest)

    def encode(self, text: str, lowercase: bool, *, split_unknown: bool = True) -> Encoded:
        """The tokens of `text`, the masks among them, and what of the text was lost."""
        encoding = self._tokenizer(lowercase).encode(text, add_special_tokens=False)
        special = self._manifest.special
        ids, spans = encoding.ids, encoding.offsets
        if split_unknown and special.unknown in ids:
            ids, spans = self._split_unknown(text, lowercase, ids, spans)

        unknown = [
            Stretch(*span, "unknown")
            for token, span in zip(ids, spans, strict=True)
            if token == special.unknown
        ]
        dropped = self._lost(text, lowercase, unknown)

        masks = [index for index, token in enumerate(ids) if token == special.mask]
        return Encoded(ids, spans, masks, _merge([*unknown, *dropped]))

    def token(self, token_id: int) -> str:
        """The vocabulary's text of an id, with ## where it is a continuation piece."""
        # The tokenizer itself names an added token in its normalised form.
        written = self._model.id_to_token(token_id)
        return str(self._original.id_to_token(token_id) if written is None else written)

    def piece_id(self, token: str) -> int | None:
        """The id of a continuation piece named as the vocabulary names it (##...), or None."""
        return self._original.token_to_id(token) if _is_continuation(token) else None

    def word_id(self, word: str) -> int | None:
        """The id of a word that the vocabulary has whole, or None; a control token is no word."""
        return None if CONTROL.fullmatch(word) else self._original.token_to_id(word)

    def sentence_ends(self, ids: Iterable[int]) -> list[int]:
        """The indices just after the tokens that end a sentence."""
        return [index + 1 for index, token in enumerate(ids) if token in self._ends]

    def near_mask(self, text: str) -> str | None:
        """A hint at what in `text` looks like a mask and is not one; it does not quote the text."""
        folded = unicodedata.normalize("NFKC", text)
        for form in (text, folded):
            for pattern, name in NEAR_MASKS:
                if re.search(pattern, form, re.IGNORECASE):
                    mask = self._manifest.mask_token
                    return f"the text has {name}; the mask is written {mask}"
        return None

    def _split_unknown(
        self, text: str, lowercase: bool, ids: list[int], spans: list[Span]
    ) -> tuple[list[int], list[Span]]:
        """Tokens without the unknown words of which every character is a token of its own.

        BERT's list of ideographs lacks 〇, so that 〇〇 is one word, which no vocabulary has.
        """
        unknown, tokenizer = self._manifest.special.unknown, self._tokenizer(lowercase)
        split_ids, split_spans = [], []
        for token, (start, end) in zip(ids, spans, strict=True):
            characters = [
                tokenizer.encode(text[index], add_special_tokens=False).ids
                for index in range(start, end)
                if token == unknown and end - start <= LONGEST_WORD
            ]
            if all(len(found) == 1 and found != [unknown] for found in characters) and characters:
                split_ids += [found[0] for found in characters]
                split_spans += [(index, index + 1) for index in range(start, end)]
            else:
                split_ids.append(token)
                split_spans.append((start, end))
        return split_ids, split_spans

    def _tokenizer(self, lowercase: bool) -> Tokenizer:
        """The tokenizer of the file, or its twin that treats capitals the other way."""
        if lowercase not in self._by_lowercase:
            self._by_lowercase[lowercase] = self._twin(lowercase)
        return self._by_lowercase[lowercase]

    def _twin(self, lowercase: bool) -> Tokenizer:
        """A tokenizer over the same vocabulary."""
        twin = Tokenizer(self._original.model)
        twin.normalizer = BertNormalizer(
            lowercase=lowercase, strip_accents=self._original.normalizer.strip_accents
        )
        twin.pre_tokenizer = self._original.pre_tokenizer
        for added in self._original.get_added_tokens_decoder().values():
            twin.add_tokens([added])
        return twin

    def _lost(self, text: str, lowercase: bool, unknown: list[Stretch]) -> Iterator[Stretch]:
        """The characters that the normaliser deletes, outside of the stretches already unknown."""
        covered = {index for stretch in unknown for index in range(stretch.start, stretch.end)}
        for index in _not_plain(text):
            if index not in covered and self._dropped(text[index], lowercase):
                yield Stretch(index, index + 1, "dropped")

    def _is_dropped(self, character: str, lowercase: bool) -> bool:
        return not self._tokenizer(lowercase).normalizer.normalize_str(character)


def shown(token: str) -> str:
    """A token as it stands in a sentence: a continuation piece without its ##."""
    return token.removeprefix(CONTINUATION) if _is_continuation(token) else token


def _is_continuation(token: str) -> bool:
    """Whether a token of the vocabulary continues a word; ## alone is a token of its own."""
    return token.startswith(CONTINUATION) and token != CONTINUATION


def _not_plain(text: str) -> Iterator[int]:
    """Indices of the characters outside of PLAIN: few, so that each may be looked at."""
    end = 0
    for plain in PLAIN.finditer(text):
        yield from range(end, plain.start())
        end = plain.end()
    yield from range(end, len(text))


def _merge(stretches: list[Stretch]) -> list[Stretch]:
    """The stretches in order, with neighbours of the same reason joined."""
    merged: list[Stretch] = []
    for stretch in sorted(stretches):
        last = merged[-1] if merged else None
        if last and last.end == stretch.start and last.reason == stretch.reason:
            merged[-1] = Stretch(last.start, stretch.end, stretch.reason)
        else:
            merged.append(stretch)
    return merged
