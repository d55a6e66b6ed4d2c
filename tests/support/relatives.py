"""Small random checkpoints of the architectures whose graph is BERT's, in the form of real ones.

Each is checkpoints.py's BERT with its tensors renamed and its tables changed.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from safetensors.numpy import load_file, save_file

from support import checkpoints
from support.checkpoints import SMALL, Tensors

Rows = tuple[tuple[str, str], ...]  # regular expressions and what replaces them
# Texts as token ids, and the positions that are asked for; checkpoints.py has [CLS] 2, [SEP] 3 and
# [MASK] 4.
QUERIES: Final = (
    ([2, 100, 4, 102, 3], [2, 4]),
    ([2, *range(60, 80), 4, *range(150, 172), 3], [0, 21]),
)

ROBERTA_HEAD: Final[Rows] = (
    (r"^cls\.predictions\.transform\.dense\.", "lm_head.dense."),
    (r"^cls\.predictions\.transform\.LayerNorm\.", "lm_head.layer_norm."),
    (r"^cls\.predictions\.", "lm_head."),
)
DISTILBERT: Final[Rows] = (
    (r"^bert\.", "distilbert."),
    (r"encoder\.layer", "transformer.layer"),
    (r"attention\.self\.(q|k|v)\w+", r"attention.\1_lin"),
    (r"attention\.output\.dense", "attention.out_lin"),
    (r"attention\.output\.LayerNorm", "sa_layer_norm"),
    (r"intermediate\.dense", "ffn.lin1"),
    (r"(\d)\.output\.dense", r"\1.ffn.lin2"),
    (r"(\d)\.output\.LayerNorm", r"\1.output_layer_norm"),
    (r"^cls\.predictions\.transform\.dense", "vocab_transform"),
    (r"^cls\.predictions\.transform\.LayerNorm", "vocab_layer_norm"),
    (r"^cls\.predictions\.bias", "vocab_projector.bias"),
)
ELECTRA: Final[Rows] = (
    (r"^bert\.", "electra."),
    (r"^cls\.predictions\.transform\.", "generator_predictions."),
    (r"^cls\.predictions\.", "generator_lm_head."),
)


def narrow(folder: Path) -> Path:
    """TinyBERT's hidden size per head: 72 has no block of 16 or more that divides it."""
    return _written(folder, (), {"architectures": ["BertForMaskedLM"]}, hidden=72)


def ernie(folder: Path) -> Path:
    """ERNIE 3.0, with a table of tasks."""
    named = {"model_type": "ernie", "architectures": ["ErnieForMaskedLM"]}
    return _with_tasks(_written(folder, ((r"^bert\.", "ernie."),), named), "ernie.")


def ernie_as_bert(folder: Path) -> Path:
    """The same under BERT's name, as many converters write it."""
    return _with_tasks(_written(folder, (), {}), "bert.")


def roberta(folder: Path) -> Path:
    """RoBERTa over WordPiece: the padding has id 0, so the first position is row 1."""
    rows = ((r"^bert\.", "roberta."), *ROBERTA_HEAD)
    named = {
        "model_type": "roberta",
        "architectures": ["RobertaForMaskedLM"],
        "type_vocab_size": 1,
        "max_position_embeddings": 49,
    }
    return _written(folder, rows, named, longer=1, types=1)


def distilbert(folder: Path) -> Path:
    """DistilBERT: names of its own in config.json too, and no table of types."""
    named = {
        "model_type": "distilbert",
        "architectures": ["DistilBertForMaskedLM"],
        "dim": SMALL["hidden"],
        "n_layers": SMALL["layers"],
        "n_heads": SMALL["heads"],
        "hidden_dim": SMALL["ffn"],
        "activation": "gelu",
    }
    written = _written(folder, DISTILBERT, named, types=0)
    content = json.loads((folder / "config.json").read_text())
    foreign = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    kept = {name: value for name, value in content.items() if name not in foreign}
    (folder / "config.json").write_text(json.dumps(kept))
    return written


def electra(folder: Path) -> Path:
    """ELECTRA's generator, as wide in its embeddings as in its layers."""
    named = {
        "model_type": "electra",
        "architectures": ["ElectraForMaskedLM"],
        "embedding_size": SMALL["hidden"],
    }
    return _written(folder, ELECTRA, named)


RELATIVES: Final[dict[str, Callable[[Path], Path]]] = {
    "narrow": narrow,
    "ernie": ernie,
    "ernie_as_bert": ernie_as_bert,
    "roberta": roberta,
    "distilbert": distilbert,
    "electra": electra,
}


def _written(
    folder: Path,
    rows: Rows,
    config: dict[str, Any],
    *,
    longer: int = 0,
    types: int = 2,
    hidden: int = SMALL["hidden"],
) -> Path:
    """A folder of `checkpoints` with renamed tensors, `longer` positions and so many types."""
    checkpoints.write(folder, **SMALL | {"hidden": hidden}, **config)
    path = folder / "model.safetensors"
    tensors = load_file(path)

    table = "bert.embeddings.{}_embeddings.weight".format
    places = tensors[table("position")]
    tensors[table("position")] = np.concatenate([places[:longer] - 1, places])
    if not types:
        del tensors[table("token_type")]
    else:
        tensors[table("token_type")] = tensors[table("token_type")][:types]

    _save(path, {_renamed(name, rows): tensor for name, tensor in tensors.items()})
    return folder


def _renamed(name: str, rows: Rows) -> str:
    name = name.replace("gamma", "weight").replace("beta", "bias")
    for pattern, replacement in rows:
        name = re.sub(pattern, replacement, name)
    return name


def _with_tasks(folder: Path, prefix: str) -> Path:
    path = folder / "config.json"
    described = {"use_task_id": True, "task_type_vocab_size": 3}
    path.write_text(json.dumps(json.loads(path.read_text()) | described))

    tensors = load_file(folder / "model.safetensors")
    random = np.random.default_rng(1)
    tasks = random.standard_normal((3, SMALL["hidden"]), dtype=np.float32) * np.float32(0.1)
    tensors[f"{prefix}embeddings.task_type_embeddings.weight"] = tasks
    _save(folder / "model.safetensors", tensors)
    return folder


def _save(path: Path, tensors: Tensors) -> None:
    whole = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    save_file(whole, path, metadata={"format": "pt"})
