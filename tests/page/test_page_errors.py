"""The page in a browser: errors are told, failures can be tried again, late answers are dropped."""

import json
from functools import partial
from typing import Any

from playwright.sync_api import Route, expect

from support.browser import Tab

MASK = "[MASK]"
ERRORS = [  # text, top_k, title, what else is told
    ("今天天气很好", "5", "句子里没有空", "no_mask"),
    ("中【MASK】国", "5", "句子里没有空", "Chinese brackets"),
    (f"中{MASK}", "0", "请求有误", "top_k must be from 1 to 100"),
    (f"中{MASK}", "1.5", "请求有误", "top_k must be an integer"),
    (MASK * 65, "1", "超过了限制", "too_large"),
]
FAILURES: list[tuple[dict[str, Any] | None, str]] = [  # what comes back instead of an answer, title
    (None, "连不上服务"),
    (
        {
            "status": 503,
            "content_type": "application/problem+json",
            "body": json.dumps(
                {
                    "title": "The model is not available",
                    "status": 503,
                    "code": "engine_unavailable",
                    "detail": "See the log.",
                }
            ),
        },
        "模型还不能用",
    ),
    (
        {"status": 502, "content_type": "application/json", "body": '{"message": "Bad gateway"}'},
        "服务没有正常回答",
    ),
    ({"status": 200, "content_type": "text/html", "body": "<h1>Wi-Fi</h1>"}, "服务没有正常回答"),
]


def test_an_error_is_told_and_the_next_answer_takes_its_place(tab: Tab) -> None:
    alert = tab.page.get_by_role("alert")
    for text, top_k, title, more in ERRORS:
        tab.page.locator("#topk").fill(top_k)
        tab.ask(text)
        expect(alert.locator("h2")).to_have_text(title)
        expect(alert).to_contain_text(more)
        assert tab.answer()["detail"]
        tab.page.locator("#topk").fill("3")
        tab.ask(f"画蛇添{MASK}")
        expect(alert).to_have_count(0)
        expect(tab.page.locator(".pick")).to_have_count(3)


def test_a_passing_failure_can_be_tried_again(tab: Tab) -> None:
    alert = tab.page.get_by_role("alert")
    for answer, title in FAILURES:
        tab.page.route("**/v1/fill-mask", partial(_fail, answer))
        tab.ask(f"画蛇添{MASK}")
        expect(alert.locator("h2")).to_have_text(title)
        tab.page.unroute("**/v1/fill-mask")
        alert.get_by_role("button", name="再试一次").click()
        expect(alert).to_have_count(0)
        assert tab.tokens()[0] == "足"


def _fail(answer: dict[str, Any] | None, route: Route) -> None:
    if answer is None:
        route.abort()
    else:
        route.fulfill(**answer)


def test_a_late_answer_does_not_replace_a_later_question(tab: Tab) -> None:
    held: list[Route] = []
    tab.page.route(
        "**/v1/fill-mask", lambda route: held.append(route) if not held else route.continue_()
    )
    tab.page.locator("#text").fill(f"对牛弹{MASK}")
    tab.page.locator("#text").press("Control+Enter")
    expect(tab.page.locator("#fill-answer")).to_have_attribute("aria-busy", "true")
    tab.ask(f"画蛇添{MASK}")
    held[0].abort()
    assert tab.tokens()[0] == "足"
    expect(tab.page.get_by_role("alert")).to_have_count(0)
