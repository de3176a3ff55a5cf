"""CUB, miniImageNet and tieredImageNet in each of their layouts."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pseudoshot.data import describe, load
from pseudoshot.data.source import class_list
from pseudoshot.tools.errors import PseudoshotError

from .conftest import noise, save

IMAGES = 2


def fill(folder: Path, name: str, split: str, *, flat: bool = False) -> np.ndarray:
    """Two images of 84 pixels for each class of a split; the images, class after class."""
    classes = class_list(name, split)
    images = [noise(number, side=84) for number in range(IMAGES * len(classes))]
    for number, image in enumerate(images):
        wnid = classes[number // IMAGES]
        file = f"{wnid}{number:08d}.png" if flat else f"{wnid}/{number:08d}.png"
        save(folder / file, image, compress_level=0)
    return np.stack(images)


def write_pickle(path: Path, split: str, images: np.ndarray, key: Any = str) -> None:
    classes = class_list("miniimagenet", split)
    order = np.random.default_rng(0).permutation(len(images))
    places = np.argsort(order).reshape(-1, IMAGES)
    content = {
        "image_data": images[order],
        "class_dict": {key(wnid): list(row) for wnid, row in zip(classes, places, strict=True)},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(content, protocol=2))


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("miniimagenet", "miniimagenet"),
        ("miniimagenet", "mini-imagenet/images"),
        ("miniimagenet", "miniImageNet/test"),
        ("cub", "CUB_200_2011/images"),
        ("tieredimagenet", "tiered_imagenet"),
        ("tieredimagenet", "tieredimagenet/test"),
    ],
)
def test_every_layout_gives_the_classes_of_the_split(
    tmp_path: Path, name: str, layout: str
) -> None:
    fill(tmp_path / layout, name, "test")
    save(tmp_path / layout / "n99999999" / "other.png", noise(0))
    image_set = load(name, split="test", root=tmp_path)
    assert image_set.classes == class_list(name, "test")
    assert image_set.class_counts().tolist() == [IMAGES] * len(image_set.classes)
    assert image_set.images.shape[1:] == (84, 84, 3)
    for file, label in zip(image_set.files, image_set.labels, strict=True):
        assert f"{image_set.classes[label]}/" in file


@pytest.mark.parametrize("flat", [False, True])
def test_describe_counts_what_is_on_disk(tmp_path: Path, flat: bool) -> None:
    fill(tmp_path / "miniimagenet" / "images", "miniimagenet", "val", flat=flat)
    (row,) = (row for row in describe(tmp_path) if row.name == "miniimagenet")
    assert row.place == tmp_path / "miniimagenet"
    assert [(s.split, s.classes, s.present, s.images, s.published) for s in row.splits] == [
        ("train", 64, 0, 0, False),
        ("val", 16, 16, 16 * IMAGES, False),
        ("test", 20, 0, 0, False),
    ]


@pytest.mark.parametrize("layout", ["miniimagenet", "miniimagenet/images"])
def test_flat_images_are_told_apart_by_name(tmp_path: Path, layout: str) -> None:
    folders, flat = tmp_path / "folders", tmp_path / "flat"
    fill(folders / layout, "miniimagenet", "val")
    fill(flat / layout, "miniimagenet", "val", flat=True)
    first, second = (load("miniimagenet:val", root=root) for root in (folders, flat))
    assert np.array_equal(first.images, second.images)
    assert np.array_equal(first.labels, second.labels)


@pytest.mark.parametrize("key", [str, str.encode])
def test_the_pickle_holds_the_same_images(tmp_path: Path, key: Any) -> None:
    images = fill(tmp_path / "folders" / "miniimagenet", "miniimagenet", "val")
    path = tmp_path / "pickles" / "miniimagenet" / "mini-imagenet-cache-val.pkl"
    write_pickle(path, "val", images, key)
    pickled = load("miniimagenet:val", root=tmp_path / "pickles")
    folders = load("miniimagenet:val", root=tmp_path / "folders")
    assert np.array_equal(pickled.images, images)
    assert np.array_equal(pickled.labels, folders.labels)
    assert pickled.classes == folders.classes
    assert load("miniimagenet:val", root=tmp_path / "pickles", size=42).size == 42


def test_photographs_lose_their_border(tmp_path: Path) -> None:
    """The protocol: short side to 92, then the central 84."""
    for name in class_list("cub", "val"):
        framed = np.zeros((184, 184, 3), np.uint8)
        framed[6:-6, 6:-6] = (200, 100, 50)
        save(tmp_path / "CUB_200_2011" / "images" / name / "1.png", framed)
    images = load("cub:val", root=tmp_path).images
    assert np.abs(images.astype(int) - (200, 100, 50)).max() <= 5


def test_missing_classes_are_counted_and_whole_splits_named(tmp_path: Path) -> None:
    fill(tmp_path / "CUB_200_2011" / "images", "cub", "test")
    save(tmp_path / "CUB_200_2011" / "images" / class_list("cub", "train")[0] / "1.png", noise(0))
    with pytest.raises(PseudoshotError) as caught:
        load("cub", split="train", root=tmp_path)
    message = str(caught.value)
    assert "'cub:train' has 100 classes, of which 99 are missing" in message
    assert class_list("cub", "train")[1] in message
    assert "complete there: test" in message
    assert "CUB_200_2011.tgz" in message


class Opens:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_a_malicious_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    path = tmp_path / "miniimagenet" / "mini-imagenet-cache-test.pkl"
    path.parent.mkdir()
    path.write_bytes(pickle.dumps({"image_data": Opens(tmp_path / "trap"), "class_dict": {}}))
    with pytest.raises(PseudoshotError, match="which a miniImageNet cache file never does"):
        load("miniimagenet:test", root=tmp_path)
    assert not (tmp_path / "trap").exists()


@pytest.mark.parametrize(
    "content",
    [
        {"images": 1},
        {"image_data": np.zeros((2, 84, 84, 3), np.uint8), "class_dict": {"n1": [0, 1]}},
        {"image_data": np.zeros((2, 84, 84, 3), np.uint8), "class_dict": [0, 1]},
    ],
)
def test_a_pickle_of_something_else(tmp_path: Path, content: dict[str, Any]) -> None:
    path = tmp_path / "miniimagenet" / "mini-imagenet-cache-test.pkl"
    path.parent.mkdir()
    path.write_bytes(pickle.dumps(content, protocol=4))
    with pytest.raises(PseudoshotError, match="is not a miniImageNet cache file"):
        load("miniimagenet:test", root=tmp_path)
