"""What hands do: selecting, the large view, keys, searching, sorting, sizes."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.serve.browsing import (
    class_row,
    examples_of,
    group,
    name_class,
    shown,
    sort_from_two,
    tile,
    wait_until,
)


def selected(page):
    return page.locator('.tile[aria-selected="true"]')


def test_several_images_are_selected_and_put_into_a_class(page, address):
    page.goto(address)
    name_class(page, "ash")
    tile(page, "ash/2.jpg").click(modifiers=["Control"])
    tile(page, "ash/4.jpg").click(modifiers=["Control"])
    expect(page.locator("#selected")).to_have_text("2 images selected")
    tile(page, "ash/4.jpg").click(modifiers=["Control"])
    expect(selected(page)).to_have_count(1)
    tile(page, "ash/2.jpg").click(modifiers=["Control"])
    files = shown(page)
    page.locator(".tile").nth(0).click(modifiers=["Control"])
    page.locator(".tile").nth(5).click(modifiers=["Shift"])
    expect(selected(page)).to_have_count(6)
    page.keyboard.press("1")
    expect(examples_of(page, "ash")).to_have_text("6 examples")
    expect(page.locator("#undo")).to_contain_text("6 images")  # one step
    expect(selected(page)).to_have_count(0)
    for file in files[:6]:
        expect(tile(page, file)).to_contain_text("example")
    page.locator(".tile").nth(2).click(modifiers=["Control"])
    page.get_by_role("button", name="No class").click()
    expect(examples_of(page, "ash")).to_have_text("5 examples")


def test_an_image_stays_where_it_is_pressed_while_a_new_page_is_sorted(page, address):
    page.goto(address)
    sort_from_two(page)
    held = []
    page.route("**/sort", lambda route: held.append(route))
    page.reload()
    expect(tile(page, "ash/4.jpg")).to_have_count(1)
    before = shown(page)
    wait_until(page, lambda: held)
    tile(page, "ash/4.jpg").hover()
    page.keyboard.down("Control")
    page.mouse.down()
    held[0].continue_()
    expect(page.locator("#fresh")).to_be_visible()
    assert shown(page) == before
    page.mouse.up()
    expect(selected(page)).to_have_attribute("title", "ash/4.jpg")
    page.locator("#fresh").click()
    expect(page.locator("#fresh")).to_be_hidden()
    assert shown(page) != before


def test_a_frame_selects_what_it_meets(page, address):
    page.goto(address)
    name_class(page, "ash")
    first, far = page.locator(".tile").nth(0), page.locator(".tile").nth(8)
    start, end = first.bounding_box(), far.bounding_box()
    page.mouse.move(start["x"] - 6, start["y"] + 30)
    page.mouse.down()
    page.mouse.move(start["x"] + 40, start["y"] + 60)
    page.mouse.move(end["x"] + 20, end["y"] + 20)
    page.mouse.up()
    columns = round((page.locator("#grid").bounding_box()["width"] + 12) / (start["width"] + 12))
    expect(selected(page)).to_have_count(2 * (8 % columns + 1))
    page.keyboard.press("Escape")
    expect(selected(page)).to_have_count(0)
    expect(examples_of(page, "ash")).to_have_text("0 examples")  # a frame is no click
    selection = page.locator(".tile").nth(1)
    selection.click(modifiers=["Control"])
    page.locator(".tile").nth(2).click(modifiers=["Control"])
    selection.drag_to(class_row(page, "ash"))
    expect(examples_of(page, "ash")).to_have_text("2 examples")


def test_the_large_view_is_walked_and_labelled_by_keys(page, address):
    page.goto(address)
    sort_from_two(page)
    page.locator("#sort").select_option("name")
    page.locator(".tile").first.focus()
    page.keyboard.press("Space")
    expect(page.locator("#large-name")).to_have_text("ash/0.jpg")
    page.wait_for_function("document.getElementById('large-picture').naturalWidth > 0")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#large-name")).to_have_text("ash/1.jpg")
    page.keyboard.press("2")
    expect(page.locator("#large-label")).to_have_text("your example of birch")
    page.keyboard.press("Delete")
    expect(page.locator("#large-label")).to_contain_text("% certain")
    page.keyboard.press("1")
    expect(page.locator("#large-label")).to_have_text("your example of ash")
    page.keyboard.press("Control+z")
    expect(page.locator("#large-label")).to_contain_text("% certain")
    page.keyboard.press("Escape")
    expect(page.locator("#large")).to_be_hidden()
    expect(tile(page, "ash/1.jpg")).to_be_focused()


def test_a_double_click_looks_and_labels_nothing(page, address):
    page.goto(address)
    sort_from_two(page)
    tile(page, "elm/3.jpg").dblclick()
    expect(page.locator("#large-name")).to_have_text("elm/3.jpg")
    expect(examples_of(page, "birch")).to_contain_text("1 example")
    expect(page.locator("#large-label")).to_contain_text("% certain")
    page.get_by_role("button", name="close").first.click()
    expect(page.locator("#undo")).to_contain_text("label 1 image")
    page.keyboard.press("Control+z")  # what was done before, not the click
    expect(examples_of(page, "birch")).to_contain_text("0 examples")


def test_all_of_it_by_keys(page, address):
    page.goto(address)
    expect(page.locator(".tile")).to_have_count(24)
    page.locator("#class-name").focus()
    for name in ("ash", "elm"):
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        expect(class_row(page, name)).to_have_count(1)
        expect(page.locator("#class-name")).to_be_focused()
    page.locator(".tile").nth(3).focus()
    third = shown(page)[3]
    page.keyboard.press("1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("2")
    expect(page.locator("#status")).to_contain_text("sorted from 2 examples")
    assert page.evaluate("document.activeElement.title") == shown(page)[4]
    page.keyboard.press("ArrowLeft")
    expect(tile(page, third)).to_be_focused()  # nothing has moved
    page.keyboard.press("s")
    expect(page.locator(".tile").first).to_be_focused()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    assert selected(page).count() > 2
    page.keyboard.press("Control+a")
    expect(selected(page)).to_have_count(24)
    page.keyboard.press("Escape")
    group(page, "elm").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.group") == "elm"
    class_row(page, "ash").locator(".pick").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.closest('.class').dataset.label") == "ash"
    page.keyboard.press("/")
    expect(page.get_by_label("Search file names")).to_be_focused()


def test_search_order_and_size(page, address):
    page.goto(address)
    sort_from_two(page)
    page.get_by_label("Search file names").fill("ELM/")
    expect(page.locator(".tile")).to_have_count(8)
    assert all(file.startswith("elm/") for file in shown(page))
    page.get_by_label("Search file names").fill("no such file")
    expect(page.get_by_text("No images here.")).to_be_visible()
    page.get_by_label("Search file names").fill("")
    page.locator("#sort").select_option("certain")
    expect(page.locator(".tile")).to_have_count(24)

    def sure() -> list[int]:
        return [int(text.split()[0]) for text in page.locator(".sure").all_inner_texts()[:-2]]

    wait_until(page, lambda: sure() == sorted(sure(), reverse=True))
    page.locator("#sort").select_option("name")
    wait_until(page, lambda: shown(page) == sorted(shown(page)))
    tile(page, "birch/1.jpg").click()
    expect(page.locator("#status")).to_contain_text("sorted from 3 examples")
    expect(page.locator("#fresh")).to_be_hidden()  # the order is the same
    before = page.locator(".tile").first.bounding_box()["width"]
    page.get_by_label("Size").fill("240")
    page.wait_for_function(
        "before => document.querySelector('.tile').offsetWidth > before + 50", arg=before
    )
