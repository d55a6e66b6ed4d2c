"""Queue messages one by one: which are reported, which are answered, and with what."""

import json
import logging

import pytest

from fillmask.errors import EngineUnavailable, UnreportableError
from fillmask.queue.messages import QueueAdapter
from fillmask.queue.results import RESULT_BYTES
from support.queue_doubles import GOOD, Answerer, Json, Results, event, failures, ids, plenty
from support.samples import sample_event


def test_only_the_bad_messages_of_a_batch_are_reported() -> None:
    mixed = sample_event("sqs_mixed")
    assert failures(QueueAdapter(Answerer()).answer(mixed, plenty)) == ids(mixed, 2, 4, 6, 8)


def test_with_a_result_queue_bad_messages_are_answered_there() -> None:
    results = Results()
    assert (
        failures(QueueAdapter(Answerer(), results).answer(sample_event("sqs_mixed"), plenty)) == []
    )
    codes = [body["error"]["code"] if "error" in body else "" for body in results.bodies]
    assert codes == [
        "",
        "invalid_json",
        "",
        "no_mask",
        "",
        "invalid_request",
        "",
        "invalid_json",
        "",
        "",
    ]
    heads = [(body["id"], body["operation"]) for body in results.bodies]
    assert heads[:6] == [
        ("poem-1", "fill-mask"),
        (None, None),
        ("weather", "fill-mask"),
        ("no mask", "fill-mask"),
        (5, "fill-mask"),
        ("not text", "fill-mask"),
    ]
    assert [len(batch) for batch in results.sent] == [10]
    for body in results.bodies:
        assert set(body) in ({"id", "operation", "result"}, {"id", "operation", "error"})


def test_every_message_bad_is_no_exception() -> None:
    bad = event(*["{"] * 10)
    assert failures(QueueAdapter(Answerer()).answer(bad, plenty)) == ids(bad, *range(1, 11))


def test_no_records() -> None:
    assert failures(QueueAdapter(Answerer()).answer({"Records": []}, plenty)) == []


def test_an_sns_envelope_is_taken_off() -> None:
    answerer, results = Answerer(), Results()
    sns = sample_event("sqs_sns")
    assert failures(QueueAdapter(answerer).answer(sns, plenty)) == ids(sns, 2)
    assert answerer.calls == [("fill-mask", {"text": "床前明月光，疑是地[MASK]霜。", "top_k": 3})]
    QueueAdapter(answerer, results).answer(sns, plenty)
    assert results.bodies[0]["id"] == "from-sns"


def test_operation_and_id_are_the_queues_own_fields() -> None:
    answerer = Answerer()
    QueueAdapter(answerer).answer(
        event({"operation": "embed", "id": "x", "input": "天"}, GOOD), plenty
    )
    assert answerer.calls == [("embed", {"input": "天"}), ("fill-mask", GOOD)]


@pytest.mark.parametrize(
    "body",
    [
        "",
        " ",
        "null",
        "5",
        "[]",
        '"text"',
        "{",
        "\ufeff{}",
        "[" * 100_000,
        '{"text": "[MASK]", "text": "[MASK]"}',
        {},
        {"text": 5},
        {"text": "\ud800[MASK]"},
        {**GOOD, "id": True},
        {**GOOD, "id": 1.5},
        {**GOOD, "id": []},
        {**GOOD, "id": "x" * 257},
        {**GOOD, "operation": None},
        {**GOOD, "operation": ""},
        {**GOOD, "operation": {}},
        {**GOOD, "operation": "x" * 65},
        {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "b"},
        {"Type": "Notification", "TopicArn": "t"},
        {"Type": "Notification", "TopicArn": "t", "Message": 5},
    ],
)
def test_a_bad_body_is_reported_or_answered_and_never_echoed(
    body: object, caplog: pytest.LogCaptureFixture
) -> None:
    batch = event(GOOD, body, GOOD)
    assert failures(QueueAdapter(Answerer()).answer(batch, plenty)) == ["m2"]
    results = Results()
    assert failures(QueueAdapter(Answerer(), results).answer(batch, plenty)) == []
    error = results.bodies[1]["error"]
    assert error["code"] in ("invalid_json", "invalid_request")
    assert error["status"] in (400, 422)
    said = caplog.text + json.dumps(error, ensure_ascii=False)
    assert not any(secret in said for secret in ("霜", "xxx", "s3:TestEvent", "Traceback"))


