"""Queue messages in company: time left, order in groups, duplicates, results not accepted."""

from fillmask.queue.messages import RESERVE_MS, QueueAdapter
from support.queue_doubles import (
    GOOD,
    Answerer,
    Left,
    Results,
    event,
    failures,
    ids,
    plenty,
    record,
)
from support.samples import sample_event


def test_with_little_time_left_the_rest_is_reported_and_not_started() -> None:
    answerer = Answerer()
    batch = event(*[GOOD] * 10)
    left = Left(*range(10_000, 9_500, -100), 1_500)
    assert failures(QueueAdapter(answerer).answer(batch, left)) == ids(batch, *range(6, 11))
    assert len(answerer.calls) == 5


def test_a_message_is_not_started_when_the_slowest_so_far_would_not_fit() -> None:
    answerer = Answerer()
    left = Left(RESERVE_MS + 9_000, RESERVE_MS + 5_000, RESERVE_MS + 3_000)
    batch = event(GOOD, GOOD, GOOD)
    assert failures(QueueAdapter(answerer).answer(batch, left)) == ["m3"]


def test_after_a_failure_the_rest_of_its_group_is_reported_and_other_groups_go_on() -> None:
    fifo = sample_event("sqs_fifo")
    answerer = Answerer()
    assert failures(QueueAdapter(answerer).answer(fifo, plenty)) == ids(fifo, 3, 5)
    assert len(answerer.calls) == 4, "A3 is not started"


def test_an_answered_error_does_not_stop_its_group() -> None:
    results = Results()
    assert (
        failures(QueueAdapter(Answerer(), results).answer(sample_event("sqs_fifo"), plenty)) == []
    )
    assert [body["id"] for body in results.bodies] == ["A1", "B1", "A2", "B2", "A3"]


def test_a_result_that_is_not_accepted_stops_its_group_before_the_next_is_sent() -> None:
    fifo = sample_event("sqs_fifo")
    results = Results(refuse=ids(fifo, 1))
    assert failures(QueueAdapter(Answerer(), results).answer(fifo, plenty)) == ids(fifo, 1, 3, 5)
    assert [body["id"] for body in results.bodies] == ["A1", "B1", "B2"]


def test_a_group_in_a_standard_queue_is_no_order() -> None:
    batch = event({"text": "x"}, GOOD)
    for entry in batch["Records"]:
        entry["attributes"]["MessageGroupId"] = "tenant"
    assert failures(QueueAdapter(Answerer()).answer(batch, plenty)) == ["m1"]


def test_refused_results_are_reported_and_the_others_are_done() -> None:
    batch = event(*[GOOD] * 23)
    results = Results(refuse=["m3", "m23"])
    assert failures(QueueAdapter(Answerer(), results).answer(batch, plenty)) == ["m3", "m23"]
    assert [len(sent) for sent in results.sent] == [10, 10, 3]


def test_the_same_message_twice_is_one_result_and_later_the_same_one() -> None:
    answerer, results = Answerer(), Results()
    adapter = QueueAdapter(answerer, results)
    twice = {"Records": [record("m1", GOOD), record("m1", GOOD)]}
    assert failures(adapter.answer(twice, plenty)) == []
    assert failures(adapter.answer(twice, plenty)) == []
    (first,), (later,) = results.sent
    assert first == later
    assert len(answerer.calls) == 2
    bad = {"Records": [record("m1", "{"), record("m1", "{")]}
    assert failures(QueueAdapter(answerer).answer(bad, plenty)) == ["m1"]


def test_remaining_time_is_asked_once_a_message() -> None:
    left = Left(9_000)
    QueueAdapter(Answerer()).answer(event(GOOD, GOOD, GOOD), left)
    assert left.asked == 3


def test_without_a_context_there_is_no_end() -> None:
    assert failures(QueueAdapter(Answerer()).answer(event(GOOD, "{", GOOD), None)) == ["m2"]
