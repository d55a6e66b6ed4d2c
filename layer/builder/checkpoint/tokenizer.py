"""Write the run-time tokenizer.json from a checkpoint's vocabulary, and say what may be a candidate.

The file differs from Hugging Face's on purpose in two places: only the mask is an added token, so a typed
[CLS] or [SEP] stays text; and what lies outside of Unicode's first plane (emoji, ideographs of the later
extensions that BERT's list of Chinese characters leaves out) stands alone, one character a word, instead of
swallowing its neighbours into one unknown word.
"""

import re
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer, Sequence, Split

from builder.checkpoint.reading import CheckpointError

SPECIAL = {"pad": "[PAD]", "unknown": "[UNK]", "start": "[CLS]", "end": "[SEP]", "mask": "[MASK]"}
OTHER_PLANES = r"[\x{10000}-\x{10FFFF}]"
CONTROL = re.compile(r"\[[^\]]+\]|<[^>]+>")  # [PAD], [unused12], <S>: never text, never a candidate
CAPITAL = re.compile(r"[A-Z]")


class Written(NamedTuple):
    """The tokenizer's JSON, the ids of the special tokens by role, and whether capitals are folded."""

    text: str
    special: dict[str, int]
    lowercase: bool


def write(vocabulary: list[str], options: dict[str, Any], *, needs_mask: bool = True) -> Written:
    """Raise CheckpointError when a special token is missing or the mask is not exactly one id. A vocabulary
    without a mask will do where none `needs_mask`: then no text has one."""
    ids = {token: index for index, token in enumerate(vocabulary)}
    if len(ids) != len(vocabulary):
        raise CheckpointError("The vocabulary lists a token twice.")
    special = {role: ids[token] for role, token in SPECIAL.items() if token in ids}
    for role, token in SPECIAL.items():
        if role not in special and (needs_mask or role != "mask"):
            raise CheckpointError(f"The vocabulary has no {token}.")
    if options.get("tokenize_chinese_chars") is False:
        raise CheckpointError(
            "The checkpoint does not take ideographs one by one (tokenize_chinese_chars is false)."
        )
    lowercase = folds_capitals(vocabulary, options)
    tokenizer = Tokenizer(
        WordPiece(ids, unk_token=SPECIAL["unknown"], max_input_chars_per_word=100)
    )
    tokenizer.normalizer = BertNormalizer(
        lowercase=lowercase, strip_accents=options.get("strip_accents")
    )
    tokenizer.pre_tokenizer = Sequence([BertPreTokenizer(), Split(Regex(OTHER_PLANES), "isolated")])
    if "mask" in special:
        tokenizer.add_special_tokens([AddedToken(SPECIAL["mask"], special=True, normalized=False)])
        if tokenizer.encode(SPECIAL["mask"]).ids != [special["mask"]]:
            raise CheckpointError(f"The mask token {SPECIAL['mask']} does not become one id.")
    return Written(tokenizer.to_str(), special, lowercase)


def folds_capitals(vocabulary: list[str], options: dict[str, Any]) -> bool:
    """True when the checkpoint says so, or when its vocabulary knows no capitals at all: bert-base-chinese
    says do_lower_case=false over a vocabulary without any, and would read iPhone as unknown."""
    if options.get("do_lower_case"):
        return True
    return not any(CAPITAL.search(token) for token in vocabulary if not CONTROL.fullmatch(token))


def allowed(vocabulary: list[str]) -> npt.NDArray[np.float32]:
    """[2, vocabulary] of 0 and -inf: row 0 whole words, row 1 continuation pieces (##) too; never control tokens."""
    control = np.array([CONTROL.fullmatch(token) is not None for token in vocabulary])
    pieces = np.array([token.startswith("##") and len(token) > 2 for token in vocabulary])
    return np.where([control | pieces, control], -np.inf, 0).astype(np.float32)
