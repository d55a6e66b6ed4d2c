"""A checkpoint whose decoder is not tied: both biases are in the file, as transformers 5 saves."""

from pathlib import Path
from typing import Final

import numpy as np
from safetensors.numpy import load_file, save_file

from support import checkpoints
from support.checkpoint_forms import DECODER, WORDS, config

IDS: Final = [2, 150, 4, 160, 170, 3]
MASK_AT: Final = 2


def write(folder: Path) -> Path:
    """The folder, with random biases of the size of one nat."""
    checkpoints.write(folder, **checkpoints.SMALL)
    config(folder, tie_word_embeddings=False)

    path = folder / "model.safetensors"
    tensors = load_file(path)
    random = np.random.default_rng(11)
    tensors[DECODER] = tensors[WORDS][::-1].copy()
    for name in ("cls.predictions.bias", "cls.predictions.decoder.bias"):
        tensors[name] = random.standard_normal(len(tensors[WORDS])).astype(np.float32)
    save_file(tensors, path, metadata={"format": "pt"})
    return folder
