"""CIFAR-FS and FC100 from a small CIFAR-100 in the official form."""

from __future__ import annotations

import os
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pseudoshot.data import load
from pseudoshot.data.cifar import FILES, FOLDER
from pseudoshot.data.source import class_list
from pseudoshot.tools.errors import PseudoshotError

NAMES = sorted(name for split in ("train", "val", "test") for name in class_list("cifar-fs", split))


def write(path: Path, content: dict[bytes, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(content, protocol=2))


def part(seed: int, images_a_class: int) -> dict[bytes, Any]:
    """Images whose first pixel is (class, 0, seed)."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(100), images_a_class))
    data = rng.integers(0, 256, (len(labels), 3, 32, 32), dtype=np.uint8)
    data[:, 0, 0, 0], data[:, 1, 0, 0], data[:, 2, 0, 0] = labels, 0, seed
    return {b"data": data.reshape(len(labels), -1), b"fine_labels": labels.tolist()}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("cifar")
    write(root / FOLDER / "meta", {b"fine_label_names": [name.encode() for name in NAMES]})
    write(root / FOLDER / "train", part(1, 3))
    write(root / FOLDER / "test", part(2, 1))
    return root


@pytest.fixture(scope="module")
def archive_root(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    other = tmp_path_factory.mktemp("archive")
    with tarfile.open(other / f"{FOLDER}.tar.gz", "w:gz") as archive:
        for name in FILES:
            archive.add(root / FOLDER / name, f"{FOLDER}/{name}")
    return other


@pytest.mark.parametrize("name", ["cifar-fs", "fc100"])
@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_both_files_are_pooled_by_class_name(root: Path, name: str, split: str) -> None:
    image_set = load(name, split=split, root=root)
    assert image_set.classes == class_list(name, split)
    assert image_set.class_counts().tolist() == [4] * len(image_set.classes)
    red, green, blue = image_set.images[:, 0, 0].T
    assert [NAMES[number] for number in red] == [image_set.classes[i] for i in image_set.labels]
    assert not green.any()
    assert blue.tolist() == [1, 1, 1, 2] * len(image_set.classes)


def test_pixels_keep_their_places(root: Path) -> None:
    row = pickle.loads((root / FOLDER / "test").read_bytes())
    first = row[b"fine_labels"].index(NAMES.index("baby"))
    image = load("cifar-fs:test", root=root).images[3]
    assert np.array_equal(image[5, 7], row[b"data"][first].reshape(3, 32, 32)[:, 5, 7])


def test_folder_and_archive_are_equal(root: Path, archive_root: Path) -> None:
    folder, archive = (load("fc100:val", root=place) for place in (root, archive_root))
    assert np.array_equal(folder.images, archive.images)
    assert np.array_equal(folder.labels, archive.labels)


def test_another_size(root: Path) -> None:
    images = load("cifar-fs:test", root=root, size=16).images
    assert images.shape == (80, 16, 16, 3)
    whole = load("cifar-fs:test", root=root).images
    assert np.abs(images.mean((1, 2)) - whole.mean((1, 2))).max() < 4


class Opens:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_a_malicious_file_is_refused_and_not_run(root: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    for name in FILES:
        write(tmp_path / FOLDER / name, pickle.loads((root / FOLDER / name).read_bytes()))
    write(tmp_path / FOLDER / "train", {b"data": Opens(trap)})
    with pytest.raises(PseudoshotError, match="mkdir, which a CIFAR file never does"):
        load("cifar-fs", root=tmp_path)
    assert not trap.exists()


def test_a_cut_off_archive(archive_root: Path, tmp_path: Path) -> None:
    whole = (archive_root / f"{FOLDER}.tar.gz").read_bytes()
    (tmp_path / f"{FOLDER}.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(PseudoshotError, match=r"cifar-100-python\.tar\.gz from the CIFAR page"):
        load("cifar-fs", root=tmp_path)


def test_cifar_10_is_not_cifar_100(root: Path, tmp_path: Path) -> None:
    for name in FILES:
        write(tmp_path / FOLDER / name, {b"label_names": [b"cat"]})
    with pytest.raises(PseudoshotError, match="does not hold CIFAR-100"):
        load("cifar-fs", root=tmp_path)
