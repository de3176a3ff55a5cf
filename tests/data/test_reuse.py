"""A folder that changed: what did not is taken over, and nothing that is damaged."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from pseudoshot.data import cache, checked, decode, from_files, load
from pseudoshot.data.rows import IMAGES, PROGRESS

from .conftest import noise, save


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PSEUDOSHOT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "decoded"


def read(photos: Path) -> tuple[np.ndarray, list[str], list[int]]:
    """What is found at the images' own size, as it must be whatever the cache did."""
    found = load(str(photos), size=12)
    assert found.labels is not None
    pixels = np.array(found.images)
    for image, name in zip(pixels, found.files, strict=True):
        expected = decode.decode(photos / name, 12)
        np.testing.assert_array_equal(np.broadcast_to(image, expected.shape), expected)
    assert [found.classes[label] for label in found.labels] == [
        n.split("/")[0] for n in found.files
    ]
    return pixels, list(found.files), found.labels.tolist()


def decodes(photos: Path, seen: list[object]) -> int:
    """How many images the cache decodes for another look, of which every image is right."""
    seen.clear()
    load(str(photos), size=12)
    count = len(seen)
    read(photos)
    return count


def add(photos: Path) -> None:
    save(photos / "cat" / "11.png", noise(11))


def add_the_first(photos: Path) -> None:
    save(photos / "ant" / "0.png", noise(12))


def change(photos: Path) -> None:
    os.utime(save(photos / "dog" / "4.png", noise(44)), ns=(1, 1))


def change_two_of_a_size(photos: Path) -> None:
    first, second = photos / "cat" / "0.png", photos / "dog" / "3.png"
    first.write_bytes(second.read_bytes())
    os.utime(first, ns=(5, 5))


def remove(photos: Path) -> None:
    (photos / "cat" / "1.png").unlink()


def rename(photos: Path) -> None:
    (photos / "cat" / "2.png").rename(photos / "dog" / "2.png")


def swap(photos: Path) -> None:
    for old, new in (("0", "x"), ("1", "0"), ("x", "1")):
        (photos / "cat" / f"{old}.png").rename(photos / "cat" / f"{new}.png")


def lose_a_class(photos: Path) -> None:
    for file in (photos / "cat").iterdir():
        file.unlink()


