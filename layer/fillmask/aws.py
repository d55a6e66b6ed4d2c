"""Clients of AWS services for calls that must not hold up an answer, and a deadline around calls.

botocore alone: boto3 would add a fifth to the time and nothing that is used here. Either comes with
Lambda's Python runtime.
"""

import time
from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from botocore.client import BaseClient


def client(service_name: str, *, connect_seconds: float, read_seconds: float) -> "BaseClient":
    """A client that waits only so long for a connection and for each packet, and never retries.

    Region, endpoint and credentials come the SDK's usual ways. Takes about 200 ms, most of it for
    imports. Raises whatever botocore raises.
    """
    import botocore.session  # noqa: PLC0415  never before an answer
    from botocore.config import Config  # noqa: PLC0415

    config = Config(
        connect_timeout=connect_seconds,
        read_timeout=read_seconds,
        retries={"total_max_attempts": 1},  # the callers retry, within deadlines of their own
    )
    return botocore.session.get_session().create_client(service_name, config=config)


def trouble(seconds: float, work: Callable[[float], None]) -> str | None:
    """Why the work was not done within so many seconds; None when it was.

    The work is told its deadline, by time.monotonic(). A client's time-outs bound one wait for one
    packet. Only a thread bounds a slow name server, a refresh of credentials or an answer that
    trickles in, so the work gets one and may be left behind.
    """
    deadline = time.monotonic() + seconds
    outcome: list[str | None] = []

    def attempt() -> None:
        try:
            work(deadline)
            outcome.append(None)
        except Exception as error:  # noqa: BLE001  whatever it was, answers do without it
            outcome.append(reason_for(error))

    thread = Thread(target=attempt, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # there is no thread to be had
        return reason_for(error)

    thread.join(seconds)
    return outcome[0] if outcome else f"no answer within {seconds} s"


def reason_for(error: Exception) -> str:
    """The name of an error without its message: botocore's messages may quote what was sent."""
    response = getattr(error, "response", None) or {}
    code = response.get("Error", {}).get("Code")
    return f"{type(error).__name__} {code}" if code else type(error).__name__
