"""Sets that are published as arrays: class after class, resized if need be, into the cache."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pseudoshot.data import cache
from pseudoshot.data.decode import resize_all
from pseudoshot.data.image_set import ImageSet
from pseudoshot.data.rows import Rows
from pseudoshot.tools.errors import PseudoshotError


def load_arrays(
    name: str,
    files: Sequence[Path],
    classes: tuple[str, ...],
    size: int,
    read: Callable[[], Iterable[npt.NDArray[np.uint8]]],
) -> ImageSet:
    """The set that `read` finds in `files`: the images (n, h, h, 3) of each class in turn."""

    def build(rows: Rows, _: cache.Before | None) -> cache.Contents:
        counts = []
        for images in read():
            _check(name, images)
            rows.append(resize_all(images, size))
            counts.append(len(images))
        return cache.Contents(np.repeat(np.arange(len(classes)), counts), classes)

    places = [str(file.resolve()) for file in files]
    identity = {"origin": os.path.commonpath(places), "part": name, "form": [size]}
    version = json.dumps([places, [_stamp(file) for file in files], classes])
    return cache.fetch(name, identity, version, build)


def _check(name: str, images: npt.NDArray[np.uint8]) -> None:
    square = images.ndim == 4 and images.shape[1] == images.shape[2] and images.shape[3] == 3
    if images.dtype != np.uint8 or not square or not images.size:
        raise PseudoshotError(
            f"the files of '{name}' hold {images.dtype} of shape {images.shape} for a class, not "
            f"bytes of square colour images: get them again"
        )


def _stamp(file: Path) -> tuple[int, int]:
    stat = file.stat()
    return stat.st_size, stat.st_mtime_ns
