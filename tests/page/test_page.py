"""The page in a browser: blanks, candidates, filling in; the embedded model answers."""

import pytest
from playwright.sync_api import expect

from support.browser import Tab

MASK = "[MASK]"
FAMILY = "👨‍👩‍👧"


def test_the_first_sentence_is_answered_at_once(tab: Tab) -> None:
    assert tab.tokens()[0] == "上"
    expect(tab.page.locator(".slot[data-slot='0']")).to_have_text("上")
    score = tab.answer()["results"][0]["masks"][0]["candidates"][0]["score"]
    best = tab.page.locator(".pick.best")
    expect(best.locator(".n")).to_have_text(f"{score * 100:.1f}%")
    width = "node => node.querySelector('i').style.getPropertyValue('--share')"
    share = float(best.evaluate(width).removeprefix("max(2px, ").removesuffix("%)"))
    assert share == pytest.approx(score * 100, abs=0.001)
    expect(tab.page.locator("#model")).to_contain_text("fillmask-zh-mini")


def test_a_click_fills_a_blank_and_asks_for_the_rest(tab: Tab) -> None:
    tab.page.get_by_role("button", name="两个空").click()
    tab.settle()
    assert (tab.tokens(0)[0], len(tab.tokens(1))) == ("起", 5)
    tab.page.locator("[data-list='0'] .pick").first.click()
    expect(tab.page.locator(".slot.filled")).to_have_text("起")
    assert tab.text == f"对不起，我来{MASK}了。" == tab.sent()["text"]
    last = tab.tokens(0)[1]
    tab.page.locator(".pick").nth(1).click()
    expect(tab.page.locator(".done")).to_be_visible()
    assert tab.text == f"对不起，我来{last}了。"
    assert tab.page.locator(".slot.filled").all_inner_texts() == ["起", last]
    for text in (f"对不起，我来{MASK}了。", f"对不{MASK}，我来{MASK}了。"):
        tab.page.get_by_role("button", name="退一步").click()
        assert tab.text == text
    expect(tab.page.get_by_role("button", name="退一步")).to_have_count(0)


def test_what_has_the_focus_is_tried_in_the_sentence(tab: Tab) -> None:
    tab.page.locator(".pick").nth(1).focus()
    expect(tab.page.locator("[data-slot]")).to_have_text(tab.tokens()[1])
    tab.page.locator("#text").focus()
    expect(tab.page.locator("[data-slot]")).to_have_text("上")


