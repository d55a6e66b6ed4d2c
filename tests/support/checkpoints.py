"""Random BERT checkpoints of any shape, in the forms that real ones have. Random weights mean nothing, but
have the sizes, names and costs of the real thing.

    python tests/checkpoints.py DIR      bert-base-chinese's shape: 12 x 768, 21,128 tokens
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file, save_file

Tensors = dict[str, npt.NDArray[np.float32]]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


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
    """Tensors under the names of bert-base-chinese: `bert.` prefix, gamma and beta, no decoder.weight."""
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
        named[f"{name}.weight"], named[f"{name}.bias"] = normal(rows, columns), normal(rows)

    def norm(name: str) -> None:
        named[f"{name}.LayerNorm.gamma"], named[f"{name}.LayerNorm.beta"] = (
            1 + normal(hidden),
            normal(hidden),
        )

    norm("bert.embeddings")
    for index in range(layers):
        layer = f"bert.encoder.layer.{index}"
        for part in ("query", "key", "value"):
            dense(f"{layer}.attention.self.{part}", hidden, hidden)
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
    folder.mkdir(parents=True, exist_ok=True)
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
    """The same without a head, as sentence-transformers lays it out: modules.json, 1_Pooling, and the encoder in
    the folder itself or in one below it, under names without `bert.`."""
    inside = write(folder / encoder, **shape)
    bare = {
        name.removeprefix("bert."): tensor
        for name, tensor in load_file(inside / "model.safetensors").items()
        if name.startswith("bert.")
    }
    save_file(bare, inside / "model.safetensors")
    paths = {"Transformer": encoder, "Pooling": "1_Pooling"} | {step: f"2_{step}" for step in steps}
    (folder / "modules.json").write_text(
        json.dumps(
            [
                {
                    "idx": index,
                    "name": str(index),
                    "path": path,
                    "type": f"sentence_transformers.models.{step}",
                }
                for index, (step, path) in enumerate(paths.items())
            ]
        ),
        encoding="utf-8",
    )
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
    if limits is not None:
        (inside / "sentence_bert_config.json").write_text(json.dumps(limits), encoding="utf-8")
    return folder


if __name__ == "__main__":
    write(Path(sys.argv[1]))
