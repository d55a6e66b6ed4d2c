"""SQS for the tests: moto's server, and a poller that plays Lambda's event source mapping."""

import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import botocore.session
import pytest
from moto.server import ThreadedMotoServer

REGION = "eu-central-1"
Event = dict[str, Any]


class SqsLocal:
    """A running server and a client for it; queues are named per test."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.client = botocore.session.get_session().create_client(
            "sqs",
            region_name=REGION,
            endpoint_url=endpoint,
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )

    def create_queue(self, name: str, **attributes: str) -> str:
        """Creates a queue (FIFO by its name) and returns its URL."""
        if name.endswith(".fifo"):
            attributes["FifoQueue"] = "true"
        url: str = self.client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url

    def create_pair(self, name: str, receives: int) -> tuple[str, str]:
        """Creates a request queue and its dead-letter queue; returns both URLs."""
        end = ".fifo" if name.endswith(".fifo") else ""
        dead = self.create_queue(f"{name.removesuffix('.fifo')}-dead{end}")
        policy = {"deadLetterTargetArn": self.arn(dead), "maxReceiveCount": receives}
        return self.create_queue(name, RedrivePolicy=json.dumps(policy)), dead

    def arn(self, url: str) -> str:
        answer = self.client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return str(answer["Attributes"]["QueueArn"])

    def send(self, url: str, body: str, group: str | None = None, dedup: str | None = None) -> str:
        extra = {"MessageGroupId": group, "MessageDeduplicationId": dedup}
        given = {name: value for name, value in extra.items() if value is not None}
        return str(self.client.send_message(QueueUrl=url, MessageBody=body, **given)["MessageId"])

    def drain(self, url: str) -> list[dict[str, Any]]:
        """Receives and deletes whatever is there; returns the messages in order."""
        found = []
        while messages := self._receive(url):
            for message in messages:
                self.client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            found += messages
        return found

    def bodies(self, url: str) -> list[Any]:
        """Drains a queue and returns its bodies as JSON values."""
        return [json.loads(message["Body"]) for message in self.drain(url)]

    def poll(self, url: str, handler: Callable[[Event], Any]) -> int:
        """One round of the event source mapping: receive, invoke, delete what was not reported.

        What was reported, and everything after an exception, becomes visible again at once (where
        Lambda would wait for the visibility time-out). Returns the number of messages received.
        """
        messages = self._receive(url)
        if not messages:
            return 0
        event = {"Records": [self._record(message, self.arn(url)) for message in messages]}
        try:
            answer = handler(json.loads(json.dumps(event)))
        except Exception:  # noqa: BLE001  the invocation failed: nothing is deleted
            answer = {
                "batchItemFailures": [
                    {"itemIdentifier": message["MessageId"]} for message in messages
                ]
            }
        failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        assert failed <= {message["MessageId"] for message in messages}, (
            "Lambda would retry the whole batch"
        )
        for message in messages:
            handle = {"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]}
            if message["MessageId"] in failed:
                self.client.change_message_visibility(**handle, VisibilityTimeout=0)
            else:
                self.client.delete_message(**handle)
        return len(messages)

    def poll_until_empty(self, url: str, handler: Callable[[Event], Any], rounds: int = 20) -> None:
        """Polls until nothing comes any more: all messages are done or dead."""
        for _ in range(rounds):
            if not self.poll(url, handler):
                return
        raise AssertionError(f"messages still come after {rounds} rounds")

    def _receive(self, url: str) -> list[dict[str, Any]]:
        answer = self.client.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=10,
            AttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        return list(answer.get("Messages", ()))

    @staticmethod
    def _record(message: dict[str, Any], arn: str) -> dict[str, Any]:
        return {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": message["Attributes"],
            "messageAttributes": {},
            "md5OfBody": message["MD5OfBody"],
            "eventSource": "aws:sqs",
            "eventSourceARN": arn,
            "awsRegion": REGION,
        }


@contextmanager
def serve() -> Iterator[SqsLocal]:
    """Moto's server on a free port, until the block ends."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line a request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    local = SqsLocal(f"http://{host}:{port}")
    try:
        yield local
    finally:
        local.client.close()
        server.stop()


@pytest.fixture(scope="session")
def sqs_local() -> Iterator[SqsLocal]:
    """One server for the whole run."""
    with serve() as local:
        yield local


def environment(endpoint: str) -> dict[str, str]:
    """The variables that lead the SDK to this server."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
