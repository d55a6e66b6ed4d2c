"""Many threads at once, at the local server and the handler: each gets the answer it gets alone."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from fillmask.http.app import create_app
from support import http_service, servers
from support.http_cases import EMBED, FILL, TEXT
from support.http_events_made import dressed

THREADS, ROUNDS = 32, 6
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    (FILL, {"text": TEXT}),
    (FILL, {"texts": [TEXT, "今天[MASK][MASK]天", "iPhone[MASK]照片"], "lowercase": False}),
    (FILL, {"text": TEXT, "targets": ["上", "苹果"], "lowercase": True}),
    (EMBED, {"input": ["今天天气很好", "你好"]}),
    (FILL, {"text": "今天天气很好"}),  # no mask
]


def test_32_threads_of_single_texts_and_batches_are_answered_as_one_is() -> None:
    app = create_app(http_service.service, http_service.settings())
    with servers.on_uvicorn(app) as url, ThreadPoolExecutor(THREADS) as pool:

        def ask(number: int) -> list[tuple[int, bytes]]:
            turn = number % len(REQUESTS)
            return [
                _post(url, *request) for request in (REQUESTS[turn:] + REQUESTS[:turn]) * ROUNDS
            ]

        alone = [_post(url, *request) for request in REQUESTS]
        assert [status for status, _ in alone] == [200, 200, 200, 200, 422]
        for number, answers in enumerate(pool.map(ask, range(THREADS))):
            turn = number % len(REQUESTS)
            assert answers == (alone[turn:] + alone[:turn]) * ROUNDS


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/health", 200),
        ("GET", "/", 200),
        ("GET", "/info", 200),
        ("GET", "/nowhere", 404),
        ("POST", FILL, 200),
    ],
)
def test_every_path_is_answered_from_any_thread_of_any_python(
    method: str, path: str, status: int
) -> None:
    """Only the first thread has an event loop, and from Python 3.14 on not even that."""

    def ask() -> int:
        asyncio.set_event_loop(None)
        event = dressed("http_api_v2", path, json.dumps({"text": TEXT}), method=method)
        return int(http_service.http(cors_origins="*").answer(event, None)["statusCode"])

    with ThreadPoolExecutor(2) as pool:
        assert [ask(), *pool.map(lambda _: ask(), range(4))] == [status] * 5


def _post(url: str, path: str, request: dict[str, Any]) -> tuple[int, bytes]:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        connection.request("POST", path, json.dumps(request))
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()