MASKED = [  # text, selection in UTF-16 units, what the key makes of it
    ("今天天气很好", 2, 4, "今天[MASK][MASK]很好"),
    ("今天天气很好", 3, 3, "今天天[MASK]气很好"),
    (f"我{FAMILY}𠮷你", 1, 1 + len(FAMILY.encode("utf-16-le")) // 2 + 2, "我[MASK][MASK]你"),
    ("买 iPhone15 吧", 1, 12, "买 [MASK] [MASK]"),
    ("a[MASK]b天", 0, 9, "[MASK][MASK][MASK][MASK]"),
    ("a[MASK]b", 3, 3, "a[MASK][MASK]b"),
    ("a[MASK]b", 3, 8, "a[MASK][MASK]"),
]


def test_the_key_puts_masks_at_the_cursor_or_over_the_selection(tab: Tab) -> None:
    for text, start, end, masked in MASKED:
        tab.page.locator("#text").fill(text)
        tab.select(start, end)
        expect(tab.page.locator("#mask-name")).to_have_text(
            "在此挖空" if start == end else "挖掉选中"
        )
        tab.page.keyboard.press("Control+m")
        assert tab.text == masked
        assert tab.page.locator("#fill .field mark").count() == masked.count(MASK)


def test_the_button_does_what_the_key_does_and_the_browser_can_undo_it(tab: Tab) -> None:
    tab.page.locator("#text").fill("今天很好")
    tab.select(0, 2)
    tab.page.locator("#mask").click()
    assert tab.text == f"{MASK}{MASK}很好"
    tab.page.keyboard.press("Control+z")
    assert tab.text == "今天很好"


def test_a_mask_is_deleted_whole(tab: Tab) -> None:
    tab.page.locator("#text").fill(f"中{MASK}国{MASK}")
    tab.page.locator("#text").press("End")
    tab.page.keyboard.press("Backspace")
    assert tab.text == f"中{MASK}国"
    tab.select(1, 1)
    tab.page.keyboard.press("Delete")
    assert tab.text == "中国"


def test_an_answer_to_an_older_sentence_cannot_be_filled_in(tab: Tab) -> None:
    tab.page.locator("#text").press_sequentially("！")
    expect(tab.page.locator("#fill-answer .body")).to_have_js_property("inert", True)
    expect(tab.page.locator("#fill-answer .foot")).to_contain_text("请再作答")
    tab.page.locator("#text").press("Control+Enter")
    tab.settle()
    expect(tab.page.locator("#fill-answer .body")).to_have_js_property("inert", False)


def test_targets_keep_their_order_and_say_why_one_has_no_score(tab: Tab) -> None:
    tab.page.locator("#targets").fill("着、了，𠮷 苹果")
    tab.ask(f"我昨天去{MASK}学校。")
    assert tab.sent()["targets"] == ["着", "了", "𠮷", "苹果"]
    rows = tab.page.locator(".pick")
    assert tab.tokens() == ["着", "了", "𠮷", "苹果"]
    expect(rows.nth(1)).to_have_class("pick best")
    expect(rows.nth(2)).to_be_disabled()
    expect(rows.nth(2)).to_contain_text("词表里没有")
    expect(rows.nth(3)).to_contain_text("苹+果")
    rows.nth(3).click()
    assert tab.text == "我昨天去苹果学校。"
    expect(tab.page.locator(".slot.filled")).to_have_text("苹果")


def test_whole_fillings_fill_every_blank(tab: Tab) -> None:
    tab.page.get_by_role("button", name="整词").click()
    tab.settle()
    assert tab.sent()["mode"] == "joint"
    assert tab.tokens("whole")[0] == "咖啡"
    assert tab.page.locator("[data-slot]").evaluate_all(
        "nodes => nodes.map(node => node.dataset.top)"
    ) == ["咖", "啡"]
    tab.page.locator("[data-list='whole'] .pick").first.click()
    assert tab.text == "我喜欢喝咖啡。"
    assert tab.page.locator(".slot.filled").all_inner_texts() == ["咖", "啡"]


def test_as_many_candidates_as_asked_for(tab: Tab) -> None:
    tab.page.locator("#topk").fill("12")
    tab.page.locator("#topk").press("Enter")
    expect(tab.page.locator(".pick")).to_have_count(12)


def test_offsets_hold_next_to_characters_beyond_the_basic_plane(tab: Tab) -> None:
    tab.ask(f"😀𠀀{FAMILY}我很高{MASK}，{FAMILY}你很高{MASK}。")
    unseen = "".join(tab.page.locator(".sentence .unseen").all_inner_texts())
    assert unseen == "".join(row["text"] for row in tab.answer()["results"][0]["unknown"])
    assert "😀" in unseen and "我" not in unseen
    assert tab.page.locator(".sentence").evaluate("node => node.childNodes.length") > 4
    token = tab.tokens(1)[0]
    tab.page.locator("[data-list='1'] .pick").first.click()
    expect(tab.page.locator(".slot.filled")).to_have_text(token)
    first = tab.tokens(0)[0]
    tab.page.locator(".pick").first.click()
    assert tab.text == f"😀𠀀{FAMILY}我很高{first}，{FAMILY}你很高{token}。"
    assert tab.page.locator(".slot.filled").all_inner_texts() == [first, token]


def test_a_text_over_the_limit_shows_what_was_read(tab: Tab) -> None:
    text = "我今天去学校上课了。" * 40 + f"我很高{MASK}。" + "大家都在认真听讲。" * 40
    tab.ask(text)
    window = tab.answer()["results"][0]["masks"][0]["window"]
    outside = tab.page.locator(".sentence .outside").all_inner_texts()
    assert outside == [text[: window["start"]], text[window["end"] :]]
    expect(tab.page.locator(".notes")).to_contain_text(
        f"第 {window['start'] + 1} 到 {window['end']} 字"
    )
    tab.page.locator(".sentence").scroll_into_view_if_needed()
    # The sentence has a scrollbar of its own, and yet:
    expect(tab.page.locator("[data-slot]")).to_be_in_viewport()
