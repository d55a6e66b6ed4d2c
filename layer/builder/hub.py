"""Find a checkpoint: a local folder as it is, a Hub id downloaded at one pinned revision."""

import re
from pathlib import Path
from typing import NamedTuple

from builder.checkpoint import CheckpointError

ENCODER = ("config.json", "vocab.txt", "tokenizer.json", "tokenizer_config.json", "sentence_bert_config.json")
WANTED = (*ENCODER, "modules.json", "config_sentence_transformers.json", "*_Pooling/config.json",
          *(f"*_Transformer/{name}" for name in ENCODER))
WEIGHTS = (("model*.safetensors", "model.safetensors.index.json"),
           ("pytorch_model*.bin", "pytorch_model.bin.index.json"))


class Source(NamedTuple):
    """Where a checkpoint lies, what it is called, and the commit it was taken at (None for a folder)."""

    folder: Path
    id: str
    revision: str | None


def find(name: str, revision: str | None = None) -> Source:
    """A folder, or a Hub id such as google-bert/bert-base-chinese; safetensors are preferred over .bin files."""
    folder = Path(name)
    if folder.is_dir():
        return Source(folder, folder.resolve().name, None)
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name):
        raise CheckpointError(f"{name} is neither a folder nor a Hub id.")
    from huggingface_hub import HfApi, snapshot_download  # noqa: PLC0415  (a folder needs no hub)
    try:
        info = HfApi().model_info(name, revision=revision)
        files = {entry.rfilename for entry in info.siblings or ()}
        weights = WEIGHTS[0] if any(file.endswith(".safetensors") for file in files) else WEIGHTS[1]
        patterns = [*WANTED, *weights, *(f"*_Transformer/{pattern}" for pattern in weights)]
        local = snapshot_download(name, revision=info.sha, allow_patterns=patterns)
    except Exception as error:  # the client lets the errors of its HTTP library through, whichever that is
        raise CheckpointError(f"{name} is no folder, and the Hub did not give it: {type(error).__name__}.") from error
    return Source(Path(local), name, info.sha)
