"""The cache: an image set is built once, then memory-mapped, so it may be larger than memory."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
from filelock import FileLock
from platformdirs import user_cache_dir

from pseudoshot.data.checked import open_images, read_digests, write_digests
from pseudoshot.data.image_set import ImageSet
from pseudoshot.tools.console import say
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import write_text

FORMAT = 1  # raise it when what is written for the same recipe changes
IMAGES, LABELS, DESCRIPTION = "images.bin", "labels.npy", "set.json"
PROGRESS = "progress.json"  # of a build that is going on
ROWS_AT_A_TIME = 1000


@dataclass(frozen=True)
class Contents:
    """What a set holds beside its pixels."""

    labels: npt.NDArray[np.int64] | None = None
    classes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # the name of the file each image came from, where it had one
    skipped: tuple[str, ...] = ()


class Rows:
    """The images of a set that is being built: appended to a file, never all in memory.

    `save` notes how far a build has come; one that was interrupted goes on from `done`.
    """

    def __init__(self, folder: Path) -> None:
        self._path, self._progress = folder / IMAGES, folder / PROGRESS
        self._count = 0
        self._image_shape: tuple[int, ...] = ()
        self._gray = True
        self.done: Any = None  # what was given to the last `save`, None in a new build
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            self._restore(json.loads(self._progress.read_text("utf-8")))
        self._file = self._path.open("r+b" if self.done is not None else "wb")
        self._file.truncate(self._count * math.prod(self._image_shape))
        self._file.seek(0, os.SEEK_END)

    def _restore(self, saved: dict[str, Any]) -> None:
        count, shape = int(saved["count"]), tuple(saved["image_shape"])
        if self._path.stat().st_size < count * math.prod(shape):
            raise ValueError("images are missing")
        self._count, self._image_shape, self._gray = count, shape, bool(saved["gray"])
        self.done = saved["done"]

    def save(self, done: Any) -> None:
        """Should the process end now, the next one finds all images so far, and `done`."""
        self._file.flush()
        os.fsync(self._file.fileno())
        record = {
            "count": self._count,
            "image_shape": self._image_shape,
            "gray": self._gray,
            "done": done,
        }
        write_text(self._progress, json.dumps(record))

    def append(self, images: npt.NDArray[np.uint8]) -> None:
        """Add images of shape (k, h, w, c)."""
        if images.dtype != np.uint8 or (self._count and images.shape[1:] != self._image_shape):
            raise PseudoshotError(
                f"images of one size as bytes were expected, not {images.dtype} of shape "
                f"{images.shape[1:]}: the files hold something else"
            )
        self._gray = self._gray and bool(np.all(images == images[..., :1]))
        self._file.write(np.ascontiguousarray(images).data)
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
        self._file.close()
        if error is None and self._gray and self._image_shape and self._image_shape[-1] == 3:
            self._keep_one_channel()

    def _keep_one_channel(self) -> None:
        gray = self._path.with_suffix(".gray")
        with self._path.open("rb") as colour, gray.open("wb") as out:
            while chunk := colour.read(3 << 20):
                out.write(chunk[::3])
        gray.replace(self._path)
        self._image_shape = (*self._image_shape[:-1], 1)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._count, *self._image_shape)


def cache_folder() -> Path:
    """PSEUDOSHOT_CACHE, or the user's cache folder."""
    given = os.environ.get("PSEUDOSHOT_CACHE")
    return Path(given).expanduser() if given else Path(user_cache_dir("pseudoshot"))


@dataclass(frozen=True)
class Rowwise:
    """A long part of a recipe: its rows are made when they are asked for, never all at once."""

    rows: Callable[[], Iterator[tuple[str | int, ...]]]


def folder_of(name: str, recipe: Mapping[str, object]) -> Path:
    """The cache folder of the set that `recipe` determines: another recipe, another folder."""
    digest = _digest_as_json({"format": FORMAT, **recipe})[:20]
    readable = "".join(c if c.isascii() and c.isalnum() else "-" for c in Path(name).name)[:40]
    return cache_folder() / "decoded" / f"{readable}-{digest}"


