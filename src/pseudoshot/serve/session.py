"""What is being sorted: images of a folder and added ones, by number, and their embeddings.

Names and pictures are there at once. The folder is read and embedded by a thread of its own, of
which `progress` tells; what goes wrong there is told too.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from pseudoshot.data import ImageSet
from pseudoshot.data.folder import Listed, images_below, list_folder, load_listed, path_inside
from pseudoshot.data.loading import expanded
from pseudoshot.embedders import load
from pseudoshot.serve import pictures
from pseudoshot.serve.embeddings import Embeddings, Singles, View
from pseudoshot.sorting.estimator import classifier_for_sorting
from pseudoshot.sorting.suggesting import suggest_rows
from pseudoshot.tools.console import printable, say
from pseudoshot.tools.errors import PseudoshotError

KEPT_THUMBNAILS = 4_000  # a few kilobytes each
KEPT_LARGE = 32
SUGGESTED = 24  # images to look at first
MOST_ADDED = 5_000  # images
CHUNK = 512  # images that are embedded between two looks at whether to go on

Stage = Literal["listing", "reading", "embedding", "ready"]


@dataclass(frozen=True)
class Progress:
    stage: Stage
    done: int = 0
    total: int = 0
    since: float = 0.0
    error: str | None = None

    @property
    def seconds_left(self) -> float | None:
        if self.stage == "ready" or not self.done or self.error:
            return None
        return (time.monotonic() - self.since) / self.done * (self.total - self.done)


class NoImageError(PseudoshotError):
    """A number that is no image's."""


class NotYetError(PseudoshotError):
    """Something to ask again later."""


class _StoppedError(Exception):
    """The server is ending."""


