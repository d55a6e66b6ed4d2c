"""Texts of wanted lengths and the events that carry them; the same seed gives the same texts."""

import json
import random
import uuid
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from support.http_events_made import dressed
from support.paths import LAYER
from support.samples import Event, sample_event

SENTENCES = LAYER / "builder" / "data" / "sentences-cc0.txt"
MASK = "[MASK]"


def sentences(path: Path = SENTENCES) -> list[str]:
    """Real sentences of 5 to 60 characters, mean about 17."""
    return [
        line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")
    ]


def characters() -> list[str]:
    """The ideographs of those sentences: each is one token of every Chinese vocabulary."""
    return sorted({one for line in sentences() for one in line if "\u4e00" <= one <= "\u9fff"})


def of_length(tokens: int, seed: object) -> Iterator[str]:
    """Endless different texts of exactly so many tokens, [CLS], [SEP] and one mask included."""
    chance, letters = random.Random(f"{tokens} {seed}"), characters()
    while True:
        text = chance.choices(letters, k=tokens - 2)
        text[chance.randrange(tokens - 2)] = MASK
        yield "".join(text)


def mixed(count: int, seed: object) -> list[str]:
    """Different real sentences with a character masked; where they run out, pairs of sentences."""
    chance, lines = random.Random(f"mixed {seed}"), sentences()
    chance.shuffle(lines)
    lines += [first + second for first, second in pairwise(lines)]

    masked = []
    for line in lines[:count]:
        ideographs = [at for at, one in enumerate(line) if "\u4e00" <= one <= "\u9fff"]
        at = chance.choice(ideographs)
        masked.append(line[:at] + MASK + line[at + 1 :])
    return masked


def direct(texts: list[str]) -> Event:
    """A direct invocation."""
    return {"texts": texts}


def http(texts: list[str]) -> Event:
    """An HTTP API event, payload 2.0."""
    return dressed("http_api_v2", "/v1/fill-mask", json.dumps({"texts": texts}, ensure_ascii=False))


def sqs(texts: list[str]) -> Event:
    """A batch of one queue message."""
    message = sample_event("sqs")["Records"][0]
    message |= {"messageId": str(uuid.uuid4()), "body": json.dumps({"texts": texts})}
    return {"Records": [message]}


KINDS = {"direct": direct, "http": http, "sqs": sqs}


def check(answer: Any) -> None:
    """RuntimeError unless this is an answer with results, or a queue batch without failures."""
    if isinstance(answer, dict) and "statusCode" in answer:
        answer = json.loads(answer["body"])
    good = isinstance(answer, dict) and (
        answer.get("batchItemFailures") == [] or bool(answer.get("results"))
    )
    if not good:
        raise RuntimeError(f"no answer: {str(answer)[:300]}")
