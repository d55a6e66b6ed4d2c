"""Where a checkpoint comes from: a local folder, or a Hub id that is downloaded at one commit."""

import re
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path
from typing import Final, NamedTuple

from builder.checkpoint.errors import CheckpointError

ENCODER: Final = (
    "config.json",
    "bert_config.json",
    "vocab.txt",
    "added_tokens.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "sentence_bert_config.json",
)
WANTED: Final = (
    *ENCODER,
    "modules.json",
    "config_sentence_transformers.json",
    "*_Pooling/config.json",
    *(f"*_Transformer/{name}" for name in ENCODER),
)
SAFETENSORS: Final = (
    "model.safetensors",
    "model-*-of-*.safetensors",
    "model.safetensors.index.json",
)
TORCH: Final = (
    "pytorch_model.bin",
    "pytorch_model-*-of-*.bin",
    "pytorch_model.bin.index.json",
)
HUB_ID: Final = re.compile(r"[\w.-]+(/[\w.-]+)?")
# By the name of an error's class or of one of its bases. The client lets the errors of its HTTP
# library through, whichever that is.
REASONS: Final = {
    "GatedRepoError": "the Hub gives it only to accounts that asked for it",
    "RepositoryNotFoundError": "the Hub has no such repository",
    "RevisionNotFoundError": "the Hub has no such revision of it",
    "OfflineModeIsEnabled": "HF_HUB_OFFLINE keeps the Hub from being asked",
    "ConnectionError": "the Hub could not be reached",
    "TransportError": "the Hub could not be reached",
    "LocalEntryNotFoundError": "the Hub could not be reached",
}


class Source(NamedTuple):
    """Where a checkpoint lies, what it is called, and the Hub's commit (None for a folder)."""

    folder: Path
    id: str
    revision: str | None


def find(name: str, revision: str | None = None) -> Source:
    """The checkpoint in a folder, or of a Hub id such as google-bert/bert-base-chinese.

    Of a Hub id the `revision` (branch, tag or commit) is downloaded. Raises CheckpointError.
    """
    folder = Path(name)
    if name and folder.is_dir():
        return Source(folder, folder.resolve().name, None)
    if folder.is_file():
        raise CheckpointError(f"{name} is a file, not a folder.")
    if not name.strip() or name.startswith((".", "~")) or not HUB_ID.fullmatch(name):
        raise CheckpointError(
            f"{name.strip() or 'An empty name'} is neither a folder nor a Hub id."
        )

    return _download(name, revision)


def _download(name: str, revision: str | None) -> Source:
    """Safetensors are preferred to torch's files; no weights are fetched twice."""
    from huggingface_hub import HfApi, snapshot_download  # noqa: PLC0415  (a folder needs no hub)

    try:
        info = HfApi().model_info(name, revision=revision)
        files = [entry.rfilename for entry in info.siblings or ()]
        safetensors, torch = _with_subfolders(SAFETENSORS), _with_subfolders(TORCH)
        weights = safetensors if _any_matches(files, safetensors) else torch

        folder = snapshot_download(name, revision=info.sha, allow_patterns=[*WANTED, *weights])
    except Exception as error:  # of whichever HTTP library the client uses
        raise CheckpointError(f"{name} is not a folder, and {_reason(error)}.") from error
    return Source(Path(folder), name, info.sha)


def _reason(error: Exception) -> str:
    names = [kind.__name__ for kind in type(error).__mro__]
    known = [REASONS[name] for name in names if name in REASONS]
    return known[0] if known else f"the Hub did not give it: {names[0]}"


def _with_subfolders(patterns: Iterable[str]) -> list[str]:
    return [*patterns, *(f"*_Transformer/{pattern}" for pattern in patterns)]


def _any_matches(files: Iterable[str], patterns: list[str]) -> bool:
    return any(fnmatch(file, pattern) for file in files for pattern in patterns)
