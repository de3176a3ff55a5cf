"""The page with 20,000 images: only what is in sight exists, and one click costs one sort."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from pseudoshot.serve.session import Session
from tests.serve.browsing import class_row, name_class, serving, shown, tile

COUNT = 20_000
MOST_TILES = 120  # of a screen of 1280 x 800, with what is above and below


class ManyImages(Session):
    """Images that were never files: drawn when they are looked at, embedded at random."""

    def __init__(self) -> None:
        super().__init__("conv4-cifar-fs")
        numbers = self._embeddings.extend(COUNT)
        for number in numbers:
            self._name(number, f"folder {number % 7}/photo {number}.jpg")
        rows = np.random.default_rng(0).normal(size=(COUNT, self.embedder.dim))
        self._embeddings.fill(numbers, rows.astype(np.float32))

    def thumbnail(self, number: int) -> bytes:
        file = io.BytesIO()
        colour = (number % 251, number % 241, number % 239)
        Image.new("RGB", (8, 8), colour).save(file, "JPEG")
        return file.getvalue()


@pytest.fixture(scope="module")
def many():
    session = ManyImages()
    with serving(session) as address:
        yield address
    session.close()


def scroll_to(page, part: float) -> None:
    page.locator("#scroller").evaluate(
        "(scroller, part) => { scroller.scrollTop = part * scroller.scrollHeight }", part
    )


def test_any_image_is_reached_and_few_exist(page, many):
    pictures = []
    page.on("request", lambda request: "/images/" in request.url and pictures.append(request.url))
    page.goto(many)
    expect(page.locator(".tile").first).to_be_visible()
    page.locator("#sort").select_option("name")
    asked_before = len(pictures)
    passed = page.evaluate(
        """async () => {
          const scroller = document.getElementById("scroller"), seen = new Set();
          let most = 0;
          for (let step = 0; step < 60; step++) {
            scroller.scrollTop += 3000;
            await new Promise(requestAnimationFrame);
            for (const { title } of document.querySelectorAll(".tile")) seen.add(title);
            most = Math.max(most, document.querySelectorAll(".tile").length);
          }
          return { most, images: seen.size };
        }"""
    )
    assert 10 < passed["most"] <= MOST_TILES
    assert passed["images"] > 2_000
    assert len(pictures) - asked_before < passed["images"] / 3  # passing by, few are fetched
    for part in (0.25, 0.5, 0.9):
        scroll_to(page, part)
        place = int(part * COUNT)
        expect(page.locator(f'.tile[aria-posinset="{place}"]')).to_have_count(1)
        expect(page.locator(f'.tile[aria-posinset="{place}"] img')).to_have_attribute(
            "src", re.compile("/images/[0-9]+")
        )
    page.locator(".tile").first.focus()
    page.keyboard.press("End")
    expect(tile(page, "folder 6/photo 19998.jpg")).to_be_focused()
    page.keyboard.press("Home")
    expect(tile(page, "folder 0/photo 0.jpg")).to_be_focused()
    page.get_by_label("Search file names").fill("photo 12345")
    expect(page.locator(".tile")).to_have_count(1)
    assert shown(page) == ["folder 4/photo 12345.jpg"]
    assert page.locator(".tile").count() <= MOST_TILES


def test_a_click_is_one_sort_and_few_changes_of_the_page(page, many):
    asked = []
    page.on("request", lambda request: request.method == "POST" and asked.append(request.url))
    page.goto(many)
    for place, name in enumerate(("one", "two")):
        name_class(page, name)
        page.locator(".tile").nth(place).click()
        page.locator(".tile").nth(place + 2).click()
        expect(class_row(page, name)).to_contain_text("2 examples")
    expect(page.locator("#status")).to_contain_text("sorted from")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)

    tiles = page.locator(".tile").count()
    asked.clear()
    page.evaluate(
        """() => {
          window.changes = 0;
          const kinds = { childList: true, attributes: true, characterData: true };
          new MutationObserver((records) => { window.changes += records.length }).observe(
            document.body, { subtree: true, ...kinds },
          );
        }"""
    )
    status = page.locator("#status").inner_text()
    page.locator(".tile").nth(12).click()
    expect(page.locator("#status")).not_to_have_text(status)
    page.wait_for_timeout(500)
    assert [url.rsplit("/", 1)[1] for url in asked] == ["changes", "sort"]
    assert page.evaluate("window.changes") <= 12 * tiles + 60
    assert page.locator(".tile").count() <= MOST_TILES
