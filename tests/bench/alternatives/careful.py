"""A careful engineer's handler without this package: the Rust tokenizer in place of transformers.

One quantize_dynamic file, FastAPI on Mangum, boto3: sequential, at module scope.
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
from tokenizers import Tokenizer

MODEL = os.environ["MODEL_DIR"]
MASK = "[MASK]"
tokenizer = Tokenizer.from_file(f"{MODEL}/tokenizer.json")
tokenizer.enable_padding()
tokenizer.enable_truncation(512)
mask_id = tokenizer.token_to_id(MASK)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(os.environ.get("BENCH_THREADS", "0"))
session = onnxruntime.InferenceSession(
    f"{MODEL}/model.onnx", options, providers=["CPUExecutionProvider"]
)
table = boto3.client("dynamodb")  # its cache; no measurement here ever waits for it
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
    encodings = tokenizer.encode_batch(texts)
    ids = np.array([encoding.ids for encoding in encodings])
    logits = session.run(
        ["logits"],
        {
            "input_ids": ids,
            "attention_mask": np.array([encoding.attention_mask for encoding in encodings]),
            "token_type_ids": np.zeros_like(ids),
        },
    )[0]
    results = []
    for text, line, rows in zip(texts, ids, logits, strict=True):
        scores = rows[np.flatnonzero(line == mask_id)[0]]
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        best = np.argpartition(-shares, top_k)[:top_k]
        results.append(
            {
                "text": text,
                "candidates": [
                    {
                        "token": token,
                        "score": float(shares[number]),
                        "sequence": text.replace(MASK, str(token), 1),
                    }
                    for number in sorted(best.tolist(), key=lambda number: -shares[number])
                    for token in [tokenizer.id_to_token(number)]
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
