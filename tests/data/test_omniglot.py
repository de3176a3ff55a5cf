"""Omniglot from folders and from archives, upright and turned."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pseudoshot.data import load
from pseudoshot.data.omniglot import PARTS
from pseudoshot.data.source import class_list
from pseudoshot.tools.errors import PseudoshotError


def zip_parts(place: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for part in PARTS:
        with zipfile.ZipFile(target / f"{part}.zip", "w") as archive:
            for file in (place / part).rglob("*.png"):
                archive.write(file, file.relative_to(place))


def test_the_characters_of_a_split_in_bright_ink_on_dark(omniglot_folder: Path) -> None:
    image_set = load("omniglot:test", root=omniglot_folder.parent, size=9)
    assert image_set.classes == class_list("omniglot", "test")
    assert image_set.class_counts().tolist() == [1] * 423
    file = omniglot_folder / image_set.files[7]
    assert image_set.classes[7] in image_set.files[7]
    ink = ~np.asarray(Image.open(file))
    assert np.array_equal(image_set.images[7, ..., 0], ink * np.uint8(255))
    assert image_set.channels == 1


def test_archives_equal_folders_wherever_they_lie(omniglot_folder: Path, tmp_path: Path) -> None:
    zip_parts(omniglot_folder, tmp_path / "zips" / "omniglot")
    zip_parts(omniglot_folder, tmp_path / "bare")
    sets = [
        load("omniglot:val", root=root)
        for root in (omniglot_folder.parent, tmp_path / "zips", tmp_path / "bare")
    ]
    assert sets[0].size == 28
    for other in sets[1:]:
        assert np.array_equal(sets[0].images, other.images)
        assert np.array_equal(sets[0].labels, other.labels)
        assert sets[0].files == other.files


def test_rotations_are_extra_classes(omniglot_folder: Path) -> None:
    upright = load("omniglot:val", root=omniglot_folder.parent)
    turned = load("omniglot:val", root=omniglot_folder.parent, rotations=True)
    classes = len(upright.classes)
    assert (upright.note, turned.note) == ("", "rotations as extra classes")
    assert len(turned.classes) == len(set(turned.classes)) == 4 * classes
    assert turned.classes[classes + 2] == f"{upright.classes[2]}/rot090"
    for turn in range(4):
        which = turned.labels == turn * classes + 2
        assert which.sum() == 1
        assert np.array_equal(turned.images[which][0], np.rot90(upright.images[2], turn))


def test_a_missing_character_is_named(omniglot_folder: Path) -> None:
    alphabet = class_list("omniglot", "val")[0].split("/")[0]
    for part in PARTS:
        shutil.rmtree(omniglot_folder / part / alphabet, ignore_errors=True)
    with pytest.raises(PseudoshotError, match=rf"are missing .* {alphabet}/character"):
        load("omniglot:val", root=omniglot_folder.parent)


def test_half_of_the_set_is_not_the_set(omniglot_folder: Path) -> None:
    shutil.rmtree(omniglot_folder / PARTS[1])
    with pytest.raises(PseudoshotError, match=r"images_evaluation\.zip"):
        load("omniglot", root=omniglot_folder.parent)


def test_a_damaged_drawing_is_skipped_and_a_damaged_archive_refused(
    omniglot_folder: Path, tmp_path: Path
) -> None:
    zip_parts(omniglot_folder, tmp_path / "omniglot")
    archive = tmp_path / "omniglot" / "images_evaluation.zip"
    content = bytearray(archive.read_bytes())
    start = content.index(b"IDAT", content.index(b"Angelic/character01"))
    content[start + 6] ^= 0xFF  # no longer what its checksum says
    archive.write_bytes(content)
    skipped = load("omniglot:train", root=tmp_path).skipped
    assert len(skipped) == 1
    assert "Angelic/character01" in skipped[0]
    assert "damaged in" in skipped[0]

    archive.write_bytes(content[:1000])
    with pytest.raises(PseudoshotError, match="download it again"):
        load("omniglot:train", root=tmp_path)
