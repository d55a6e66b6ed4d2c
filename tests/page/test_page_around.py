"""The page in a browser: similarity, language, keyboard alone, a stage, what it may load."""

import json
import re
import subprocess

import pytest
from playwright.sync_api import Browser, Error, expect

from fillmask.http import page
from fillmask.settings import Settings
from fillmask.start import Loader
from support.browser import Tab
from support.http_service import HttpEvents
from support.paths import MODEL
from support.servers import gateway, on_uvicorn

MASK = "[MASK]"


def test_similarity_of_two_sentences(tab: Tab) -> None:
    tab.page.get_by_role("tab", name="相似度").click()
    score = tab.page.locator(".score")
    expect(score).to_be_visible()
    assert score.inner_text() == f"{tab.answer()['matrix'][0][0]:.2f}"
    assert tab.sent() == {"texts": ["今天天气真好。"], "against": ["今天天气不错。"]}
    tab.page.get_by_label("句子二").fill("今天天气真好。")
    tab.page.get_by_label("句子二").press("Control+Enter")
    expect(score).to_have_text("1.00")
    tab.page.get_by_role("tab", name="填空").click()
    assert tab.sent()["top_k"] == 5


def test_the_language_follows_the_browser_and_then_the_reader(browser: Browser, tab: Tab) -> None:
    expect(tab.page.get_by_role("button", name="作答")).to_be_visible()
    tab.page.get_by_role("button", name="English").click()
    expect(tab.page.locator("html")).to_have_attribute("lang", "en")
    expect(tab.page.get_by_role("button", name="Ask")).to_be_visible()
    expect(tab.page.locator(".pick").first).to_have_accessible_name(re.compile("^Fill in 上, "))
    tab.page.reload()
    expect(tab.page.get_by_role("button", name="Ask")).to_be_visible()
    other = Tab(browser, tab.origin, locale="en-GB").open()
    expect(other.page.get_by_role("button", name="Ask")).to_be_visible()
    other.context.close()


def test_every_word_has_both_languages(tab: Tab) -> None:
    words = tab.page.evaluate("WORDS")
    codes = {
        "invalid_json",
        "not_found",
        "operation_unavailable",
        "method_not_allowed",
        "too_large",
        "unsupported_media_type",
        "invalid_request",
        "no_mask",
        "internal",
        "deadline_exceeded",
        "engine_unavailable",
    }
    # In English the answer brings its own title.
    assert words["zh"].keys() - words["en"].keys() == codes
    assert not words["en"].keys() - words["zh"].keys()


def test_everything_can_be_done_with_the_keyboard_alone(tab: Tab) -> None:
    keyboard, focused = tab.page.keyboard, tab.page.locator(":focus")
    for _ in range(20):
        keyboard.press("Tab")
        if focused.get_attribute("id") == "text":
            break
    keyboard.press("Control+a")
    keyboard.insert_text("我很高")
    keyboard.press("Control+m")
    keyboard.insert_text("，你很高")
    keyboard.press("Control+m")
    keyboard.press("Control+Enter")
    tab.settle()
    assert tab.sent()["text"] == f"我很高{MASK}，你很高{MASK}"
    for _ in range(20):
        keyboard.press("Tab")
        if "pick" in (focused.get_attribute("class") or ""):
            break
    keyboard.press("ArrowDown")
    keyboard.press("ArrowRight")
    second = tab.tokens(1)[1]
    expect(focused).to_have_accessible_name(re.compile(f"^填入 {second}，"))
    keyboard.press("Enter")
    expect(tab.page.locator(".slot.filled")).to_have_text(second)
    expect(focused).to_have_class("pick best")  # the focus is on the list of the blank that is left
    keyboard.press("Enter")
    expect(tab.page.get_by_role("status")).to_contain_text("填好了")
    expect(focused).to_have_text("退一步")
    assert MASK not in tab.text


def test_every_control_has_a_name(tab: Tab) -> None:
    for name in ("填空", "相似度"):
        tab.page.get_by_role("tab", name=name).click()
        kinds = ", ".join(f"{kind}:visible" for kind in ("button", "input", "textarea", "a", "pre"))
        for control in tab.page.locator(kinds).all():
            expect(control).to_have_accessible_name(re.compile(r"\S"))


def test_the_curl_line_asks_the_same_in_a_shell(tab: Tab) -> None:
    tab.ask(f'it\'s "$HOME" `x` \\ !\n😀他很高{MASK}')
    line = tab.page.locator("#curl").text_content() or ""
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True, timeout=20)
    shown, printed = tab.answer(), json.loads(done.stdout)
    assert printed["results"][0].pop("cached") != shown["results"][0].pop("cached")
    assert printed == shown


def test_what_is_copied_is_what_is_shown(tab: Tab) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for name in ("curl", "json"):
        tab.page.locator(f"[data-copy={name}]").click()
        expect(tab.page.locator(f"[data-copy={name}]")).to_have_text("已复制")
        assert (
            tab.page.evaluate("navigator.clipboard.readText()")
            == tab.page.locator(f"#{name}").text_content()
        )


@pytest.mark.parametrize("path", ["/prod", "/prod/", "/prod/nlp"])
def test_under_a_stage_and_a_base_path_through_the_lambda_path(browser: Browser, path: str) -> None:
    settings = Settings.from_env({"FILLMASK_MODEL_DIR": str(MODEL), "FILLMASK_BASE_PATH": "/nlp"})
    events = HttpEvents(Loader(settings), settings)
    with on_uvicorn(gateway(events.answer, "prod")) as origin:
        tab = Tab(browser, origin).open(path)
        assert tab.tokens()[0] == "上"
        prefix = origin + path.rstrip("/")
        expect(tab.page.locator("#curl")).to_contain_text(f"'{prefix}/v1/fill-mask'")
        documents = tab.page.locator("#docs").evaluate("node => node.href")
        assert documents == f"{prefix}/docs"
        assert tab.page.request.get(documents).ok
        tab.page.get_by_role("tab", name="相似度").click()
        expect(tab.page.locator(".score")).to_be_visible()
        tab.context.close()
        assert tab.errors == []


def test_text_is_never_markup_and_no_other_script_runs(tab: Tab) -> None:
    tab.ask(f"<img src=x onerror=alert(1)>他很高{MASK}<b>")
    assert tab.page.locator("main img, main .sentence > b").count() == 0
    for line in (
        "document.body.innerHTML = '<p>'",
        "document.body.setAttribute('onclick', 'alert(1)')",
        "document.head.append(document.createElement('script').text = 'alert(1)')",
    ):
        with pytest.raises(Error, match="requires 'Trusted"):
            tab.page.evaluate(line)
    with pytest.raises(Error, match="Failed to fetch"):
        tab.page.evaluate("fetch('http://localhost:9/')")
    # Each refusal is in the console, so the other tests would see one of the page's own.
    assert tab.errors
    tab.errors.clear()


def test_the_policy_names_the_blocks_of_the_page_and_nothing_else() -> None:
    content, headers = page.load()
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy and "http" not in policy and policy.count("sha256-") == 2
    assert page.policy(content.replace(b'"use strict"', b'"use  strict"')) != policy
    assert not re.findall(
        rb"\s(?:on\w+|style)=|src=|@import|https?://(?!www\.w3\.org/2000/svg)", content
    )
    assert len(content) < 44_000
