"""How the page looks: its contrast, phones and desktops, and screenshots in .build/screens."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from fillmask.http.page import PAGE
from support.browser import Tab
from support.paths import BUILD

SCREENS = BUILD / "screens"
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "has_touch": True,
    "is_mobile": True,
}
SMALL = PHONE | {"viewport": {"width": 360, "height": 640}}
DESKTOP = {"viewport": {"width": 1280, "height": 860}, "device_scale_factor": 1}
LONG = "我今天去学校上课了，" * 30 + "心里很高[MASK]。"


@pytest.mark.parametrize("scheme", [0, 1])
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("ink", "page"),
        ("ink", "card"),
        ("ink", "tint"),
        ("soft", "page"),
        ("soft", "card"),
        ("soft", "tint"),
        ("accent", "page"),
        ("accent", "tint"),
        ("on-accent", "accent"),
        ("bad", "bad-tint"),
        ("soft", "bad-tint"),
    ],
)
def test_text_can_be_read_on_its_ground(scheme: int, text: str, ground: str) -> None:
    block = re.findall(r":root \{(.*?)\}", PAGE.read_text(encoding="utf-8"), re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([\w-]+): #(\w+);", block))
    lighter, darker = sorted((_luminance(colours[text]), _luminance(colours[ground])), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5  # WCAG 2.2, AA


def _luminance(colour: str) -> float:
    whole = colour if len(colour) == 6 else "".join(digit * 2 for digit in colour)
    parts = (int(whole[at : at + 2], 16) / 255 for at in (0, 2, 4))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("locale", ["zh-CN", "en-US"])
def test_nothing_sticks_out_of_a_small_phone(browser: Browser, origin: str, locale: str) -> None:
    tab = Tab(browser, origin, locale=locale, **SMALL).open()
    wide = "() => document.documentElement.scrollWidth"
    for text in ("对不[MASK]，我来[MASK]了。", "a" * 200 + "[MASK]", LONG):
        tab.ask(text)
        assert tab.page.evaluate(wide) == 360
    tab.page.locator("#io summary").click()
    tab.page.locator("#tab-sim").click()
    expect(tab.page.locator(".score")).to_be_visible()
    assert tab.page.evaluate(wide) == 360
    for control in tab.page.locator("button:visible").all():
        box = control.bounding_box()
        assert box and box["height"] >= 24  # WCAG 2.2, target size
    tab.context.close()
    assert tab.errors == []


def test_motion_is_only_for_those_who_do_not_mind(browser: Browser, origin: str) -> None:
    for wish, moves in (("reduce", False), ("no-preference", True)):
        tab = Tab(browser, origin, reduced_motion=wish).open()
        name = tab.page.locator(".pick i").first.evaluate(
            "node => getComputedStyle(node).animationName"
        )
        assert (name != "none") == moves
        tab.context.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "scheme"),
    [
        ("phone", PHONE, "light"),
        ("phone", PHONE, "dark"),
        ("desktop", DESKTOP, "light"),
        ("desktop", DESKTOP, "dark"),
        ("desktop-english", DESKTOP | {"locale": "en-US"}, "light"),
    ],
)
def test_screenshots(
    browser: Browser, origin: str, name: str, options: dict[str, Any], scheme: str
) -> None:
    SCREENS.mkdir(parents=True, exist_ok=True)
    tab = Tab(browser, origin, color_scheme=scheme, **options).open()
    looks = {_shot(tab, f"{name}-{scheme}-{what}", act) for what, act in SCENES.items()}
    assert len(looks) == len(SCENES)  # no scene looks like another
    tab.context.close()
    assert tab.errors == []


def _shot(tab: Tab, name: str, act: Any) -> bytes:
    act(tab)
    return bytes(tab.page.screenshot(path=SCREENS / f"{name}.png", full_page=True))


def _example(number: int) -> Any:
    def act(tab: Tab) -> None:
        tab.page.locator("#chips button").nth(number).click()
        tab.page.mouse.move(0, 0)
        tab.settle()

    return act


def _filled(tab: Tab) -> None:
    _example(4)(tab)
    tab.page.locator("[data-list='0'] .pick").first.click()
    expect(tab.page.locator(".slot.filled")).to_be_visible()
    tab.page.mouse.move(0, 0)


def _similar(tab: Tab) -> None:
    tab.page.locator("#tab-sim").click()
    expect(tab.page.locator(".score")).to_be_visible()


SCENES = {
    "first": lambda tab: None,
    "targets": _example(2),
    "together": _example(5),
    "filled": _filled,
    "unknown-and-long": lambda tab: tab.ask("😀" + LONG),
    "error": lambda tab: tab.ask("中【MASK】国"),
    "similarity": _similar,
}
