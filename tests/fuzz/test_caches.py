"""Decoded sets that were damaged or made up: the images that were decoded, or one sentence."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pseudoshot.data import ImageSet, from_files, load
from pseudoshot.data.cache import ABOUT, DESCRIPTION, KEYS, LABELS, cache_folder
from pseudoshot.data.checked import DIGESTS
from pseudoshot.data.rows import IMAGES, PROGRESS
from pseudoshot.tools.errors import PseudoshotError

from .damage import damaged, one_sentence

FILES = (IMAGES, LABELS, KEYS, DESCRIPTION, DIGESTS, ABOUT)
TIMES = [16, pytest.param(200, marks=pytest.mark.slow)]  # of each file, in three ways


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    pixels = np.random.default_rng(0).integers(0, 256, (8, 6, 6, 3), np.uint8)
    for number, image in enumerate(pixels):
        (tmp_path / "photos" / "ab"[number % 2]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(tmp_path / "photos" / "ab"[number % 2] / f"{number}.png")
    (tmp_path / "photos" / "a" / "broken.png").write_bytes(b"no image")
    return tmp_path / "photos"


def same(found: ImageSet, expected: ImageSet) -> None:
    np.testing.assert_array_equal(found.images[:], expected.images)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert (found.classes, found.files, found.skipped) == (
        expected.classes,
        expected.files,
        expected.skipped,
    )


def read(photos: Path) -> ImageSet:
    """All of it in memory: nothing stays open."""
    found = load(str(photos), size=6)
    return ImageSet(
        found.name,
        np.array(found.images[:]),
        found.labels,
        found.classes,
        found.skipped,
        files=found.files,
    )


@pytest.mark.parametrize("times", TIMES, ids=["some", "thousands"])
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_set_is_never_another_set(photos: Path, name: str, times: int) -> None:
    expected = read(photos)
    (version,) = cache_folder().glob("decoded/*/*")
    file = version / name
    good = file.read_bytes()
    for content in damaged(good, times, 1):
        file.write_bytes(content)
        try:
            same(read(photos), expected)
        except PseudoshotError as error:
            one_sentence(error)
        if not file.exists() or file.read_bytes() != good:
            shutil.rmtree(version, ignore_errors=True)  # as the sentence says
            same(read(photos), expected)


@pytest.mark.parametrize("times", TIMES, ids=["some", "thousands"])
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_version_is_never_carried_on(photos: Path, name: str, times: int) -> None:
    """The folder changed, and rows may be taken over."""
    extra = photos / "a" / "9.png"
    Image.fromarray(np.full((6, 6, 3), 9, np.uint8)).save(extra)
    later = read(photos)
    extra.rename(photos.parent / "aside.png")
    shutil.rmtree(cache_folder())
    read(photos)
    shutil.copytree(cache_folder(), photos.parent / "kept")
    (photos.parent / "aside.png").rename(extra)
    relative = next(cache_folder().glob(f"decoded/*/*/{name}")).relative_to(cache_folder())
    good = (photos.parent / "kept" / relative).read_bytes()
    for content in damaged(good, times, 2):
        shutil.rmtree(cache_folder())
        shutil.copytree(photos.parent / "kept", cache_folder())
        (cache_folder() / relative).write_bytes(content)
        same(read(photos), later)


@pytest.mark.parametrize("times", TIMES, ids=["some", "thousands"])
@pytest.mark.parametrize("name", [IMAGES, PROGRESS])
def test_a_damaged_beginning_is_never_gone_on_with(
    photos: Path, name: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = read(photos)
    shutil.rmtree(cache_folder())
    monkeypatch.setattr(from_files, "SAVE_EVERY", 2)
    decode, seen = from_files._decode, []

    def interrupted(*arguments: object) -> object:
        seen.append(arguments)
        if len(seen) == 7:
            raise KeyboardInterrupt
        return decode(*arguments)

    monkeypatch.setattr(from_files, "_decode", interrupted)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    with pytest.raises(KeyboardInterrupt):
        read(photos)
    monkeypatch.setattr(from_files, "_decode", decode)
    shutil.copytree(cache_folder(), photos.parent / "kept")
    relative = next(cache_folder().glob(f"decoded/*/*/{name}")).relative_to(cache_folder())
    good = (photos.parent / "kept" / relative).read_bytes()
    for content in (good, *damaged(good, times, 3)):
        shutil.rmtree(cache_folder())
        shutil.copytree(photos.parent / "kept", cache_folder())
        (cache_folder() / relative).write_bytes(content)
        same(read(photos), expected)
