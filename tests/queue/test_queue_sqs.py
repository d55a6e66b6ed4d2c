"""The queue adapter between SQS queues over HTTP, polled as Lambda's event source mapping does."""

import json
import time
from collections.abc import Iterator
from itertools import count
from typing import Any, NoReturn

import pytest

from fillmask.errors import EngineUnavailable
from fillmask.queue import results
from fillmask.queue.messages import QueueAdapter
from fillmask.queue.results import (
    BATCH_BYTES,
    RESULT_BYTES,
    Result,
    ResultQueue,
    encode,
)
from support import sick_tables
from support.queue_doubles import GOOD, Answerer, Json, event, failures, plenty
from support.samples import sample_event
from support.sqs_local import SqsLocal, environment

names = (f"queue-{number}" for number in count())


@pytest.fixture(autouse=True)
def aws(sqs_local: SqsLocal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "SEND_SECONDS", 30)  # a busy machine and a young Java take longer
    for name, value in environment(sqs_local.endpoint).items():
        monkeypatch.setenv(name, value)


class Stack:
    """The queues of one test and an adapter between them."""

    def __init__(self, sqs: SqsLocal, fifo: bool = False, with_results: bool = True) -> None:
        end = ".fifo" if fifo else ""
        name = next(names)
        self.sqs = sqs
        self.requests, self.dead = sqs.create_pair(name + end, receives=3)
        self.results = sqs.create_queue(f"{name}-results{end}")
        self.answerer = Answerer()
        self.adapter = QueueAdapter(
            self.answerer, ResultQueue(self.results) if with_results else None
        )
        self.invocations = 0

    def handler(self, event: Json) -> Json:
        self.invocations += 1
        return self.adapter.answer(event, plenty)

    def run(self) -> None:
        self.sqs.poll_until_empty(self.requests, self.handler)


def bodies(name: str) -> Iterator[tuple[str, str | None]]:
    for record in sample_event(name)["Records"]:
        yield record["body"], record["attributes"].get("MessageGroupId")


def test_every_good_message_is_answered_once_and_every_bad_one_told_why(
    sqs_local: SqsLocal,
) -> None:
    stack = Stack(sqs_local)
    sent = {sqs_local.send(stack.requests, body or " ") for body, _ in bodies("sqs_mixed")}
    stack.run()
    messages = sqs_local.drain(stack.results)
    results = [json.loads(message["Body"]) for message in messages]
    assert sum("result" in result for result in results) == 6
    assert sorted(result["error"]["code"] for result in results if "error" in result) == [
        "invalid_json",
        "invalid_json",
        "invalid_request",
        "no_mask",
    ]
    assert {
        message["MessageAttributes"]["message_id"]["StringValue"] for message in messages
    } == sent
    assert stack.invocations == 1
    assert sqs_local.drain(stack.dead) == []


def test_without_a_result_queue_bad_messages_end_in_the_dead_letter_queue(
    sqs_local: SqsLocal,
) -> None:
    stack = Stack(sqs_local, with_results=False)
    for body, _ in bodies("sqs_mixed"):
        sqs_local.send(stack.requests, body or " ")
    stack.run()
    sent = [body or " " for body, _ in bodies("sqs_mixed")]
    dead = sorted(message["Body"] for message in sqs_local.drain(stack.dead))
    assert dead == sorted(sent[number - 1] for number in (2, 4, 6, 8))
    assert stack.invocations == 3, "three receives, as the redrive policy allows"


def test_passing_trouble_is_tried_again_until_it_passes(sqs_local: SqsLocal) -> None:
    stack = Stack(sqs_local)
    stack.answerer.troubles["等[MASK]"] = EngineUnavailable("not yet")
    for text in ("好[MASK]", "等[MASK]"):
        sqs_local.send(stack.requests, json.dumps({"id": text, "text": text}))
    sqs_local.poll(stack.requests, stack.handler)
    assert [body["id"] for body in sqs_local.bodies(stack.results)] == ["好[MASK]"]
    stack.answerer.troubles.clear()
    stack.run()
    assert [body["id"] for body in sqs_local.bodies(stack.results)] == ["等[MASK]"]
    assert sqs_local.drain(stack.dead) == []


def test_a_handler_that_fails_loses_nothing(sqs_local: SqsLocal) -> None:
    stack = Stack(sqs_local)
    sqs_local.send(stack.requests, json.dumps(GOOD))

    def without_ids(event: Json) -> Json:
        for record in event["Records"]:
            del record["messageId"]
        return stack.handler(event)

    for _ in range(2):
        sqs_local.poll(stack.requests, without_ids)
    stack.run()
    assert len(sqs_local.bodies(stack.results)) == 1


def test_fifo_results_come_in_the_order_of_each_group(sqs_local: SqsLocal) -> None:
    stack = Stack(sqs_local, fifo=True)
    for number, (body, group) in enumerate(bodies("sqs_fifo")):
        sqs_local.send(stack.requests, body, group, f"dedup-{number}")
    stack.run()
    messages = sqs_local.drain(stack.results)
    for group, expected in (("A", ["A1", "A2", "A3"]), ("B", ["B1", "B2"])):
        found = [
            json.loads(m["Body"])["id"]
            for m in messages
            if m["Attributes"]["MessageGroupId"] == group
        ]
        assert found == expected
    assert ["error" in json.loads(message["Body"]) for message in messages].count(True) == 1


