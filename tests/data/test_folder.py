"""Folders as people have them: nested, mixed, hidden, broken, empty."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from pseudoshot.data import from_files, load
from pseudoshot.tools.console import console
from pseudoshot.tools.errors import PseudoshotError

from .conftest import noise, save


def test_subfolders_are_classes(photos: Path) -> None:
    image_set = load(str(photos), size=12)
    assert image_set.classes == ("cat", "dog")
    assert image_set.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert image_set.files[:2] == ("cat/0.png", "cat/1.png")
    assert np.array_equal(image_set.images, [noise(number) for number in range(6)])


def test_the_default_size_is_64(photos: Path) -> None:
    assert load(str(photos)).images.shape == (6, 64, 64, 3)


def test_the_class_is_the_first_level_however_deep(tmp_path: Path) -> None:
    save(tmp_path / "bird" / "a" / "b" / "1.png", noise(1))
    save(tmp_path / "fish" / "2.PNG", noise(2))
    assert load(str(tmp_path), size=8).classes == ("bird", "fish")


def test_one_image_beside_the_subfolders_leaves_all_unlabelled(photos: Path) -> None:
    save(photos / "loose.png", noise(7))
    image_set = load(str(photos), size=8)
    assert (len(image_set), image_set.labels, image_set.classes) == (7, None, ())


def test_where_labels_are_needed_an_image_beside_the_class_folders_is_passed_over(
    photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(photos / "loose.png", noise(7))
    image_set = load(str(photos), size=8, labelled=True)
    assert image_set.classes == ("cat", "dog")
    assert image_set.class_counts().tolist() == [3, 3]
    assert image_set.skipped == ("loose.png: beside the class folders, so of no class",)
    assert "loose.png: beside the class folders" in capsys.readouterr().err
    assert len(load(str(photos / "cat"), size=8, labelled=True)) == 3, "no class folders at all"


def test_an_empty_class_folder_is_named(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (photos / "cow" / "deep").mkdir(parents=True)
    (photos / "cow" / "notes.txt").write_text("later")
    (photos / ".hidden").mkdir()
    image_set = load(str(photos), size=8)
    assert (image_set.classes, image_set.skipped) == (("cat", "dog"), ("cow/: no images in it",))
    assert "cow/: no images in it" in capsys.readouterr().err


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Folders that may not be listed: tests may be run by somebody who may everything."""
    folders: list[Path] = []
    scandir = os.scandir

    def guarded(path: Path) -> object:
        if Path(path) in folders:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    return folders


