"""Sets that are published as arrays: class after class, resized if need be, into the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pseudoshot.data import cache
from pseudoshot.data.decode import resize_all
from pseudoshot.data.image_set import ImageSet


def load_decoded(
    name: str,
    files: Sequence[Path],
    classes: tuple[str, ...],
    size: int,
    read: Callable[[], Iterable[npt.NDArray[np.uint8]]],
) -> ImageSet:
    """The set that `read` finds in `files`: the images (n, h, h, 3) of each class in turn."""

    def build(rows: cache.Rows) -> cache.Contents:
        counts = []
        for images in read():
            rows.append(resize_all(images, size))
            counts.append(len(images))
        return cache.Contents(np.repeat(np.arange(len(classes)), counts), classes)

    recipe = {"files": [_stamp(file) for file in files], "classes": classes, "size": size}
    return cache.fetch(name, recipe, build)


def _stamp(file: Path) -> tuple[str, int, int]:
    stat = file.stat()
    return str(file.resolve()), stat.st_size, stat.st_mtime_ns
