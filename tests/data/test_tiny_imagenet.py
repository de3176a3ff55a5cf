"""Tiny ImageNet as it is published, with and without the images set aside for validation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pseudoshot.data import describe, load
from pseudoshot.data.source import class_list
from pseudoshot.tools.errors import PseudoshotError

from .conftest import noise, save

CLASSES = class_list("tiny-imagenet", "val")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Two images for training of each class of the validation split, and one of another class."""
    place = tmp_path / "tiny-imagenet-200"
    others = class_list("tiny-imagenet", "train")[:1]
    for number, wnid in enumerate((*CLASSES, *others)):
        for image in range(2):
            file = place / "train" / wnid / "images" / f"{wnid}_{image}.JPEG"
            save(file, noise(2 * number + image, side=64))
        (place / "train" / wnid / f"{wnid}_boxes.txt").touch()
    return place


def set_aside(place: Path) -> None:
    """One image for validation of each class, and one of a class of another split."""
    lines = []
    for number, wnid in enumerate((*CLASSES, class_list("tiny-imagenet", "test")[0])):
        save(place / "val" / "images" / f"val_{number}.JPEG", noise(1000 + number, side=64))
        lines.append(f"val_{number}.JPEG\t{wnid}\t0\t0\t62\t62\n")
    (place / "val" / "val_annotations.txt").write_text("".join(lines))


def test_the_splits_share_no_class() -> None:
    splits = [class_list("tiny-imagenet", split) for split in ("train", "val", "test")]
    assert [len(split) for split in splits] == [138, 17, 45]
    assert len({wnid for split in splits for wnid in split}) == 200
    for split in ("val", "test"):
        assert set(class_list("tiny-imagenet", split)) <= set(class_list("tieredimagenet", split))


def test_the_images_for_training(place: Path) -> None:
    image_set = load("tiny-imagenet:val", root=place.parent)
    assert image_set.classes == CLASSES
    assert image_set.class_counts().tolist() == [2] * len(CLASSES)
    assert image_set.images.shape[1:] == (64, 64, 3)
    for file, label in zip(image_set.files, image_set.labels, strict=True):
        assert file.startswith(f"train/{image_set.classes[label]}/images/")


def test_nothing_is_cut_off(place: Path) -> None:
    framed = np.zeros((64, 64, 3), np.uint8)
    framed[1:-1, 1:-1] = 255
    save(place / "train" / CLASSES[0] / "images" / "0.png", framed)
    image_set = load("tiny-imagenet:val", root=place.parent)
    assert np.array_equal(image_set.images[0], framed)


def test_images_set_aside_for_validation_belong_to_their_class(place: Path) -> None:
    set_aside(place)
    image_set = load("tiny-imagenet:val", root=place.parent)
    assert image_set.class_counts().tolist() == [3] * len(CLASSES)
    labels = dict(zip(image_set.files, image_set.labels, strict=True))
    for number in range(len(CLASSES)):
        assert labels[f"val/images/val_{number}.JPEG"] == number


def test_they_may_have_been_moved_to_one_folder_per_class(place: Path) -> None:
    save(place / "val" / CLASSES[3] / "val_9.JPEG", noise(9, side=64))
    save(place / "val" / "images" / "val_8.JPEG", noise(8, side=64))  # its class is not known
    counts = load("tiny-imagenet:val", root=place.parent).class_counts()
    assert counts.tolist() == [3 if number == 3 else 2 for number in range(len(CLASSES))]


def test_describe_counts_what_load_reads(place: Path) -> None:
    set_aside(place)
    (row,) = (row for row in describe(place.parent) if row.name == "tiny-imagenet")
    assert [(s.split, s.classes, s.present, s.images) for s in row.splits] == [
        ("train", 138, 1, 2),
        ("val", 17, 17, 3 * 17),
        ("test", 45, 1, 1),
    ]


@pytest.mark.parametrize("content", [b"val_0.JPEG n01443537\n", b"\xff\xfe\t\xff"])
def test_a_list_of_something_else(place: Path, content: bytes) -> None:
    set_aside(place)
    (place / "val" / "val_annotations.txt").write_bytes(content)
    with pytest.raises(PseudoshotError, match=r"val_annotations.txt is not Tiny ImageNet's list"):
        load("tiny-imagenet:val", root=place.parent)
