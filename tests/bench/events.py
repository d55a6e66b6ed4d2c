"""Texts of wanted lengths and the events that carry them; the same seed gives the same texts."""

import json
import random
import uuid
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from builder.layers import assemble as layers

SENTENCES = layers.ROOT / "layer" / "builder" / "data" / "sentences-cc0.txt"
MASK = "[MASK]"
Event = dict[str, Any]


def sentences(path: Path = SENTENCES) -> list[str]:
    """Real sentences of 5 to 60 characters, mean about 17."""
    return [
        line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")
    ]


def characters() -> list[str]:
    """Ideographs of those sentences: each is one token of every Chinese vocabulary."""
    return sorted({one for line in sentences() for one in line if "\u4e00" <= one <= "\u9fff"})


def of_length(tokens: int, seed: object) -> Iterator[str]:
    """Endless different texts of exactly so many tokens, [CLS], [SEP] and one mask included."""
    chance, letters = random.Random(f"{tokens} {seed}"), characters()
    while True:
        text = chance.choices(letters, k=tokens - 2)
        text[chance.randrange(tokens - 2)] = MASK
        yield "".join(text)


def mixed(count: int, seed: object) -> list[str]:
    """Different real sentences, a character of each masked; where they run out, sentences in pairs."""
    chance, lines = random.Random(f"mixed {seed}"), sentences()
    chance.shuffle(lines)
    lines += [first + second for first, second in pairwise(lines)]
    masked = []
    for line in lines[:count]:
        place = chance.choice(
            [index for index, one in enumerate(line) if "\u4e00" <= one <= "\u9fff"]
        )
        masked.append(line[:place] + MASK + line[place + 1 :])
    return masked


def direct(texts: list[str]) -> Event:
    """A direct invocation."""
    return {"texts": texts}


def http(texts: list[str]) -> Event:
    """An HTTP API event, payload 2.0."""
    return {
        "version": "2.0",
        "routeKey": "POST /v1/fill-mask",
        "rawPath": "/v1/fill-mask",
        "rawQueryString": "",
        "headers": {
            "content-type": "application/json",
            "host": "bench.example",
            "user-agent": "bench",
        },
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "bench",
            "domainName": "bench.example",
            "stage": "$default",
            "http": {
                "method": "POST",
                "path": "/v1/fill-mask",
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.1",
                "userAgent": "bench",
            },
            "requestId": "bench",
            "routeKey": "POST /v1/fill-mask",
            "time": "01/Jan/2026:00:00:00 +0000",
            "timeEpoch": 1767225600000,
        },
        "body": json.dumps({"texts": texts}, ensure_ascii=False),
        "isBase64Encoded": False,
    }


def sqs(texts: list[str]) -> Event:
    """A batch of one queue message."""
    return {
        "Records": [
            {
                "messageId": str(uuid.uuid4()),
                "receiptHandle": "bench",
                "body": json.dumps({"texts": texts}),
                "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1767225600000"},
                "messageAttributes": {},
                "md5OfBody": "",
                "eventSource": "aws:sqs",
                "awsRegion": "us-east-1",
                "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:bench",
            }
        ]
    }


KINDS = {"direct": direct, "http": http, "sqs": sqs}


def check(answer: Any) -> None:
    """Raise RuntimeError unless this is an answer with candidates, or a queue batch without failures."""
    if isinstance(answer, dict) and "statusCode" in answer:
        answer = json.loads(answer["body"])
    good = isinstance(answer, dict) and (
        answer.get("batchItemFailures") == [] or bool(answer.get("results"))
    )
    if not good:
        raise RuntimeError(f"no answer: {str(answer)[:300]}")
