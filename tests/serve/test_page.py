"""The page in a real browser: from the first click to what is taken away."""

from __future__ import annotations

import csv
import re
import signal
import subprocess
import urllib.request

import pytest
from playwright.sync_api import expect

from tests.cli.entry import ENTRY
from tests.pictures import KINDS
from tests.serve.browsing import (
    class_row,
    examples_of,
    group,
    label_of,
    name_class,
    shown,
    sort_from_two,
    tile,
    view,
    wait_until,
)


def test_ctrl_c_ends_it_without_a_word():
    command = [str(ENTRY), "serve", "conv4-cifar-fs", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = re.search(r"http://[0-9.:]+", server.stdout.readline())[0]
    with urllib.request.urlopen(address, timeout=30) as answer:
        assert answer.status == 200
    server.send_signal(signal.SIGINT)
    assert server.communicate(timeout=30) == ("", "")
    assert server.returncode == 0


def test_name_classes_add_examples_see_the_rest_sorted_correct_one_download(
    page, address, tmp_path
):
    page.goto(address)
    expect(page.locator(".tile")).to_have_count(24)
    expect(page.locator("#hint")).to_contain_text("Name a class")
    sort_from_two(page)
    right = [
        label_of(page, f"{kind}/{i}.jpg").inner_text() == kind
        for kind in KINDS[:2]
        for i in range(8)
    ]
    assert sum(right) >= 14

    class_row(page, "ash").hover()  # away from the images, which are in their new order then
    expect(page.locator(".tile").last).to_contain_text("example")
    confidences = [
        int(text.split()[0]) for text in page.locator(".tile .sure").all_inner_texts()[:-2]
    ]
    assert confidences == sorted(confidences)  # the most doubtful first, examples last

    # The third kind has no class yet: whatever it is called is wrong, and is corrected.
    name_class(page, "elm")
    tile(page, "elm/0.jpg").click()
    expect(label_of(page, "elm/0.jpg")).to_have_text("elm")
    expect(group(page, "elm").locator(".count")).to_have_text(re.compile("^[5-9]"))
    group(page, "elm").click()
    expect(page.locator(".tile .name", has_not_text="elm")).to_have_count(0)

    page.get_by_text("Save the result").click()
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
    tile(page, "ash/1.jpg").drag_to(class_row(page, "ash"))
    expect(examples_of(page, "ash")).to_have_text("1 example")
    class_row(page, "ash").locator(".pick").click()
    tile(page, "ash/1.jpg").click()
    expect(examples_of(page, "ash")).to_have_text("0 examples")
    tile(page, "elm/1.jpg").focus()
    page.keyboard.press("2")
    expect(examples_of(page, "elm")).to_have_text("1 example")
    page.keyboard.press("Control+1")  # is the browser's, not a label
    expect(examples_of(page, "ash")).to_have_text("0 examples")
    expect(page.locator("#csv")).to_be_disabled()  # one class is none


def test_images_do_not_move_under_the_pointer(page, address):
    page.goto(address)
    expect(page.locator(".tile")).to_have_count(24)
    before = shown(page)
    name_class(page, "ash")
    tile(page, "ash/0.jpg").click()
    name_class(page, "birch")
    tile(page, "birch/0.jpg").click()
    expect(page.locator("#status")).to_contain_text("sorted from 2 examples")
    expect(label_of(page, "birch/1.jpg")).not_to_be_empty()  # the labels are there
    assert shown(page) == before  # the order is not
    page.get_by_role("button", name="Sorted anew: show").click()
    expect(page.locator("#fresh")).to_be_hidden()
    wait_until(page, lambda: shown(page) != before)
    after = shown(page)
    tile(page, after[0]).click()
    expect(page.locator("#status")).to_contain_text("sorted from 3 examples")
    assert shown(page) == after
    page.locator("#class-name").hover()  # away: nobody is about to click an image
    wait_until(page, lambda: shown(page) != after)
    expect(page.locator("#fresh")).to_be_hidden()


def test_my_examples_are_a_view(page, address):
    page.goto(address)
    sort_from_two(page)
    view(page, "examples").click()
    expect(page.locator(".tile")).to_have_count(2)
    assert sorted(shown(page)) == ["ash/0.jpg", "birch/0.jpg"]


def test_names_are_only_text_and_examples_are_remembered(page, address):
    name = '<img src=x onerror="document.title=1">'
    page.goto(address)
    name_class(page, name)
    tile(page, "birch/2.jpg").click()
    expect(label_of(page, "birch/2.jpg")).to_have_text(name)
    page.reload()
    expect(label_of(page, "birch/2.jpg")).to_have_text(name)
    page.get_by_label(f"change class {name}").click()
    expect(page.locator("#class-title")).to_contain_text(name)
    page.keyboard.press("Escape")
    assert page.title() == "pseudoshot: sort images"
    assert page.locator("aside img, header img").count() == 0
    page.get_by_text("Project", exact=True).click()
    page.get_by_role("button", name="Start over").click()
    expect(page.locator("#classes li")).to_have_count(0)
    page.locator("#toast").get_by_role("button", name="Undo").click()
    expect(label_of(page, "birch/2.jpg")).to_have_text(name)


def test_classes_called_like_parts_of_the_page(page, address):
    page.goto(address)
    page.get_by_label("Name a class").fill("none of these")
    page.keyboard.press("Enter")
    expect(page.locator("#message")).to_contain_text("is for images of no class")
    name_class(page, "everything")
    tile(page, "ash/0.jpg").click()
    name_class(page, "null")
    tile(page, "elm/0.jpg").click()
    group(page, "everything").click()
    expect(page.locator('#groups [aria-pressed="true"]')).to_have_count(1)
    assert set(page.locator(".tile .name").all_inner_texts()) == {"everything"}


def test_doubtful_images_are_left_out_and_come_back(page, address):
    page.goto(address)
    sort_from_two(page)
    page.get_by_text("Doubtful images").click()
    page.locator("#reject").fill("95")
    page.locator("#reject").dispatch_event("change")
    view(page, "none").click()
    expect(page.locator(".tile .name").first).to_have_text("none of these")
    page.keyboard.press("Control+z")
    expect(view(page, "none")).to_have_count(0)
    expect(page.locator(".tile")).to_have_count(24)  # back to everything


@pytest.mark.parametrize("among", ["all", "unlike"])
def test_classes_are_proposed_and_accepted(page, address, among):
    page.goto(address)
    if among == "unlike":
        sort_from_two(page)
        view(page, "unlike").click()
        page.get_by_role("button", name="Propose classes for these").click()
    else:
        page.get_by_role("button", name="Propose classes").click()
    first = page.locator(".proposal").first
    name = first.get_by_role("textbox").input_value()
    left_out = first.locator(".picture").first
    pictures = first.locator(".picture").count()
    if among == "unlike":
        left_out.click()
        pictures -= 1
        name = "something else"
        first.get_by_role("textbox").fill(name)
    first.get_by_role("button", name="Accept").click()
    if pictures:
        expect(examples_of(page, name)).to_contain_text(re.compile(f"^{pictures} example"))
    if among == "all":  # three clicks, and everything is sorted
        page.locator(".proposal").first.get_by_role("button", name="Accept").click()
        expect(page.locator("#status")).to_contain_text("24 images sorted from")
