"""The deployed function with its table and queues: DynamoDB Local and SQS over HTTP."""

import json
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from support import sqs_local as sqs
from support.dynamodb_local import ENVIRONMENT, DynamoDBLocal
from support.lambda_cases import deployed
from support.lambda_opt import LambdaProcess, Layout
from support.samples import sample_event

__all__ = ["deployed"]
TEXTS = [f"今天是{number}月，天气[MASK]好。" for number in range(1, 13)]


def with_table(server: DynamoDBLocal, name: str) -> dict[str, str | None]:
    return {**ENVIRONMENT, "FILLMASK_TABLE": name, "AWS_ENDPOINT_URL_DYNAMODB": server.endpoint}


def was_cached(process: LambdaProcess, text: str) -> bool:
    answer = process.invoke({"text": text})
    assert answer.error is None
    return bool(answer.payload["results"][0]["cached"])


def within(seconds: float, done: Callable[[], bool]) -> bool:
    """Whether `done` came true in time; asked every tenth of a second."""
    end = time.monotonic() + seconds
    while not (answer := done()) and time.monotonic() < end:
        time.sleep(0.1)
    return answer


def test_what_one_instance_computed_another_reads_from_the_table(
    deployed: Layout, dynamodb_local: DynamoDBLocal
) -> None:
    table = f"shared-{deployed.interpreter.release}"
    dynamodb_local.create_table(table)
    client = dynamodb_local.client()
    environment = with_table(dynamodb_local, table)
    with LambdaProcess(deployed, environment) as first:
        for text in TEXTS:
            assert not was_cached(first, text)
        more = (f"第[MASK]句是{number}。" for number in count())

        def written() -> bool:  # what waits for the client is written with the next answer
            return not was_cached(first, next(more)) and bool(
                client.scan(TableName=table, Select="COUNT")["Count"] > len(TEXTS)
            )

        assert within(10, written)
    with LambdaProcess(deployed, environment) as second:
        assert not was_cached(
            second, "连接[MASK]表。"
        )  # the client is built beside and after the first answer
        rest = iter(TEXTS)
        assert within(10, lambda: was_cached(second, next(rest)))
    client.close()


@pytest.mark.java
def test_a_table_that_dies_costs_no_answer(deployed: Layout) -> None:
    server = DynamoDBLocal()
    server.create_table("mortal")
    with LambdaProcess(deployed, with_table(server, "mortal")) as process:
        for number, text in enumerate([*TEXTS, "最后[MASK]句。"]):
            if number == len(TEXTS) // 2:
                server.kill()
            assert process.invoke({"text": text}).payload["results"][0]["masks"]
        assert "Traceback" not in process.log


@pytest.fixture
def queues(sqs_local: sqs.SqsLocal, deployed: Layout) -> tuple[str, str, str]:
    """URLs of a request queue, its dead-letter queue and a result queue."""
    name = f"lambda-{deployed.interpreter.release.replace('.', '-')}-{time.monotonic_ns()}"
    return (*sqs_local.create_pair(name, receives=3), sqs_local.create_queue(f"{name}-results"))


def test_messages_become_results_and_nothing_is_lost(
    deployed: Layout, sqs_local: sqs.SqsLocal, queues: tuple[str, str, str]
) -> None:
    requests, dead, results = queues
    sent = [record["body"] or " " for record in sample_event("sqs_mixed")["Records"]]
    for body in sent:
        sqs_local.send(requests, body)
    environment = {**sqs.environment(sqs_local.endpoint), "FILLMASK_RESULT_QUEUE_URL": results}

    with LambdaProcess(deployed, environment) as process:

        def handler(given: Any) -> Any:
            answer = process.invoke(given)
            assert answer.error is None
            return answer.payload

        sqs_local.poll_until_empty(requests, handler)
    answers = [json.loads(message["Body"]) for message in sqs_local.drain(results)]
    assert len(answers) == len(sent)
    good = [answer for answer in answers if "result" in answer]
    assert 0 < len(good) < len(sent)
    assert all("error" in answer for answer in answers if answer not in good)
    assert sqs_local.drain(dead) == []
