"""Small random encoders with XLM-R's tokenizer, shaped as the public multilingual ones."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from safetensors.numpy import load_file, save_file

from support import checkpoints
from support.checkpoints import SMALL
from support.paths import GOLDEN

FOLDER: Final = GOLDEN / "unigram"
SPARE: Final = 35  # embeddings without a token, as multilingual-e5-small has
TEXTS: Final = (
    "北京是中国的首都。",
    "query: how much protein should a female eat",
    "ＡＢＣ\u3000（全角）ﬁne ①\u200b  two  spaces\nnew line",
    "Ünïcödé 🙂 ｶﾞ e\u0301 กำ 한국어",
)


def minilm(folder: Path) -> Path:
    """paraphrase-multilingual-MiniLM-L12-v2: a BertModel."""
    return _written(folder, "bert", "BertModel")


def e5(folder: Path) -> Path:
    """multilingual-e5-small: a BertModel with more embeddings than tokens."""
    return _written(folder, "bert", "BertModel", spare=SPARE)


def xlm_roberta(folder: Path) -> Path:
    """multilingual-e5-base, bge-m3's encoder: positions begin behind the padding's id."""
    return _written(folder, "xlm-roberta", "XLMRobertaModel", longer=2, layer_norm_eps=1e-5)


ENCODERS: Final[dict[str, Callable[[Path], Path]]] = {
    "minilm": minilm,
    "e5": e5,
    "xlm_roberta": xlm_roberta,
}


def _written(
    folder: Path, model_type: str, kind: str, *, spare: int = 0, longer: int = 0, **config: Any
) -> Path:
    """A sentence-transformers folder with mean pooling."""
    content = json.loads((FOLDER / "tokenizer.json").read_text(encoding="utf-8"))
    rows = len(content["model"]["vocab"]) + spare
    shape = SMALL | {"size": rows, "positions": SMALL["positions"] + longer}
    described: dict[str, Any] = {
        "model_type": model_type,
        "architectures": [kind],
        "pad_token_id": 1,
    }

    pooling = {"word_embedding_dimension": SMALL["hidden"], "pooling_mode_mean_tokens": True}
    checkpoints.sentence_transformer(folder, pooling, **shape, **described, **config)
    (folder / "vocab.txt").unlink()
    (folder / "tokenizer_config.json").unlink()
    shutil.copy(FOLDER / "tokenizer.json", folder)

    path = folder / "model.safetensors"
    modern = {
        name.replace("gamma", "weight").replace("beta", "bias"): np.ascontiguousarray(tensor)
        for name, tensor in load_file(path).items()
    }
    save_file(modern, path, metadata={"format": "pt"})
    return folder