class Session:
    """Images of a folder and images dropped onto the page, numbered in this order."""

    def __init__(
        self,
        run: str | Path,
        folder: Path | None = None,
        classifier: str | None = None,
        reading: str | None = None,
    ) -> None:
        self.embedder = load(run, reading)
        classifier_for_sorting(self.embedder, classifier)  # refused now, not at a click
        self.chosen = classifier
        self.folder = None if folder is None else _looked_into(folder)
        self.started = f"{os.getpid()}-{time.time_ns()}"  # no other session is called so
        self.names: list[str | None] = []  # by number; None: not to be read, or removed
        self.numbers: dict[str, int] = {}  # and back
        self.skipped: list[str] = []
        self.suggested: list[int] = []  # images to label first
        self.progress = Progress("ready" if folder is None else "listing")
        self._files: list[str] = []  # of the folder, as they are on the disk
        self._thumbnails: dict[int, bytes] = {}  # of added images
        self._embeddings = Embeddings(self.embedder.dim)
        self._added = tempfile.TemporaryDirectory(prefix="pseudoshot-")
        self._changing = threading.Lock()
        self._stopping = threading.Event()
        self._reader = threading.Thread(target=self._read_folder, daemon=True)
        self._thumbnail = lru_cache(KEPT_THUMBNAILS)(lambda n: pictures.thumbnail(self._path(n)))
        self._large = lru_cache(KEPT_LARGE)(lambda n: pictures.large(self._path(n)))

    def begin(self) -> Session:
        """Read the folder in the background."""
        if self.folder is not None:
            self._reader.start()
        return self

    def wait(self) -> Session:
        """Until all is read."""
        if self._reader.ident is not None:
            self._reader.join()
        return self

    def close(self, seconds: float = 1.0) -> None:
        self._stopping.set()
        if self._reader.ident is not None:
            self._reader.join(seconds)
        self.discard()

    def discard(self) -> None:
        """Delete what is on the disk for this session alone."""
        self._added.cleanup()

    def __len__(self) -> int:
        return len(self.names)

    @property
    def added(self) -> list[int]:
        return list(self._thumbnails)

    def view(self) -> View:
        with self._changing:
            return self._embeddings.view()

    # ---- the folder, in the background

    def _read_folder(self) -> None:
        assert self.folder is not None
        try:
            listed = list_folder(self.folder, stay_inside=True)
            self._list(listed)
            images = load_listed(self.folder, listed, self.embedder.card.size, self._step)
            self._embed(images)
            self._suggest()
            self._step(stage="ready", total=len(images))
        except _StoppedError:
            pass
        except Exception as error:  # of any kind: nobody else would hear of it
            reason = str(error) if isinstance(error, PseudoshotError) else repr(error)
            say(f"the images cannot be prepared: {reason}")
            self.progress = replace(self.progress, error=printable(reason))

    def _step(self, done: int = 0, stage: Stage | None = None, total: int | None = None) -> None:
        if self._stopping.is_set():
            raise _StoppedError
        if stage is None:
            self.progress = replace(self.progress, done=done)
        else:
            self.progress = Progress(stage, done, total or 0, time.monotonic())

    def _list(self, listed: Listed) -> None:
        files = [image.name for image in listed.images]
        with self._changing:
            self._files = files
            self._embeddings.extend(len(files))
            for number, file in enumerate(files):
                self._name(number, printable(file))
        self._step(stage="reading", total=len(files))

    def _name(self, number: int, name: str) -> None:
        """The next image, called unlike all others."""
        free = unlike(self.numbers, name)
        self.names.append(free)
        self.numbers[free] = number

    def _embed(self, images: ImageSet) -> None:
        read = set(images.files)
        numbers = np.array([n for n, file in enumerate(self._files) if file in read], np.int64)
        with self._changing:
            self.skipped = [printable(text) for text in images.skipped]
            for number, file in enumerate(self._files):
                if file not in read:
                    self._drop(number)
        self._step(stage="embedding", total=len(numbers))
        self.embedder = self.embedder.centred_on(images)
        for start in range(0, len(numbers), CHUNK):
            rows = self._embedded(images.images[start : start + CHUNK])
            with self._changing:
                self._embeddings.fill(numbers[start : start + CHUNK], rows)
            self._step(min(start + CHUNK, len(numbers)))

    def _drop(self, number: int) -> None:
        name, self.names[number] = self.names[number], None
        if name is not None:
            del self.numbers[name]

    def _embedded(self, pixels: npt.NDArray[np.uint8]) -> Singles:
        rows: Singles = self.embedder.embed(pixels, bar=False).numpy()
        return rows

    def _suggest(self) -> None:
        view = self.view()
        known = np.flatnonzero(view.known)
        if len(known):
            rows = suggest_rows(view.rows[known].astype(np.float64), SUGGESTED)
            self.suggested = known[rows].tolist()

    # ---- added images

    def embed(self, files: Mapping[str, bytes]) -> Singles:
        """The embeddings of encoded images; an error names the one that cannot be read."""
        self._refuse_too_early()
        size = self.embedder.card.size
        pixels = [pictures.upload_pixels(name, data, size) for name, data in files.items()]
        return self._embedded(np.stack(pixels))

    def add(self, files: Mapping[str, bytes]) -> list[int]:
        """Take uploaded images in, all of them or none; their numbers."""
        self._refuse_too_early()
        self._refuse_too_many(len(files))
        size = self.embedder.card.size
        decoded = [pictures.decode_upload(name, data, size) for name, data in files.items()]
        rows = self._embedded(np.stack([one.pixels for one in decoded]))
        with self._changing:
            self._refuse_too_many(len(files))
            numbers = self._embeddings.extend(len(files))
            for number, name, one in zip(numbers, files, decoded, strict=True):
                Path(self._added.name, str(number)).write_bytes(one.large)
                self._thumbnails[number] = one.thumbnail
                self._name(number, name)
            self._embeddings.fill(numbers, rows)
        self._suggest()
        return list(numbers)

    def remove(self, number: int) -> None:
        """Take an added image out again; the others keep their numbers."""
        self.name_of(number)
        with self._changing:
            if self._thumbnails.pop(number, None) is None:
                raise PseudoshotError("an image of the folder stays: only added ones are removed")
            self._drop(number)
            self._embeddings.forget(number)
            Path(self._added.name, str(number)).unlink(missing_ok=True)
            self.suggested = [other for other in self.suggested if other != number]

    def _refuse_too_early(self) -> None:
        if self.progress.stage in ("listing", "reading"):
            raise NotYetError("the folder is still being read: add images when it is")

    def _refuse_too_many(self, more: int) -> None:
        if len(self._thumbnails) + more > MOST_ADDED:
            raise PseudoshotError(
                f"at most {MOST_ADDED:,} images can be added: serve a folder with --images"
            )

    # ---- pictures

    def name_of(self, number: int) -> str:
        name = self.names[number] if 0 <= number < len(self) else None
        if name is None:
            raise NoImageError(f"there is no image {number}")
        return name

    def thumbnail(self, number: int) -> bytes:
        self.name_of(number)
        return self._thumbnails.get(number) or self._thumbnail(number)

    def large(self, number: int) -> bytes:
        self.name_of(number)
        if number in self._thumbnails:
            return Path(self._added.name, str(number)).read_bytes()
        return self._large(number)

    def file(self, number: int) -> str | None:
        """The file of the folder that an image is; None for an added one."""
        return self._files[number] if number < len(self._files) else None

    def _path(self, number: int) -> Path:
        assert self.folder is not None
        return path_inside(self.folder, self._files[number])


def _looked_into(folder: Path) -> Path:
    """A folder without a single image is refused before the server is there."""
    folder = expanded(folder).resolve()
    if not folder.is_dir():
        raise PseudoshotError(f"'{folder}' is not a folder: give a folder of images")
    if next(images_below(folder, stay_inside=True), None) is None:
        raise PseudoshotError(f"no images below '{folder}': expected files such as .jpg or .png")
    return folder


def unlike(taken: Container[str], name: str) -> str:
    """The name, or one made of it that nothing has yet.

    >>> unlike({"cat.png", "cat (2).png"}, "cat.png")
    'cat (3).png'
    """
    stem, dot, ending = name.rpartition(".")
    stem, ending = (stem, dot + ending) if stem else (name, "")
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{stem} ({number}){ending}"
    return free
