"""Random BERT checkpoints of any shape, in the forms that real ones have.

Random weights mean nothing, but have the sizes, names and costs of real ones.

    python tests/support/checkpoints.py DIR    bert-base-chinese's shape: 12 x 768, 21,128 tokens
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file, save_file

Tensors = dict[str, npt.NDArray[np.float32]]
SPECIAL: Final = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# Sizes of a checkpoint that is built in a second.
SMALL: Final[dict[str, Any]] = {
    "hidden": 64,
    "layers": 2,
    "heads": 4,
    "ffn": 96,
    "positions": 48,
    "size": 200,
}


def vocabulary(size: int) -> list[str]:
    """Specials, ASCII and its continuation pieces, punctuation, then ideographs by code point."""
    ascii_words = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    tokens = SPECIAL + ascii_words + [f"##{c}" for c in ascii_words if c.isalnum()]
    tokens += list("。，、；：？！“”（）《》…—～")

    ideographs = (chr(code) for code in [*range(0x4E00, 0xA000), *range(0x3400, 0x4DC0)])
    while len(tokens) < size:
        tokens.append(next(ideographs))
    return tokens[:size]


def tensors(
    hidden: int, layers: int, ffn: int, positions: int, size: int, seed: int = 0
) -> Tensors:
    """Tensors as bert-base-chinese has them.

    Their names begin with `bert.` and say gamma and beta; there is no decoder.weight.
    """
    random = np.random.default_rng(seed)

    def normal(*shape: int) -> npt.NDArray[np.float32]:
        return random.standard_normal(shape, dtype=np.float32) * np.float32(0.04)

    named: Tensors = {
        "bert.embeddings.word_embeddings.weight": normal(size, hidden),
        "bert.embeddings.position_embeddings.weight": normal(positions, hidden),
        "bert.embeddings.token_type_embeddings.weight": normal(2, hidden),
        "cls.predictions.bias": normal(size),
    }

    def dense(name: str, rows: int, columns: int) -> None:
        named[f"{name}.weight"] = normal(rows, columns)
        named[f"{name}.bias"] = normal(rows)

    def norm(name: str) -> None:
        named[f"{name}.LayerNorm.gamma"] = 1 + normal(hidden)
        named[f"{name}.LayerNorm.beta"] = normal(hidden)

    norm("bert.embeddings")
    for layer in (f"bert.encoder.layer.{index}" for index in range(layers)):
        for projection in ("query", "key", "value"):
            dense(f"{layer}.attention.self.{projection}", hidden, hidden)
        dense(f"{layer}.attention.output.dense", hidden, hidden)
        norm(f"{layer}.attention.output")
        dense(f"{layer}.intermediate.dense", ffn, hidden)
        dense(f"{layer}.output.dense", hidden, ffn)
        norm(f"{layer}.output")
    dense("cls.predictions.transform.dense", hidden, hidden)
    norm("cls.predictions.transform")
    return named


def write(
    folder: Path,
    *,
    hidden: int = 768,
    layers: int = 12,
    heads: int = 12,
    ffn: int = 3072,
    positions: int = 512,
    size: int = 21128,
    tokens: list[str] | None = None,
    seed: int = 0,
    **config: Any,
) -> Path:
    """A Hugging Face folder: config.json, model.safetensors, vocab.txt, tokenizer_config.json."""
    tokens = tokens or vocabulary(size)
    size = len(tokens)
    described = {
        "model_type": "bert",
        "architectures": ["BertForMaskedLM"],
        "hidden_act": "gelu",
        "hidden_size": hidden,
        "intermediate_size": ffn,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": positions,
        "num_attention_heads": heads,
        "num_hidden_layers": layers,
        "type_vocab_size": 2,
        "vocab_size": size,
        "pad_token_id": 0,
    }

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(described | config), encoding="utf-8")
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}', encoding="utf-8")
    save_file(tensors(hidden, layers, ffn, positions, size, seed), folder / "model.safetensors")
    return folder


def sentence_transformer(
    folder: Path,
    pooling: dict[str, Any],
    *,
    steps: tuple[str, ...] = ("Normalize",),
    encoder: str = "",
    limits: dict[str, Any] | None = None,
    **shape: Any,
) -> Path:
    """The same without a head, as sentence-transformers lays it out.

    There is modules.json and 1_Pooling. The encoder lies in the folder itself or in one below it,
    and its tensors' names do not begin with `bert.`.
    """
    inside = write(folder / encoder, **shape)
    _leave_encoder(inside / "model.safetensors")

    paths = {"Transformer": encoder, "Pooling": "1_Pooling"} | {step: f"2_{step}" for step in steps}
    modules = [
        {
            "idx": index,
            "name": str(index),
            "path": path,
            "type": f"sentence_transformers.models.{step}",
        }
        for index, (step, path) in enumerate(paths.items())
    ]
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")

    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
    if limits is not None:
        (inside / "sentence_bert_config.json").write_text(json.dumps(limits), encoding="utf-8")
    return folder


def _leave_encoder(path: Path) -> None:
    encoder = {
        name.removeprefix("bert."): tensor
        for name, tensor in load_file(path).items()
        if name.startswith("bert.")
    }
    save_file(encoder, path)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
