"""The popular articles' recipe: transformers' tokenizer, a quantize_dynamic file, FastAPI, boto3.

Everything at module scope, in the order of the imports, as the articles have it.
"""

import json
import os
from typing import Any

import boto3
import numpy as np
import onnxruntime
from fastapi import FastAPI
from mangum import Mangum
from pydantic import BaseModel
from transformers import AutoTokenizer

MODEL = os.environ["MODEL_DIR"]
tokenizer = AutoTokenizer.from_pretrained(MODEL)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(os.environ.get("BENCH_THREADS", "0"))
session = onnxruntime.InferenceSession(
    f"{MODEL}/model.onnx", options, providers=["CPUExecutionProvider"]
)
table = boto3.client("dynamodb")  # the recipe's cache; no measurement here ever waits for it
app = FastAPI()
gateway = Mangum(app, lifespan="off")


class Request(BaseModel):
    """The body of a request."""

    texts: list[str]
    top_k: int = 5


@app.post("/v1/fill-mask")
async def fill_mask(request: Request) -> dict[str, Any]:
    """Answer a request over HTTP."""
    return predict(request.texts, request.top_k)


def predict(texts: list[str], top_k: int) -> dict[str, Any]:
    """One padded batch through the whole vocabulary; candidates of the first mask of each text."""
    inputs = tokenizer(texts, padding=True, truncation=True, max_length=512, return_tensors="np")
    logits = session.run(
        ["logits"], {name: np.asarray(inputs[name], dtype=np.int64) for name in inputs}
    )[0]
    results = []
    for text, ids, rows in zip(texts, inputs["input_ids"], logits, strict=True):
        scores = rows[np.flatnonzero(ids == tokenizer.mask_token_id)[0]]
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        best = np.argsort(-shares)[:top_k]
        tokens = tokenizer.convert_ids_to_tokens(best.tolist())
        results.append(
            {
                "text": text,
                "candidates": [
                    {
                        "token": token,
                        "score": float(shares[number]),
                        "sequence": text.replace("[MASK]", token, 1),
                    }
                    for token, number in zip(tokens, best, strict=True)
                ],
            }
        )
    return {"results": results}


def handler(event: dict[str, Any], context: object) -> Any:
    """A queue batch, a direct request, or an HTTP event."""
    if "Records" in event:
        for record in event["Records"]:
            predict(json.loads(record["body"])["texts"], 5)
        return {"batchItemFailures": []}
    if "texts" in event:
        return predict(event["texts"], event.get("top_k", 5))
    return gateway(event, context)  # type: ignore[arg-type]
