"""Clients of AWS services for calls that must not hold up an answer.

botocore alone: boto3 would add a fifth to the time and nothing that is used here. Either comes with
Lambda's Python runtime.
"""

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