def _digest_as_json(recipe: Mapping[str, object]) -> str:
    """Of the recipe as one JSON object with sorted keys, a piece of it in memory at a time."""
    digest = hashlib.sha256()
    for number, key in enumerate(sorted(recipe)):
        digest.update(f"{', ' if number else '{'}{json.dumps(key)}: ".encode())
        value = recipe[key]
        pieces = _list_as_json(value.rows()) if isinstance(value, Rowwise) else [json.dumps(value)]
        for piece in pieces:
            digest.update(piece.encode())
    digest.update(b"}" if recipe else b"{}")
    return digest.hexdigest()


def _list_as_json(rows: Iterator[tuple[str | int, ...]]) -> Iterable[str]:
    yield "["
    opening = ""
    while some := list(itertools.islice(rows, ROWS_AT_A_TIME)):
        yield opening + json.dumps(some)[1:-1]
        opening = ", "
    yield "]"


def fetch(name: str, recipe: Mapping[str, object], build: Callable[[Rows], Contents]) -> ImageSet:
    """The set that `recipe` determines, built by `build` if the cache does not hold it yet.

    A build happens in a folder beside the final one, which it is renamed to at the end: a build
    that was interrupted is never taken for a set, and goes on where it last saved its progress.
    A lock keeps two processes from building at once.
    """
    folder = folder_of(name, recipe)
    with suppress(_UnusableError):
        return _open(name, folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            with suppress(_UnusableError):
                return _open(name, folder)  # another process has built it meanwhile
            _build(folder, build)
            return _open(name, folder)
    except (OSError, _UnusableError) as error:
        raise PseudoshotError(
            f"the cache at {folder} cannot be written ({error}): make room or permit it, "
            "or set PSEUDOSHOT_CACHE to another folder"
        ) from error


class _UnusableError(Exception):
    """A set that is not there, or damaged: it is built again."""


def _open(name: str, folder: Path) -> ImageSet:
    try:
        description = json.loads((folder / DESCRIPTION).read_text("utf-8"))
        image_set = _described(name, folder, description)
        if image_set.labels is not None:
            _check_labels(image_set.labels, len(image_set.classes))
        return image_set
    except Exception as error:  # content of any kind leads to errors of any kind
        raise _UnusableError(str(error)) from error


def _described(name: str, folder: Path, description: dict[str, Any]) -> ImageSet:
    shape = tuple(description["shape"])
    images, digests = folder / IMAGES, read_digests(folder)
    if images.stat().st_size != math.prod(shape):
        raise ValueError(f"{images} has not the size it should have")
    if digests is None:
        say(f"{folder} has no digests, as sets of earlier versions: delete it to decode it again")
    return ImageSet(
        name,
        np.memmap(images, dtype=np.uint8, mode="r", shape=shape)
        if digests is None
        else open_images(images, shape, digests),
        labels=np.load(folder / LABELS) if description["labelled"] else None,
        classes=tuple(description["classes"]),
        skipped=tuple(description["skipped"]),
        files=tuple(description["files"]),
    )


def _check_labels(labels: npt.NDArray[np.int64], classes: int) -> None:
    if labels.dtype != np.int64 or labels.min() < 0 or labels.max() >= classes:
        raise ValueError("labels that are no classes")


def _build(folder: Path, build: Callable[[Rows], Contents]) -> None:
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(folder, ignore_errors=True)
    partial.mkdir(exist_ok=True)
    try:
        with Rows(partial) as rows:
            contents = build(rows)
        if contents.labels is not None:
            np.save(partial / LABELS, contents.labels)
        description = {
            "shape": rows.shape,
            "labelled": contents.labels is not None,
            "classes": contents.classes,
            "skipped": contents.skipped,
            "files": contents.files,
        }
        (partial / DESCRIPTION).write_text(json.dumps(description), "utf-8")
        (partial / PROGRESS).unlink(missing_ok=True)
        others = [DESCRIPTION, *([LABELS] if contents.labels is not None else [])]
        write_digests(partial, IMAGES, rows.shape[0], others)
        partial.rename(folder)
    except BaseException:
        if not (partial / PROGRESS).is_file():  # nothing was saved that could be gone on from
            shutil.rmtree(partial, ignore_errors=True)
        raise