def test_a_locked_folder_is_named_and_the_rest_goes_on(
    photos: Path, locked: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    save(photos / "cat" / "deep" / "7.png", noise(7))
    locked += [photos / "dog", photos / "cat" / "deep"]
    image_set = load(str(photos), size=8)
    assert image_set.files == ("cat/0.png", "cat/1.png", "cat/2.png")
    assert image_set.skipped == (
        "cat/deep/: cannot be listed (Permission denied)",
        "dog/: cannot be listed (Permission denied)",
    )
    assert "dog/: cannot be listed (Permission denied)" in capsys.readouterr().err
    locked.clear()
    assert len(load(str(photos), size=8)) == 7


def test_nothing_but_locked_folders(photos: Path, locked: list[Path]) -> None:
    locked += [photos / "dog", photos / "cat"]
    with pytest.raises(PseudoshotError, match=r"no images below .*; cat/: cannot be listed"):
        load(str(photos))
    locked += [photos]
    with pytest.raises(PseudoshotError, match="photos' cannot be listed: Permission denied"):
        load(str(photos))


@pytest.mark.skipif(not hasattr(os, "fork") or os.getuid() != 0, reason="drops its rights")
def test_somebody_without_rights_reads_what_is_not_locked(photos: Path, tmp_path: Path) -> None:
    """Really locked: a folder, and an image that is read as soon as it may be."""
    (photos / "dog").chmod(0o700)
    (photos / "cat" / "1.png").chmod(0o600)
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    (tmp_path / "cache").mkdir(mode=0o777)
    (tmp_path / "cache").chmod(0o777)

    def seen() -> str:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.setgid(65534)
            os.setuid(65534)
            os.environ["PSEUDOSHOT_CACHE"] = str(tmp_path / "cache")
            found = load(str(photos), size=8)
            os.write(writing, repr((len(found), found.skipped)).encode())
            os._exit(0)
        os.close(writing)
        os.waitpid(child, 0)
        with os.fdopen(reading) as answer:
            return answer.read()

    denied = "Permission denied"
    skipped = (f"dog/: cannot be listed ({denied})", f"cat/1.png: {denied}")
    assert seen() == repr((2, skipped))
    (photos / "cat" / "1.png").chmod(0o644)
    assert seen() == repr((3, skipped[:1]))


def test_hidden_files_and_other_files_are_ignored(photos: Path) -> None:
    save(photos / "cat" / ".hidden.png", noise(7))
    save(photos / ".thumbnails" / "8.png", noise(8))
    (photos / "cat" / "notes.txt").write_text("not an image")
    assert len(load(str(photos), size=8)) == 6


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_loops_of_links_end(photos: Path) -> None:
    (photos / "cat" / "again").symlink_to(photos)
    (photos / "dog" / "self").symlink_to(photos / "dog")
    assert len(load(str(photos), size=8)) == 6


def test_a_gray_set_has_one_channel(tmp_path: Path) -> None:
    gray = noise(1, channels=1)
    save(tmp_path / "gray" / "1.png", gray)
    save(tmp_path / "gray" / "2.png", np.stack([gray] * 3, axis=-1))
    image_set = load(str(tmp_path / "gray"), size=12)
    assert np.array_equal(image_set.images[..., 0], [gray, gray])
    assert image_set.channels == 1
    save(tmp_path / "gray" / "3.png", noise(3))
    assert load(str(tmp_path / "gray"), size=12).channels == 3


def test_unreadable_files_are_skipped_and_reported(
    photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("[a].png", "b.jpg", "c.gif", "d.png"):
        (photos / "cat" / name).write_bytes(b"nonsense")
    (photos / "dog" / "5.png").write_bytes((photos / "dog" / "5.png").read_bytes()[:200])
    image_set = load(str(photos), size=8)
    assert image_set.labels.tolist() == [0, 0, 0, 1, 1]
    assert image_set.skipped[0] == "cat/[a].png: not an image"
    assert len(image_set.skipped) == 5
    shown = " ".join(capsys.readouterr().err.split())
    assert "skipped 5 of 10 files that could not be read: cat/[a].png, cat/b.jpg" in shown
    assert "set.json)" in shown


def test_a_class_without_a_readable_image_is_no_class(photos: Path) -> None:
    (photos / "cow").mkdir()
    (photos / "cow" / "1.png").write_bytes(b"")
    image_set = load(str(photos), size=8)
    assert image_set.classes == ("cat", "dog")
    assert image_set.class_counts().tolist() == [3, 3]


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes only there")
def test_names_that_are_not_text_or_look_like_markup(
    photos: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_force_terminal", True)  # the progress bar is drawn
    (photos.parent / "[").mkdir()
    odd = photos.rename(photos.parent / "[" / "odd]")
    save(odd / "cat" / os.fsdecode(b"\xff.png"), noise(7))
    (odd / "cat" / os.fsdecode(b"\xfe.png")).write_bytes(b"")
    image_set = load(str(odd), size=8)
    assert os.fsdecode(b"cat/\xff.png") in image_set.files
    assert len(image_set.skipped) == 1


def test_a_folder_without_a_readable_image(tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"")
    with pytest.raises(PseudoshotError, match=r"none of the 1 images .* bad\.png: not an image"):
        load(str(tmp_path))


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(PseudoshotError, match="no images below"):
        load(str(tmp_path))


def test_a_file_instead_of_a_folder(photos: Path) -> None:
    with pytest.raises(PseudoshotError, match="is a file"):
        load(str(photos / "cat" / "0.png"))


def test_a_folder_has_no_splits(photos: Path) -> None:
    assert len(load(str(photos), split="test", size=8)) == 6
    with pytest.raises(PseudoshotError, match="a folder has no splits"):
        load(f"{photos}:test")


@pytest.mark.skipif(os.name == "nt", reason="no colons in names there")
def test_a_folder_may_have_a_colon_in_its_name(photos: Path) -> None:
    renamed = photos.rename(photos.with_name("photos:test"))
    assert len(load(str(renamed), size=8)) == 6


def test_an_interrupted_decoding_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "photos"
    pixels = np.random.default_rng(0).integers(0, 256, (20, 9, 9, 3), dtype=np.uint8)
    for index, image in enumerate(pixels):
        save(folder / f"{index:02d}.png", image)
    (folder / "04.png").write_bytes(b"not an image")
    monkeypatch.setattr(from_files, "SAVE_EVERY", 3)
    opened: list[str] = []
    decode = from_files._decode

    def counted(image: from_files.Encoded, form: from_files.Form) -> object:
        opened.append(image.name)
        if len(opened) > 11 and not resumed:
            raise KeyboardInterrupt
        return decode(image, form)

    resumed = False
    monkeypatch.setattr(from_files, "_decode", counted)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    with pytest.raises(KeyboardInterrupt):
        load(str(folder), size=9)
    resumed, first = True, list(opened)
    opened.clear()
    images = load(str(folder), size=9)
    assert len(opened) < len(first) + 3, "what was decoded and saved is not decoded again"
    assert opened[0] == "09.png"
    assert images.files == tuple(f"{index:02d}.png" for index in range(20) if index != 4)
    assert np.array_equal(images.images, np.delete(pixels, 4, 0))
    assert images.skipped == ("04.png: not an image",)
