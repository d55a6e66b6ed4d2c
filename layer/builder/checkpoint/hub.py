"""Find a checkpoint: a local folder as it is, a Hub id downloaded at one pinned revision."""

import re
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from builder.checkpoint.reading import CheckpointError

ENCODER = (
    "config.json",
    "vocab.txt",
    "tokenizer.json",
    "tokenizer_config.json",
    "sentence_bert_config.json",
)
WANTED = (
    *ENCODER,
    "modules.json",
    "config_sentence_transformers.json",
    "*_Pooling/config.json",
    *(f"*_Transformer/{name}" for name in ENCODER),
)
WEIGHTS = (
    ("model.safetensors", "model-*-of-*.safetensors", "model.safetensors.index.json"),
    ("pytorch_model.bin", "pytorch_model-*-of-*.bin", "pytorch_model.bin.index.json"),
)
# Errors by the names of their classes and of those these come from: the client lets its HTTP library's through.
REASONS = {
    "GatedRepoError": "the Hub gives it only to accounts that asked for it",
    "RepositoryNotFoundError": "the Hub has no such repository",
    "RevisionNotFoundError": "the Hub has no such revision of it",
    "OfflineModeIsEnabled": "HF_HUB_OFFLINE keeps the Hub from being asked",
    "ConnectionError": "the Hub could not be reached",
    "TransportError": "the Hub could not be reached",
    "LocalEntryNotFoundError": "the Hub could not be reached",
}


class Source(NamedTuple):
    """Where a checkpoint lies, what it is called, and the commit it was taken at (None for a folder)."""

    folder: Path
    id: str
    revision: str | None


def find(name: str, revision: str | None = None) -> Source:
    """A folder, or a Hub id such as google-bert/bert-base-chinese; safetensors are preferred over .bin files."""
    folder = Path(name)
    if name and folder.is_dir():
        return Source(folder, folder.resolve().name, None)
    if folder.is_file():
        raise CheckpointError(f"{name} is a file, not a folder.")
    if (
        not name.strip()
        or name.startswith((".", "~"))
        or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name)
    ):
        raise CheckpointError(
            f"{name.strip() or 'An empty name'} is neither a folder nor a Hub id."
        )
    from huggingface_hub import HfApi, snapshot_download  # noqa: PLC0415  (a folder needs no hub)

    try:
        info = HfApi().model_info(name, revision=revision)
        files = {entry.rfilename for entry in info.siblings or ()}
        weights = WEIGHTS[0] if _any_matches(files, _with_parts(WEIGHTS[0])) else WEIGHTS[1]
        local = snapshot_download(
            name, revision=info.sha, allow_patterns=[*WANTED, *_with_parts(weights)]
        )
    except (
        Exception
    ) as error:  # the client lets the errors of its HTTP library through, whichever that is
        names = [kind.__name__ for kind in type(error).__mro__]
        why = next(
            (REASONS[known] for known in names if known in REASONS),
            f"the Hub did not give it: {names[0]}",
        )
        raise CheckpointError(f"{name} is no folder, and {why}.") from error
    return Source(Path(local), name, info.sha)


def _with_parts(patterns: Iterable[str]) -> list[str]:
    return [*patterns, *(f"*_Transformer/{pattern}" for pattern in patterns)]


def _any_matches(files: Iterable[str], patterns: list[str]) -> bool:
    return any(fnmatch(file, pattern) for file in files for pattern in patterns)
