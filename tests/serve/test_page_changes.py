"""Mistakes can be found and undone: history, classes renamed, merged, deleted; two tabs."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.serve.browsing import (
    asked,
    class_row,
    examples_of,
    group,
    label_of,
    name_class,
    sort_from_two,
    tile,
)


def change(page, name: str):
    page.get_by_label(f"change class {name}", exact=True).click()
    return page.locator("#class-dialog")


def test_every_step_is_undone_and_done_again(page, address):
    page.goto(address)
    sort_from_two(page)
    expect(page.locator("#undo")).to_contain_text("label 1 image")  # says what it would undo
    page.keyboard.press("Control+z")
    expect(examples_of(page, "birch")).to_contain_text("0 examples")
    page.keyboard.press("Control+z")
    expect(class_row(page, "birch")).to_have_count(0)
    expect(page.locator("#redo")).to_contain_text("birch")
    page.keyboard.press("Control+y")
    page.keyboard.press("Control+Shift+z")
    expect(examples_of(page, "birch")).to_contain_text("1 example")
    page.locator("#undo").click()
    expect(examples_of(page, "birch")).to_contain_text("0 examples")
    page.get_by_label("Name a class").fill("oak")
    page.keyboard.press("Control+z")  # of a field with text in it: the field's own
    expect(page.get_by_label("Name a class")).to_have_value("")
    expect(class_row(page, "birch")).to_have_count(1)


def test_a_class_is_deleted_and_comes_back_with_examples_and_colour(page, address):
    page.goto(address)
    sort_from_two(page)
    dialog = change(page, "ash")
    dialog.locator("#class-colour").fill("#ffee00")
    dialog.get_by_role("button", name="Use colour").click()
    expect(class_row(page, "ash")).to_have_attribute("style", "--colour: #ffee00;")
    change(page, "ash").get_by_role("button", name="Delete class").click()
    expect(class_row(page, "ash")).to_have_count(0)
    expect(page.locator("#csv")).to_be_disabled()
    page.locator("#toast").get_by_role("button", name="Undo").click()
    expect(examples_of(page, "ash")).to_contain_text("1 example")
    expect(class_row(page, "ash")).to_have_attribute("style", "--colour: #ffee00;")
    assert asked(address, "/project")["examples"] == {"ash/0.jpg": "ash", "birch/0.jpg": "birch"}
    said = "ash/0.jpg: your example of ash"
    expect(tile(page, "ash/0.jpg")).to_have_attribute("aria-label", said)


def test_a_class_is_renamed_and_merged(page, address):
    page.goto(address)
    sort_from_two(page)
    group(page, "ash").click()
    dialog = change(page, "ash")
    dialog.get_by_label("Name", exact=True).fill("Fraxinus")
    dialog.get_by_role("button", name="Rename").click()
    expect(examples_of(page, "Fraxinus")).to_contain_text("1 example")
    expect(group(page, "Fraxinus")).to_have_attribute("aria-pressed", "true")
    name_class(page, "elm")
    tile(page, "ash/3.jpg").click()
    expect(examples_of(page, "elm")).to_contain_text("1 example")
    dialog = change(page, "elm")
    dialog.get_by_label("Put all its examples into").select_option("Fraxinus")
    dialog.get_by_role("button", name="Merge").click()
    expect(examples_of(page, "Fraxinus")).to_contain_text("2 examples")
    expect(class_row(page, "elm")).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(examples_of(page, "elm")).to_contain_text("1 example")
    dialog = change(page, "elm")
    dialog.get_by_label("Name", exact=True).fill("Fraxinus")  # is taken
    dialog.get_by_role("button", name="Rename").click()
    expect(page.locator("#message")).to_contain_text("Fraxinus")
    expect(class_row(page, "elm")).to_have_count(1)


def test_two_tabs_see_each_other(context, page, address):
    other = context.new_page()
    page.goto(address)
    other.goto(address)
    sort_from_two(page)
    expect(class_row(other, "birch")).to_have_count(1)
    expect(label_of(other, "ash/0.jpg")).to_have_text("ash")
    expect(other.locator("#status")).to_contain_text("sorted from 2 examples")
    other.locator("#undo").click()
    expect(examples_of(page, "birch")).to_contain_text("0 examples")
    name_class(other, "elm")
    name_class(page, "oak")  # on top of a version it may not have seen
    for tab in (page, other):
        expect(tab.locator(".class .name")).to_have_text(["ash", "birch", "elm", "oak"])
    colours = [entry["colour"] for entry in asked(address, "/project")["classes"]]
    assert all(colour.startswith("#") for colour in colours)
