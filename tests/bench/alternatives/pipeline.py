"""The transformers pipeline with torch in float32, behind the shortest handler there is.

No web framework.
"""

import json
import os
from typing import Any

import torch
from transformers import pipeline

if os.environ.get("BENCH_THREADS"):
    torch.set_num_threads(int(os.environ["BENCH_THREADS"]))
fill = pipeline("fill-mask", model=os.environ["MODEL_DIR"], device="cpu")


def predict(texts: list[str], top_k: int) -> dict[str, Any]:
    """The pipeline's answer to texts of one mask each."""
    with torch.inference_mode():
        answers = fill(texts, top_k=top_k, batch_size=len(texts))
    if len(texts) == 1 and isinstance(answers[0], dict):
        answers = [answers]
    return {
        "results": [
            {"text": text, "candidates": rows} for text, rows in zip(texts, answers, strict=True)
        ]
    }


def handler(event: dict[str, Any], context: object) -> Any:
    """A queue batch, a direct request, or an HTTP event."""
    if "Records" in event:
        for record in event["Records"]:
            predict(json.loads(record["body"])["texts"], 5)
        return {"batchItemFailures": []}
    if "texts" in event:
        return predict(event["texts"], event.get("top_k", 5))
    answer = predict(json.loads(event["body"])["texts"], 5)
    return {
        "statusCode": 200,
        "headers": {"content-type": "application/json"},
        "body": json.dumps(answer),
    }
