"""CIFAR-FS and FC100: two ways to split the classes of CIFAR-100 (train and test files pooled)."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from pseudoshot.data import safe_pickle
from pseudoshot.data.from_arrays import load_arrays
from pseudoshot.data.image_set import ImageSet
from pseudoshot.data.source import Source, SplitCount, class_list
from pseudoshot.tools.errors import PseudoshotError

FOLDER = "cifar-100-python"
FILES = ("meta", "train", "test")
SIDE = 32
IMAGES_A_CLASS = 600
MOST_BYTES = 1 << 30  # of a file in the archive; the largest has 150 million


class Cifar(Source):
    default_size = SIDE
    places = (FOLDER, f"{FOLDER}.tar.gz")
    how_to_get = f"{FOLDER}.tar.gz from the CIFAR page of the University of Toronto"
    put_at = f"{FOLDER}.tar.gz"

    def recognises(self, place: Path) -> bool:
        return place.is_file() or all((place / name).is_file() for name in FILES)

    def count(self, place: Path | None, split: str) -> SplitCount:
        classes = len(class_list(self.name, split))
        present = classes if place else 0
        return SplitCount(split, classes, present, classes * IMAGES_A_CLASS, published=True)

    def load(self, place: Path, split: str, size: int) -> ImageSet:
        files = [place / name for name in FILES] if place.is_dir() else [place]
        classes = class_list(self.name, split)
        read = partial(read_classes, place, classes)
        return load_arrays(f"{self.name}:{split}", files, classes, size, read)


class CifarFS(Cifar):
    name = "cifar-fs"


class FC100(Cifar):
    name = "fc100"


def read_classes(place: Path, classes: tuple[str, ...]) -> Iterator[npt.NDArray[np.uint8]]:
    """The images (n, 32, 32, 3) of each class in turn."""
    meta, *parts = (_read(place, name) for name in FILES)
    try:
        names = [safe_pickle.text(name) for name in meta["fine_label_names"]]
        numbers = [names.index(name) for name in classes]
        labels = np.concatenate([np.asarray(part["fine_labels"]) for part in parts])
        pixels = np.concatenate([part["data"] for part in parts]).reshape(-1, 3, SIDE, SIDE)
        if labels.shape != pixels.shape[:1] or labels.dtype.kind not in "iu":
            raise ValueError(f"{len(pixels)} images and labels of shape {labels.shape}")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise PseudoshotError(
            f"{place} does not hold CIFAR-100, Python version ({safe_pickle.brief(error)}): "
            f"get {Cifar.how_to_get}"
        ) from error
    for number in numbers:
        yield pixels[labels == number].transpose(0, 2, 3, 1)


def _read(place: Path, name: str) -> dict[str, Any]:
    try:
        with _open(place, name) as file:
            return safe_pickle.load(file, place / name, "a CIFAR file")
    except PseudoshotError:
        raise
    except Exception as error:  # of the archive, or of any kind of compression it claims to have
        raise PseudoshotError(
            f"{place}: '{name}' in it cannot be read ({safe_pickle.brief(error)}): "
            f"get {Cifar.how_to_get} again"
        ) from error


@contextmanager
def _open(place: Path, name: str) -> Iterator[IO[bytes]]:
    """One file of the set, from its folder or from within its archive."""
    if place.is_dir():
        with (place / name).open("rb") as file:
            yield file
        return
    with tarfile.open(place) as archive:
        info = archive.getmember(f"{FOLDER}/{name}")
        member = archive.extractfile(info) if info.isfile() else None  # follow no links
        if member is None or info.size > MOST_BYTES:
            raise ValueError(f"no file of at most {MOST_BYTES:,} bytes")
        yield member
