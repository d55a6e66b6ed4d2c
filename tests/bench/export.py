"""The ONNX files of the alternatives, by the articles' own steps.

python tests/bench/export.py float32 CHECKPOINT OUT     torch.onnx.export: OUT/model.onnx and
                                                        the tokenizer's files
python tests/bench/export.py int8 FLOAT32 OUT           quantize_dynamic: weights of 8 bits
"""

import shutil
import sys
import warnings
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import AutoTokenizer, BertForMaskedLM

INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


def float32(checkpoint: Path, out: Path) -> None:
    """Exports the whole model, the head over every token included."""
    tokenizer = AutoTokenizer.from_pretrained(str(checkpoint))
    model = BertForMaskedLM.from_pretrained(str(checkpoint)).eval()
    example = tokenizer(["今天天[MASK]很好。", "[MASK]好"], padding=True, return_tensors="pt")
    shapes = {name: {0: "batch", 1: "length"} for name in [*INPUTS, "logits"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter announces its successor on every call
        torch.onnx.export(
            model,
            tuple(example[name] for name in INPUTS),
            str(out / "model.onnx"),
            input_names=INPUTS,
            output_names=["logits"],
            dynamic_axes=shapes,
            opset_version=17,
            dynamo=False,
        )
    tokenizer.save_pretrained(str(out))
    shutil.copyfile(checkpoint / "config.json", out / "config.json")


def int8(exported: Path, out: Path) -> None:
    """Quantises the weights; activations are quantised as it runs."""
    for path in exported.glob("*.json"):
        shutil.copyfile(path, out / path.name)
    quantize_dynamic(exported / "model.onnx", out / "model.onnx", weight_type=QuantType.QInt8)


if __name__ == "__main__":
    {"float32": float32, "int8": int8}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