def test_a_body_that_is_missing_is_reported() -> None:
    batch = event(GOOD, GOOD, GOOD)
    del batch["Records"][0]["body"]
    batch["Records"][2]["body"] = None
    assert failures(QueueAdapter(Answerer()).answer(batch, plenty)) == ["m1", "m3"]


@pytest.mark.parametrize(
    "trouble", [EngineUnavailable("no model"), RuntimeError("霜"), RecursionError(), KeyError("x")]
)
@pytest.mark.parametrize("results", [None, Results()])
def test_passing_trouble_and_bugs_are_for_another_try(
    trouble: Exception, results: Results | None, caplog: pytest.LogCaptureFixture
) -> None:
    answerer = Answerer()
    answerer.troubles["[MASK]"] = trouble
    batch = event(GOOD, {"text": "[MASK]"}, GOOD)
    assert failures(QueueAdapter(answerer, results).answer(batch, plenty)) == ["m2"]
    assert "m2" in caplog.text
    assert "霜" not in caplog.text
    assert not results or all("result" in body for body in results.bodies)


@pytest.mark.parametrize("message_id", [None, "", 5])
def test_a_record_that_could_not_be_reported_fails_the_batch_at_once(message_id: object) -> None:
    answerer = Answerer()
    batch = event(GOOD, GOOD)
    batch["Records"][1]["messageId"] = message_id
    with pytest.raises(UnreportableError, match="Record 2 of 2 has no messageId"):
        QueueAdapter(answerer).answer(batch, plenty)
    del batch["Records"][1]["messageId"]
    with pytest.raises(UnreportableError):
        QueueAdapter(answerer).answer(batch, plenty)
    with pytest.raises(UnreportableError):
        QueueAdapter(answerer).answer({"Records": [None]}, plenty)
    assert answerer.calls == []


def test_a_result_that_fits_no_message_is_answered_by_an_error() -> None:
    def talkative(operation: str, request: object) -> Json:
        return {"results": [{"text": "字" * (RESULT_BYTES // 3)}]}

    results = Results()
    batch = event({**GOOD, "id": "large"})
    assert failures(QueueAdapter(talkative, results).answer(batch, plenty)) == []
    (body,) = results.bodies
    assert body["id"] == "large"
    assert (body["error"]["code"], body["error"]["limit"]) == ("too_large", "result_bytes")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (sample_event("sqs_mixed"), True),
        (sample_event("sqs_fifo"), True),
        ({"Records": []}, True),
        ({"Records": [{"messageId": "a", "eventSource": "aws:sqs"}]}, True),
        ({"Records": [{"eventSource": "aws:s3", "s3": {}}]}, False),
        ({"Records": [{"EventSource": "aws:sns", "Sns": {}}]}, False),
        ({"Records": None}, False),
        ({"Records": [None]}, False),
        ({}, False),
        ([], False),
        (None, False),
    ],
)
def test_what_is_an_event_of_the_queue(given: object, expected: bool) -> None:
    assert QueueAdapter(Answerer()).recognises(given) is expected


def test_one_line_tells_of_a_batch(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "fillmask")
    QueueAdapter(Answerer()).answer(event(GOOD, "{"), plenty)
    assert [entry.getMessage() for entry in caplog.records] == [
        "queue: message m2: invalid_json",
        "queue: 2 records, 1 reported",
    ]


@pytest.mark.parametrize("given", [0, -1, 1541815603606036480, -(2**63), "x", None])
def test_an_id_comes_back_as_it_was_sent(given: object) -> None:
    results = Results()
    assert (
        failures(QueueAdapter(Answerer(), results).answer(event({**GOOD, "id": given}), plenty))
        == []
    )
    assert results.bodies[0]["id"] == given
    assert type(results.bodies[0]["id"]) is type(given)
