"""The images of a set that is being built."""

from __future__ import annotations

import hashlib
import json
import math
import os
import zlib
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import room_for, write_text

IMAGES, GRAY = "images.bin", "images.gray"
PROGRESS = "progress.json"  # of a build that is going on
_PIECE = 1 << 22  # bytes read at once


class Rows:
    """Appended to a file, never all in memory.

    `save` notes how far a build has come; one that was interrupted goes on from `done`, if the
    images so far are those that were written.
    """

    def __init__(self, folder: Path) -> None:
        self._path, self._progress = folder / IMAGES, folder / PROGRESS
        self._count = self._checksum = 0
        self._image_shape: tuple[int, ...] = ()
        self._gray = True
        self.done: Any = None  # what was given to the last `save`, None in a new build
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            self._restore(self._progress.read_text("utf-8"))
        self._file = self._path.open("r+b" if self.done is not None else "wb")
        self._file.truncate(self._count * math.prod(self._image_shape))
        self._file.seek(0, os.SEEK_END)

    def _restore(self, text: str) -> None:
        record, _, digest = text.partition("\n")
        if hashlib.sha256(record.encode()).hexdigest() != digest:
            raise ValueError("it is not what was written")
        saved = json.loads(record)
        count, shape = int(saved["count"]), tuple(saved["image_shape"])
        if _checksum(self._path, count * math.prod(shape)) != saved["checksum"]:
            raise ValueError("the images are not those that were written")
        self._count, self._image_shape, self._gray = count, shape, bool(saved["gray"])
        self._checksum, self.done = saved["checksum"], saved["done"]

    def save(self, done: Any) -> None:
        """Should the process end now, the next one finds all images so far, and `done`."""
        with room_for(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
        record = json.dumps(
            {
                "count": self._count,
                "image_shape": self._image_shape,
                "gray": self._gray,
                "checksum": self._checksum,
                "done": done,
            }
        )
        write_text(self._progress, f"{record}\n{hashlib.sha256(record.encode()).hexdigest()}")

    def append(self, images: npt.NDArray[np.uint8]) -> None:
        """Add images of shape (k, h, w, c)."""
        if images.dtype != np.uint8 or (self._count and images.shape[1:] != self._image_shape):
            raise PseudoshotError(
                f"images of one size as bytes were expected, not {images.dtype} of shape "
                f"{images.shape[1:]}: the files hold something else"
            )
        self._gray = self._gray and bool(np.all(images == images[..., :1]))
        content = np.ascontiguousarray(images).data
        with room_for(self._path):
            self._file.write(content)
        self._checksum = zlib.crc32(content, self._checksum)
        self._count += len(images)
        self._image_shape = images.shape[1:]

    def __enter__(self) -> Rows:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with room_for(self._path):
            self._file.close()
        if error is None and self._gray and self._image_shape and self._image_shape[-1] == 3:
            self._keep_one_channel()

    def _keep_one_channel(self) -> None:
        gray = self._path.with_name(GRAY)
        with room_for(gray), self._path.open("rb") as colour, gray.open("wb") as out:
            while chunk := colour.read(3 << 20):
                out.write(chunk[::3])
        gray.replace(self._path)
        self._image_shape = (*self._image_shape[:-1], 1)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._count, *self._image_shape)


def _checksum(path: Path, size: int) -> int:
    """Of the first bytes of a file."""
    found = 0
    with path.open("rb") as file:
        while size:
            part = file.read(min(size, _PIECE))
            if not part:
                raise ValueError("images are missing")
            found, size = zlib.crc32(part, found), size - len(part)
    return found