def test_a_message_delivered_again_is_one_result_in_a_fifo_queue(sqs_local: SqsLocal) -> None:
    stack = Stack(sqs_local, fifo=True)
    again = sample_event("sqs_fifo")
    stack.handler(again)
    stack.handler(again)
    assert len(sqs_local.drain(stack.results)) == 5


def test_results_of_a_standard_source_may_go_to_a_fifo_queue(sqs_local: SqsLocal) -> None:
    url = sqs_local.create_queue(f"{next(names)}.fifo")
    adapter = QueueAdapter(Answerer(), ResultQueue(url))
    assert failures(adapter.answer(event(*[GOOD] * 12), plenty)) == []
    assert len(sqs_local.drain(url)) == 12


def test_large_results_are_spread_over_batches(sqs_local: SqsLocal) -> None:
    url = sqs_local.create_queue(next(names))
    large = [Result(f"m{number}", None, "字" * (RESULT_BYTES // 3)) for number in range(3)]
    small = [Result(f"s{number}", None, "{}") for number in range(11)]
    assert ResultQueue(url).send([*small, *large]) == set()
    messages = sqs_local.drain(url)
    assert (
        sorted(len(message["Body"].encode()) for message in messages)[-3:]
        == [RESULT_BYTES // 3 * 3] * 3
    )
    assert len(messages) == 14


def test_one_result_the_queue_refuses_takes_no_other_with_it(sqs_local: SqsLocal) -> None:
    url = sqs_local.create_queue(next(names), MaximumMessageSize="1024")
    results = [
        Result(f"m{number}", None, "x" * (2000 if number == 4 else 10)) for number in range(10)
    ]
    assert ResultQueue(url).send(results) == {"m4"}
    assert len(sqs_local.drain(url)) == 9


class Partial:
    """A client that refuses the entries of some message ids a number of times."""

    def __init__(self, refuse: dict[str, int]) -> None:
        self.refuse = refuse
        self.batches: list[list[str]] = []

    def send_message_batch(self, *, QueueUrl: str, Entries: list[Json]) -> Json:  # noqa: N803
        sent = [entry["MessageAttributes"]["message_id"]["StringValue"] for entry in Entries]
        self.batches.append(sent)
        answer: dict[str, Any] = {"Successful": [], "Failed": []}
        for entry, message_id in zip(Entries, sent, strict=True):
            refused = self.refuse.get(message_id, 0) > 0
            self.refuse[message_id] = self.refuse.get(message_id, 0) - 1
            answer["Failed" if refused else "Successful"].append({"Id": entry["Id"]})
        return answer


def test_what_was_refused_in_part_is_sent_once_more_and_then_reported() -> None:
    client = Partial({"m2": 1, "m3": 2})
    adapter = QueueAdapter(Answerer(), ResultQueue("https://sqs/results", connect=lambda: client))
    assert failures(adapter.answer(event(*[GOOD] * 4), plenty)) == ["m3"]
    assert client.batches == [["m1", "m2", "m3", "m4"], ["m2", "m3"]]


def test_a_batch_holds_ten_messages_and_one_mebibyte() -> None:
    client = Partial({})
    results = [Result(f"m{number}", None, "字" * (BATCH_BYTES // 3 // 4)) for number in range(5)]
    results += [Result(f"s{number}", None, "{}") for number in range(13)]
    assert ResultQueue("https://sqs/results", connect=lambda: client).send(results) == set()
    assert [len(batch) for batch in client.batches] == [3, 10, 5]


@pytest.mark.parametrize("trouble", ["gone", "silent", "closed", "no region"])
def test_a_result_queue_in_trouble_reports_and_ends_in_time(
    trouble: str, sqs_local: SqsLocal, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{sqs_local.endpoint}/123456789012/never-created"
    batch = event(*[GOOD] * 3)
    start = time.perf_counter()
    if trouble == "no region":
        monkeypatch.delenv("AWS_DEFAULT_REGION")
    with sick_tables.silent() as silent, sick_tables.closed() as closed:
        endpoint = {"silent": silent, "closed": closed}.get(trouble, sqs_local.endpoint)
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        adapter = QueueAdapter(Answerer(), ResultQueue(url))
        assert failures(adapter.answer(batch, plenty)) == ["m1", "m2", "m3"]
    assert time.perf_counter() - start < 5  # two tries of 0.9 s, on a machine that may be busy


def test_a_result_holds_only_what_sqs_takes(sqs_local: SqsLocal) -> None:
    url = sqs_local.create_queue(next(names))
    odd = "\ud800\ufffe\uffff\x00\x1f\x7f\u2028𠮷字"
    text = encode({"id": odd})
    assert ResultQueue(url).send([Result("m1", None, text)]) == set()
    (body,) = sqs_local.bodies(url)
    assert body == {"id": odd}
    assert "字" in text, "Chinese is sent as it is, at half the size of its escapes"
    assert len(text.encode()) < BATCH_BYTES


def test_nothing_is_connected_without_results() -> None:
    def never() -> NoReturn:
        raise AssertionError("connected")

    adapter = QueueAdapter(Answerer(), ResultQueue("https://sqs/results", connect=never))
    assert failures(adapter.answer({"Records": []}, plenty)) == []