def nothing(photos: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("alter", "expected"),
    [
        *(
            (nothing, 0),
            (add, 1),
            (add_the_first, 1),
            (change, 1),
            (change_two_of_a_size, 1),
            (remove, 0),
        ),
        *((rename, 1), (swap, 2), (lose_a_class, 0)),
    ],
)
def test_what_did_not_change_is_not_decoded_again(
    photos: Path, decoded: list[object], kept: Path, alter, expected: int
) -> None:
    for number in range(6):  # a size and a time of its own for each
        os.utime(photos / ("cat", "dog")[number // 3] / f"{number}.png", ns=(number, 1000 + number))
    load(str(photos), size=12)
    alter(photos)
    assert decodes(photos, decoded) == expected
    assert len(list(kept.glob("*/*"))) == 1, "and no earlier version stays"
    assert decodes(photos, decoded) == 0


def test_a_version_that_is_open_stays_until_it_is_not(photos: Path, kept: Path) -> None:
    first = load(str(photos), size=12)
    before = np.array(first.images)
    add(photos)
    second = load(str(photos), size=12)
    assert len(list(kept.glob("*/*"))) == 2
    np.testing.assert_array_equal(first.images, before)
    del first, second
    remove(photos)
    load(str(photos), size=12)
    assert len(list(kept.glob("*/*"))) == 1


def test_a_damaged_block_is_decoded_again_and_no_other(
    photos: Path, decoded: list[object], kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked, "BLOCK", 2 * 12 * 12 * 3)  # two images each
    load(str(photos), size=12)
    with next(kept.glob(f"*/*/{IMAGES}")).open("r+b") as file:
        file.seek(2 * 12 * 12 * 3 + 5)
        file.write(b"\xaa\x55\xaa\x55")
    add(photos)
    assert decodes(photos, decoded) == 1 + 2


@pytest.mark.parametrize("name", [cache.KEYS, cache.DESCRIPTION, checked.DIGESTS])
def test_of_a_damaged_version_nothing_is_taken_over(
    photos: Path, decoded: list[object], kept: Path, name: str
) -> None:
    load(str(photos), size=12)
    file = next(kept.glob(f"*/*/{name}"))
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    add(photos)
    assert decodes(photos, decoded) == 7


def test_gray_images_become_colour_and_gray_again(tmp_path: Path, decoded: list[object]) -> None:
    photos = tmp_path / "gray"
    for number in range(4):
        save(photos / "a" / f"{number}.png", noise(number, channels=1))
    assert load(str(photos), size=12).channels == 1
    colour = save(photos / "a" / "9.png", noise(9))
    assert decodes(photos, decoded) == 1
    assert load(str(photos), size=12).channels == 3
    colour.unlink()
    assert decodes(photos, decoded) == 0
    assert load(str(photos), size=12).channels == 1


def test_what_could_not_be_read_is_tried_again_when_it_changed_or_can_be_read_now(
    photos: Path, decoded: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = photos / "cat" / "bad.png"
    broken.write_bytes(b"nonsense")
    load(str(photos), size=12)
    add(photos)
    assert decodes(photos, decoded) == 1, "the new one alone"
    assert load(str(photos), size=12).skipped == ("cat/bad.png: not an image",)
    monkeypatch.setattr(decode, "formats", lambda: ("PNG", "JPEG", "OTHER"))
    monkeypatch.setattr(decode, "_reason", lambda *_: "read in vain")
    decoded.clear()
    assert load(str(photos), size=12).skipped == ("cat/bad.png: read in vain",)
    assert decoded == [broken]
    save(broken, noise(7))
    assert decodes(photos, decoded) == 1
    assert load(str(photos), size=12).skipped == ()


def test_an_interrupted_update_goes_on_where_it_was(
    photos: Path, decoded: list[object], monkeypatch: pytest.MonkeyPatch, kept: Path
) -> None:
    monkeypatch.setattr(from_files, "SAVE_EVERY", 2)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    load(str(photos), size=12)
    for number in range(20, 40):
        save(photos / "cow" / f"{number}.png", noise(number))
    spied = decode.decode

    def interrupted(file: object, size: int, zoom: float = 1.0) -> np.ndarray:
        if len(decoded) == 6 + 15:
            raise KeyboardInterrupt
        return spied(file, size, zoom)

    monkeypatch.setattr(decode, "decode", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load(str(photos), size=12)
    monkeypatch.setattr(decode, "decode", spied)
    assert len(list(kept.glob(f"*/*/{PROGRESS}"))) == 1
    assert decodes(photos, decoded) < 20 - 4
    assert len(read(photos)[1]) == 26


@pytest.mark.parametrize("file", [IMAGES, PROGRESS])
def test_the_beginning_of_a_build_is_not_trusted_when_it_was_changed(
    photos: Path, decoded: list[object], monkeypatch: pytest.MonkeyPatch, kept: Path, file: str
) -> None:
    monkeypatch.setattr(from_files, "SAVE_EVERY", 1)
    monkeypatch.setattr(cache, "write_digests", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    unlink = Path.unlink
    monkeypatch.setattr(
        Path, "unlink", lambda p, **k: None if p.name == PROGRESS else unlink(p, **k)
    )
    with pytest.raises(KeyboardInterrupt):
        load(str(photos), size=12)
    monkeypatch.undo()
    monkeypatch.setenv("PSEUDOSHOT_CACHE", str(kept.parent))
    path = next(kept.glob(f"*/*.partial/{file}"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    read(photos)


def test_sets_of_one_folder_do_not_push_each_other_out(photos: Path, decoded: list[object]) -> None:
    """Two sizes, and with and without an image that lies beside the class folders."""
    save(photos / "loose.png", noise(50))
    every = [(size, labelled) for size in (8, 12) for labelled in (True, False)]
    first = [load(str(photos), size=size, labelled=labelled) for size, labelled in every]
    assert [len(images) for images in first] == [6, 7, 6, 7]
    decoded.clear()
    for size, labelled in every:
        load(str(photos), size=size, labelled=labelled)
    assert decoded == []
