"""OpenVINO on the alternatives' ONNX files, for warm latency only: direct requests of one text."""

import os
from typing import Any

import numpy as np
import openvino
from tokenizers import Tokenizer

MODEL = os.environ["MODEL_DIR"]
MASK = "[MASK]"
tokenizer = Tokenizer.from_file(f"{MODEL}/tokenizer.json")
mask_id = tokenizer.token_to_id(MASK)
hints: dict[str, Any] = {"PERFORMANCE_HINT": "LATENCY"}
if os.environ.get("BENCH_THREADS"):
    hints["INFERENCE_NUM_THREADS"] = int(os.environ["BENCH_THREADS"])
compiled = openvino.Core().compile_model(f"{MODEL}/model.onnx", "CPU", hints)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """A direct request of one text with one mask."""
    (text,) = event["texts"]
    ids = np.array([tokenizer.encode(text).ids])
    logits = compiled(
        {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
    )[0]
    scores = logits[0, np.flatnonzero(ids[0] == mask_id)[0]]
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    best = np.argpartition(-shares, 5)[:5]
    return {
        "results": [
            {
                "text": text,
                "candidates": [
                    {"token": tokenizer.id_to_token(number), "score": float(shares[number])}
                    for number in best.tolist()
                ],
            }
        ]
    }
