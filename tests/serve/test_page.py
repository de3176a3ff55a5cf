"""The page in a real browser, as a person uses it."""

from __future__ import annotations

import csv
import re
import shutil
import signal
import subprocess
import urllib.request

import pytest
from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from tests.cli.entry import ENTRY
from tests.pictures import KINDS, draw_trees

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OFFLINE = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


expect.set_options(timeout=30_000)  # a busy machine is no failure


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no browser: install Debian's package chromium, or Chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[*OFFLINE])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page") / "images"
    draw_trees(folder, 8)
    return folder


@pytest.fixture(scope="module")
def address(images):
    yield from served("--images", str(images))


@pytest.fixture
def without_images():
    yield from served()


def served(*options: str):
    server = started(*options)
    try:
        line = server.stdout.readline()
        yield re.search(r"http://[0-9.:]+", line)[0]
    finally:
        server.terminate()
        server.wait(timeout=30)
        server.stdout.close()
        server.stderr.close()


def started(*options: str) -> subprocess.Popen[str]:
    command = [str(ENTRY), "serve", "conv4-cifar-fs", "--port", "0", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_ctrl_c_ends_it_without_a_word():
    server = started()
    address = re.search(r"http://[0-9.:]+", server.stdout.readline())[0]
    with urllib.request.urlopen(address, timeout=30) as answer:
        assert answer.status == 200
    server.send_signal(signal.SIGINT)
    assert server.communicate(timeout=30) == ("", "")
    assert server.returncode == 0


@pytest.fixture
def page(browser):
    """A page whose scripts make no error."""
    errors: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []


def name_class(page: Page, name: str) -> None:
    page.get_by_label("Name a class").fill(name)
    page.get_by_role("button", name="Add").click()


def tile(page: Page, file: str):
    return page.locator(f'.tile[title="{file}"]')


def label_of(page: Page, file: str):
    return tile(page, file).locator(".name")


def test_name_classes_add_examples_see_the_rest_sorted_correct_one_download(
    page, address, tmp_path
):
    page.goto(address)
    expect(page.locator(".tile")).to_have_count(24)
    expect(page.locator("#hint")).to_contain_text("Name a class to begin")
    name_class(page, "ash")
    tile(page, "ash/0.jpg").click()
    name_class(page, "birch")
    tile(page, "birch/0.jpg").click()
    expect(page.locator("#status")).to_contain_text("24 images sorted from 2 examples")
    right = [
        label_of(page, f"{kind}/{i}.jpg").inner_text() == kind
        for kind in KINDS[:2]
        for i in range(8)
    ]
    assert sum(right) >= 14

    confidences = [
        int(text.split()[0]) for text in page.locator(".tile .sure").all_inner_texts()[:-2]
    ]
    assert confidences == sorted(confidences)  # the most doubtful first, examples last

    # The third kind has no class yet: whatever it is called is wrong, and is corrected.
    name_class(page, "elm")
    tile(page, "elm/0.jpg").click()
    expect(label_of(page, "elm/0.jpg")).to_have_text("elm")
    expect(page.locator('#groups [data-group="elm"] .count')).to_have_text(re.compile("[5-9]"))
    page.locator('#groups [data-group="elm"]').click()
    assert set(page.locator(".tile .name").all_inner_texts()) == {"elm"}

    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    download.value.save_as(tmp_path / "labels.csv")
    with (tmp_path / "labels.csv").open(newline="") as file:
        rows = {row["file"]: row["label"] for row in csv.DictReader(file)}
    assert len(rows) == 24
    assert sum(name.split("/")[0] == label for name, label in rows.items()) >= 20
    with page.expect_download() as download:
        page.get_by_role("button", name="Download classifier").click()
    assert download.value.suggested_filename == "classifier.safetensors"


def test_images_are_dragged_into_classes_and_taken_out_again(page, address):
    page.goto(address)
    name_class(page, "ash")
    name_class(page, "elm")
    tile(page, "ash/1.jpg").drag_to(page.locator('.class[data-label="ash"]'))
    expect(page.locator('.class[data-label="ash"] .count')).to_have_text("1 given")
    page.locator('.class[data-label="ash"] .pick').click()
    tile(page, "ash/1.jpg").click()
    expect(page.locator('.class[data-label="ash"] .count')).to_have_text("0 given")
    tile(page, "elm/1.jpg").focus()
    page.keyboard.press("2")
    expect(page.locator('.class[data-label="elm"] .count')).to_have_text("1 given")
    page.keyboard.press("Control+1")  # is the browser's, not a label
    expect(page.locator('.class[data-label="ash"] .count')).to_have_text("0 given")
    page.get_by_role("button", name="remove class elm").click()
    expect(page.locator("#classes li")).to_have_count(1)
    expect(page.get_by_role("button", name="Download CSV")).to_be_disabled()


def test_examples_are_remembered_and_names_are_only_text(page, address):
    name = '<img src=x onerror="document.title=1">'
    page.goto(address)
    name_class(page, name)
    tile(page, "birch/2.jpg").click()
    expect(label_of(page, "birch/2.jpg")).to_have_text(name)
    expect(page.get_by_role("button", name="Download CSV")).to_be_disabled()  # one class is none
    page.reload()
    expect(label_of(page, "birch/2.jpg")).to_have_text(name)
    assert page.title() == "pseudoshot: sort images"
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Start over").click()
    expect(page.locator("#classes li")).to_have_count(0)


def test_files_are_chosen_where_no_folder_is_served(page, without_images, images, tmp_path):
    page.goto(without_images)
    expect(page.locator("#status")).to_have_text("No images yet.")
    page.locator("#files").set_input_files([images / kind / "0.jpg" for kind in KINDS])
    expect(page.locator(".tile")).to_have_count(3)
    Image.new("RGB", (8, 8)).save(tmp_path / "whole.png")
    (tmp_path / "half.png").write_bytes((tmp_path / "whole.png").read_bytes()[:40])
    page.locator("#files").set_input_files(tmp_path / "half.png")
    expect(page.get_by_role("alert")).to_contain_text("'half.png' cannot be read")
    expect(page.locator(".tile")).to_have_count(3)
    page.locator("#files").set_input_files([tmp_path / "half.png", tmp_path / "whole.png"])
    expect(page.get_by_role("alert")).to_contain_text("'half.png' cannot be read")
    expect(page.locator(".tile")).to_have_count(4)  # the good one was taken in
    name_class(page, "dark")
    tile(page, "whole.png").click()
    page.locator("#files").set_input_files(tmp_path / "whole.png")
    expect(tile(page, "whole (2).png")).to_have_count(1)
    page.reload()
    expect(label_of(page, "whole.png")).to_have_text("dark")


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_sticks_out_of_a_wide_or_a_narrow_screen(page, address, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(address)
    expect(page.locator(".tile")).to_have_count(24)
    name_class(page, "a class with quite a long name, longer than its place")
    tile(page, "ash/0.jpg").click()
    name_class(page, "elm")
    tile(page, "elm/0.jpg").click()
    expect(page.locator("#status")).to_contain_text("sorted from 2 examples")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".tile").first.bounding_box()["width"] >= 90


def test_every_image_can_be_reached_on_a_large_screen(page, tmp_path):
    draw_trees(tmp_path, 110)
    page.set_viewport_size({"width": 2560, "height": 1440})
    for address in served("--images", str(tmp_path)):
        page.goto(address)
        expect(page.locator(".tile").first).to_be_visible()
        for _ in range(50):
            page.mouse.wheel(0, 100_000)
            page.wait_for_timeout(200)
            if page.locator(".tile").count() == 330:
                break
        expect(page.locator(".tile")).to_have_count(330)


def test_whoever_uses_keys_stays_where_they_were(page, address):
    page.goto(address)
    name_class(page, "ash")
    name_class(page, "elm")
    page.keyboard.press("Tab")
    page.locator(".tile").nth(3).focus()
    page.keyboard.press("1")
    page.keyboard.press("Tab")
    page.keyboard.press("2")
    expect(page.locator("#status")).to_contain_text("sorted from 2 examples")
    assert page.evaluate("document.activeElement.classList.contains('tile')")
    page.locator('#groups [data-group="elm"]').focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.group") == "elm"
    page.locator('.class[data-label="ash"] .pick').focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.closest('.class').dataset.label") == "ash"


def test_classes_called_like_parts_of_the_page(page, address):
    page.goto(address)
    name_class(page, "none of these")
    expect(page.get_by_role("alert")).to_contain_text("is for images of no class")
    name_class(page, "all")
    tile(page, "ash/0.jpg").click()
    name_class(page, "null")
    tile(page, "elm/0.jpg").click()
    page.locator('#groups [data-group="all"]').click()
    expect(page.locator('#groups [aria-pressed="true"]')).to_have_count(1)
    assert set(page.locator(".tile .name").all_inner_texts()) == {"all"}
    page.get_by_text("Leave doubtful images out").click()
    page.locator("#reject").fill("95")
    page.locator('#groups [data-group="none of these"]').click()
    page.locator("#reject").fill("0")
    expect(page.locator(".tile")).to_have_count(24)  # back to everything
