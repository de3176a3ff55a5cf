"""How the page looks: on narrow and wide screens, and to people who do not see it (axe-core)."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.serve.browsing import group, name_class, sort_from_two, tile, view


def violations(page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


# By how much a class of many images is wider than its place.
MANY = """() => {
  const text = document.querySelector(".class .text");
  text.lastChild.textContent = "1,100 examples · 70,933 images";
  return text.scrollWidth - text.clientWidth;
}"""


@pytest.fixture(params=["light", "dark"])
def colours(request, page):
    page.emulate_media(color_scheme=request.param)
    return request.param


def test_axe_finds_nothing(page, address, colours):
    page.goto(address)
    expect(page.locator(".tile")).to_have_count(24)
    assert violations(page) == []
    sort_from_two(page)
    group(page, "ash").click()
    page.locator(".tile").first.click(modifiers=["Control"])
    for summary in page.locator("aside summary").all():
        summary.click()
    expect(page.locator("#selection")).to_be_visible()
    assert violations(page) == []
    view(page, "unlike").click()
    expect(page.locator("#unlike")).to_be_visible()
    assert violations(page) == []


def test_axe_finds_nothing_in_dialogs(page, address, colours):
    page.goto(address)
    sort_from_two(page)
    page.get_by_label("change class ash").click()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keys").click()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Propose classes").click()
    expect(page.locator(".proposal").first).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    tile(page, "elm/0.jpg").focus()
    page.keyboard.press("Space")
    expect(page.locator("#large-label")).to_contain_text("% certain")
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.get_by_text("Save the result").click()
    page.get_by_role("button", name="Sort into folders").click()
    assert violations(page) == []


@pytest.mark.parametrize("width", [2560, 1366, 390])
def test_nothing_sticks_out_of_a_wide_or_a_narrow_screen(page, address, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(address)
    name_class(page, "a class with quite a long name, longer than its place")
    page.locator(".tile").nth(0).click()
    name_class(page, "elm")
    page.locator(".tile").nth(1).click()
    expect(page.locator("#status")).to_contain_text("sorted from 2 examples")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.scrollHeight") <= 800
    assert page.locator(".tile").first.bounding_box()["width"] >= 90
    room = page.locator("#scroller").bounding_box()
    assert room["height"] >= 350  # most of a telephone's screen is for images
    assert room["x"] + room["width"] <= width
    assert page.evaluate(MANY) <= 0
