"""Sending results ends in time, whatever SQS and the network do."""

import time
from threading import Event

import pytest

from fillmask.queue.messages import RESERVE_MS
from fillmask.queue.results import SEND_SECONDS, Result, ResultQueue
from support.queue_doubles import Json


@pytest.mark.parametrize("stuck", ["connecting", "sending"])
def test_sending_ends_after_two_seconds_whatever_sqs_does(
    stuck: str, caplog: pytest.LogCaptureFixture
) -> None:
    release = Event()

    class Stuck:
        def send_message_batch(self, **_: object) -> Json:
            release.wait(20)
            return {"Successful": []}

    def connect() -> Stuck:
        if stuck == "connecting":
            release.wait(20)  # no name server, no answer from the source of credentials
        return Stuck()

    start = time.perf_counter()
    queue = ResultQueue("https://sqs/results", connect=connect)
    assert queue.send([Result("m1", None, "{}"), Result("m2", None, "{}")]) == {"m1", "m2"}
    assert time.perf_counter() - start < RESERVE_MS / 1000
    release.set()
    assert "the results were not all sent: no answer within 1.8 s" in caplog.text


def test_what_was_accepted_before_the_deadline_is_done() -> None:
    class Slower:
        calls = 0

        def send_message_batch(self, *, Entries: list[Json], **_: object) -> Json:  # noqa: N803
            self.calls += 1
            if self.calls > 1:
                time.sleep(SEND_SECONDS + 0.2)
            return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}

    results = [Result(f"m{number}", None, "{}") for number in range(15)]
    late = ResultQueue("https://sqs/results", connect=Slower).send(results)
    assert late == {f"m{number}" for number in range(10, 15)}
