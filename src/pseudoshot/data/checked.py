"""Decoded images on disk that tell whether they are still what was written.

A set may be larger than memory, so it has a checksum per block of images, and a block is compared
with it when one of its images is first read. A disk or a program that changed a byte is found;
whoever can write the images can write the checksums too.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pseudoshot.tools.errors import PseudoshotError

DIGESTS = "digests.json"
BLOCK = 1 << 22  # bytes, a few milliseconds to read


class Digests(NamedTuple):
    """Of the files of a set: whole ones by name, and of the images by block."""

    files: dict[str, str]
    rows: int  # images per block
    blocks: list[int]


class CheckedImages(np.memmap[Any, np.dtype[np.uint8]]):
    """A memory map, (n, h, w, c), that compares what is read by its first index."""

    _digests: Digests | None = None  # None of what was taken out of one: it has been compared
    _bytes: npt.NDArray[np.uint8]
    _known: npt.NDArray[np.bool_]
    _path: Path

    def __getitem__(self, index: Any) -> Any:
        if self._digests is not None and not self._known.all():
            self._compare(_rows(index[0] if isinstance(index, tuple) else index, len(self)))
        return super().__getitem__(index)

    def _compare(self, rows: npt.NDArray[np.int64]) -> None:
        assert self._digests is not None
        touched = np.unique(rows // self._digests.rows)
        size = self._digests.rows * (self._bytes.size // len(self))
        for block in touched[~self._known[touched]]:
            found = zlib.crc32(self._bytes[block * size : (block + 1) * size].data)
            if found != self._digests.blocks[block]:
                raise PseudoshotError(
                    f"the decoded images {self._path} are not what was written: delete that "
                    f"folder, and they are decoded again"
                )
            self._known[block] = True


def _rows(index: Any, count: int) -> npt.NDArray[np.int64]:
    """The rows that an index of the first axis names; all of them for what is no usual one."""
    if isinstance(index, slice):
        return np.arange(*index.indices(count))
    if index is None or index is Ellipsis:
        return np.arange(count)
    rows = np.asarray(index)
    if rows.dtype == bool:
        return np.flatnonzero(rows)
    within = rows.ravel().astype(np.int64)
    return np.where(within < 0, within + count, within).clip(0, max(count - 1, 0))


def open_images(path: Path, shape: tuple[int, ...], digests: Digests) -> CheckedImages:
    images = CheckedImages(path, dtype=np.uint8, mode="r", shape=shape)
    blocks = -(-shape[0] // digests.rows)
    if len(digests.blocks) != blocks:
        raise ValueError(f"{blocks} blocks but {len(digests.blocks)} checksums")
    images._bytes = np.asarray(images).reshape(-1)
    images._known, images._path = np.zeros(blocks, bool), path
    images._digests = digests
    return images


def write_digests(folder: Path, images: str, count: int, others: list[str]) -> None:
    """Of the images, of which there are `count`, and of other files that a set has."""
    path = folder / images
    a_row = path.stat().st_size // max(count, 1)
    rows = max(1, BLOCK // max(a_row, 1))
    blocks = []
    with path.open("rb") as file:
        while part := file.read(rows * max(a_row, 1)):
            blocks.append(zlib.crc32(part))
    found = Digests({name: _of_file(folder / name) for name in others}, rows, blocks)
    (folder / DIGESTS).write_text(json.dumps(found._asdict()), "utf-8")


def read_digests(folder: Path) -> Digests | None:
    """Those of a set whose other files are what was written; None of one that has none."""
    path = folder / DIGESTS
    if not path.exists():
        return None
    found = Digests(**json.loads(path.read_text("utf-8")))
    for name, written in found.files.items():
        if _of_file(folder / name) != written:
            raise ValueError(f"{name} is not what was written")
    return found


def _of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
