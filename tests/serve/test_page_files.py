"""Images that are added and removed, and what is taken away: folders, projects."""

from __future__ import annotations

import json
import re

from PIL import Image
from playwright.sync_api import expect

from tests.pictures import KINDS
from tests.serve.browsing import (
    asked,
    class_row,
    examples_of,
    label_of,
    name_class,
    shown,
    sort_from_two,
    tile,
)


def test_files_are_chosen_where_no_folder_is_served(page, without_images, trees, tmp_path):
    page.goto(without_images)
    expect(page.locator("#status")).to_have_text("No images yet.")
    page.locator("#files").set_input_files([trees / kind / "0.jpg" for kind in KINDS])
    expect(page.locator(".tile")).to_have_count(3)
    Image.new("RGB", (8, 8)).save(tmp_path / "whole.png")
    (tmp_path / "half.png").write_bytes((tmp_path / "whole.png").read_bytes()[:40])
    page.locator("#files").set_input_files(tmp_path / "half.png")
    expect(page.locator("#message")).to_contain_text("'half.png' cannot be read")
    expect(page.locator(".tile")).to_have_count(3)
    page.locator("#files").set_input_files([tmp_path / "half.png", tmp_path / "whole.png"])
    expect(page.locator("#message")).to_contain_text("'half.png' cannot be read")
    expect(page.locator(".tile")).to_have_count(4)  # the good one was taken in
    name_class(page, "dark")
    tile(page, "whole.png").click()
    name_class(page, "light")
    tile(page, "0.jpg").click()
    expect(page.locator("#status")).to_contain_text("sorted from 2 examples")
    page.locator("#files").set_input_files(tmp_path / "whole.png")
    expect(tile(page, "whole (2).png")).to_have_count(1)  # though the mouse is over the images
    page.reload()
    expect(label_of(page, "whole.png")).to_have_text("dark")

    tile(page, "whole (2).png").click(modifiers=["Control"])
    page.get_by_role("button", name="Remove 1 added image").click()
    expect(tile(page, "whole (2).png")).to_have_count(0)
    expect(page.locator(".tile")).to_have_count(4)
    expect(label_of(page, "whole.png")).to_have_text("dark")


def test_a_folder_keeps_its_relative_names(page, without_images, trees):
    page.goto(without_images)
    expect(page.locator("#status")).to_have_text("No images yet.")
    (trees.parent / "holiday" / "beach").mkdir(parents=True)
    for name in ("holiday/a.jpg", "holiday/beach/a.jpg"):
        (trees.parent / name).write_bytes((trees / "ash" / "0.jpg").read_bytes())
    (trees.parent / "holiday" / "notes.txt").write_text("no image")
    page.locator("#folder").set_input_files(trees.parent / "holiday")
    expect(page.locator(".tile")).to_have_count(2)
    assert sorted(shown(page)) == ["holiday/a.jpg", "holiday/beach/a.jpg"]


def test_a_dropped_folder_keeps_its_relative_names(page, without_images):
    page.goto(without_images)
    expect(page.locator("#status")).to_have_text("No images yet.")
    page.evaluate(
        """async () => {
          const canvas = Object.assign(document.createElement("canvas"), { width: 8, height: 8 });
          const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
          const file = (path) => ({
            isFile: true, name: path.split("/").at(-1), fullPath: path,
            file: (resolve) => resolve(new File([blob], path.split("/").at(-1))),
          });
          const folder = (path, inside) => ({
            isDirectory: true, name: path.split("/").at(-1), fullPath: path,
            createReader: () => {
              const parts = [inside.slice(0, 1), inside.slice(1), []];
              return { readEntries: (resolve) => resolve(parts.shift()) };
            },
          });
          const inner = [file("/trip/day 2/b.png"), file("/trip/day 2/c.txt")];
          const trip = folder("/trip", [file("/trip/a.png"), folder("/trip/day 2", inner)]);
          const event = new Event("drop", { bubbles: true, cancelable: true });
          event.dataTransfer = { types: ["Files"], items: [{ webkitGetAsEntry: () => trip }] };
          document.dispatchEvent(event);
        }"""
    )
    expect(page.locator(".tile")).to_have_count(2)
    assert sorted(shown(page)) == ["trip/a.png", "trip/day 2/b.png"]


def test_images_are_sorted_into_folders_on_the_servers_machine(page, address, tmp_path):
    page.goto(address)
    sort_from_two(page)
    page.get_by_text("Save the result").click()
    page.get_by_role("button", name="Sort into folders").click()
    dialog = page.locator("#folders-dialog")
    expect(dialog).to_contain_text(asked(address, "/images")["machine"])
    expect(dialog).to_contain_text("never moved")
    dialog.get_by_label("New folder").fill(str(tmp_path / "sorted"))
    dialog.get_by_label("Copies").check()
    dialog.get_by_role("button", name="Make folders").click()
    expect(page.locator("#folders-result")).to_contain_text(f"24 copies in {tmp_path / 'sorted'}")
    made = [path for path in (tmp_path / "sorted").rglob("*.jpg") if not path.is_symlink()]
    assert len(made) == 24
    assert {path.name for path in (tmp_path / "sorted").iterdir() if path.is_dir()} == {
        "ash",
        "birch",
    }
    (tmp_path / "sorted" / "mine.txt").write_text("precious")
    dialog.get_by_role("button", name="Make folders").click()
    expect(page.locator("#folders-result")).not_to_contain_text("Done")
    expect(page.locator("#folders-result")).to_contain_text(re.compile("exists|not empty|another"))


def test_the_project_is_one_file_and_comes_back(page, address, tmp_path):
    page.goto(address)
    sort_from_two(page)
    page.get_by_text("Project", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save project to a file").click()
    file = tmp_path / download.value.suggested_filename
    assert file.name == "trees.pseudoshot.json"
    download.value.save_as(file)
    page.get_by_role("button", name="Start over").click()
    expect(page.locator("#classes li")).to_have_count(0)
    page.locator("#import-file").set_input_files(file)
    expect(examples_of(page, "birch")).to_contain_text("1 example")
    expect(page.locator("#status")).to_contain_text("sorted from 2 examples")
    broken = json.loads(file.read_text())
    broken["examples"] = {"ash/0.jpg": "oak"}
    file.write_text(json.dumps(broken))
    page.locator("#import-file").set_input_files(file)
    expect(page.locator("#message")).to_be_visible()
    expect(class_row(page, "birch")).to_have_count(1)
