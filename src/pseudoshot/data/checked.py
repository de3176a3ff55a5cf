"""Decoded images on disk that tell whether they are still what was written.

A set may be larger than memory, so it has a checksum per block of images, and a block is compared
with it when one of its images is first read. A disk or a program that changed a byte is found;
whoever can write the images can write the checksums too.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import room_for

try:
    import fcntl
except ImportError:  # on Windows, which deletes no file that is open
    fcntl = None  # type: ignore[assignment]

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
    _known: npt.NDArray[np.bool_]
    _path: Path

    def __getitem__(self, index: Any) -> Any:
        if self._digests is not None and not self._known.all():
            self._compare(_rows(index[0] if isinstance(index, tuple) else index, len(self)))
        return super().__getitem__(index)

    def _compare(self, rows: npt.NDArray[np.int64]) -> None:
        assert self._digests is not None
        if not self._are_written(np.unique(rows // self._digests.rows)).all():
            raise PseudoshotError(
                f"the decoded images {self._path} are not what was written: delete that folder, "
                f"and they are decoded again"
            )

    def _are_written(self, blocks: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        assert self._digests is not None
        content = self.view(np.ndarray).reshape(-1)  # kept, it would keep the map from closing
        size = self._digests.rows * (content.size // len(self))
        for block in blocks[~self._known[blocks]]:
            found = zlib.crc32(content[block * size : (block + 1) * size].data)
            self._known[block] = found == self._digests.blocks[block]
        return self._known[blocks]

    def intact(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Of each of these rows, whether it lies in a block that is what was written."""
        assert self._digests is not None
        blocks, of_row = np.unique(rows // self._digests.rows, return_inverse=True)
        return self._are_written(blocks)[of_row]


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
    with path.open("rb") as file:
        _share(file)
        images = CheckedImages(file, dtype=np.uint8, mode="r", shape=shape)
    blocks = -(-shape[0] // digests.rows)
    if len(digests.blocks) != blocks:
        raise ValueError(f"{blocks} blocks but {len(digests.blocks)} checksums")
    images._known, images._path = np.zeros(blocks, bool), path
    images._digests = digests
    return images


def _share(file: IO[bytes]) -> None:
    """Say that the file is in use, for as long as it is mapped: a map keeps what it was made of."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


def in_use(path: Path) -> bool:
    """Whether these images are open, here or in another process."""
    if fcntl is None:
        return False
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # not there, or a file system without locks
        return False
    return False


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
    text = json.dumps(found._asdict())
    note(folder / DIGESTS, f"{text}\n{hashlib.sha256(text.encode()).hexdigest()}")


def note(path: Path, text: str) -> None:
    """A file of a set, which is not waited for: digests tell whether it reached the disk."""
    with room_for(path):
        path.write_text(text, "utf-8")


def read_digests(folder: Path) -> Digests:
    """Those of a set whose other files are what was written; else a ValueError."""
    text, _, own = (folder / DIGESTS).read_text("utf-8").partition("\n")
    if hashlib.sha256(text.encode()).hexdigest() != own:
        raise ValueError(f"{DIGESTS} is not what was written")
    found = Digests(**json.loads(text))
    for name, written in found.files.items():
        if _of_file(folder / name) != written:
            raise ValueError(f"{name} is not what was written")
    return found


def _of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
