"""Decoded images: read as any array is, unless a byte of what is read has changed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pseudoshot.data import checked
from pseudoshot.data.checked import DIGESTS, open_images, read_digests, write_digests
from pseudoshot.tools.errors import PseudoshotError

SHAPE = (23, 4, 4, 3)
PIXELS = np.random.default_rng(0).integers(0, 256, SHAPE, np.uint8)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked, "BLOCK", 5 * 48)  # five images each, the last of three


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path)


def written(folder: Path) -> Path:
    PIXELS.tofile(folder / "images.bin")
    (folder / "set.json").write_text("{}")
    write_digests(folder, "images.bin", len(PIXELS), ["set.json"])
    return folder


def opened(folder: Path) -> checked.CheckedImages:
    return open_images(folder / "images.bin", SHAPE, read_digests(folder))


def flip(folder: Path, image: int) -> None:
    with (folder / "images.bin").open("r+b") as file:
        file.seek(image * 48 + 7)
        (byte,) = file.read(1)
        file.seek(image * 48 + 7)
        file.write(bytes([byte ^ 1]))


rows = st.lists(st.integers(-23, 22), min_size=1, max_size=6)
indices = st.one_of(
    st.integers(-23, 22),
    st.slices(23),
    rows.map(np.array),
    st.lists(st.booleans(), min_size=23, max_size=23).map(np.array),
    st.tuples(st.integers(-23, 22), st.integers(0, 3)),
    st.just(Ellipsis),
)


@given(indices)
def test_it_reads_as_any_array(tmp_path_factory: pytest.TempPathFactory, index: object) -> None:
    images = opened(written(tmp_path_factory.mktemp("set")))
    np.testing.assert_array_equal(images[index], PIXELS[index])


@given(indices, st.integers(0, 22))
def test_what_is_read_of_a_changed_block_is_refused(
    tmp_path_factory: pytest.TempPathFactory, index: object, changed: int
) -> None:
    folder = written(tmp_path_factory.mktemp("set"))
    flip(folder, changed)
    touched = np.arange(23)[index[0] if isinstance(index, tuple) else index]
    images = opened(folder)
    if changed // 5 in np.atleast_1d(touched) // 5:
        with pytest.raises(PseudoshotError, match="are not what was written: delete that folder"):
            images[index]
    else:
        np.testing.assert_array_equal(images[index], PIXELS[index])


def test_a_block_is_compared_once(folder: Path) -> None:
    images = opened(folder)
    np.testing.assert_array_equal(images[:5], PIXELS[:5])
    flip(folder, 2)
    assert images[2].sum() != 0, "known already"
    flip(folder, 7)
    with pytest.raises(PseudoshotError):
        images[7]


@pytest.mark.parametrize(
    "damage",
    [
        lambda f: (f / "set.json").write_text("{ }"),
        lambda f: (f / DIGESTS).write_text("{"),
        lambda f: (f / DIGESTS).write_text(json.dumps({"files": {}, "rows": 5, "blocks": [1]})),
    ],
)
def test_other_files_that_changed_make_a_set_unusable(folder: Path, damage) -> None:
    damage(folder)
    with pytest.raises(ValueError, match=r"."):
        opened(folder)
