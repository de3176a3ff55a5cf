"""Encoded images, from files or from an archive, to an ImageSet: decoded once, in parallel."""

from __future__ import annotations

import itertools
import os
import warnings
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt
from rich.markup import escape

from pseudoshot.data import cache, decode
from pseudoshot.data.image_set import ImageSet
from pseudoshot.tools.console import console, progress_bar, shown
from pseudoshot.tools.errors import PseudoshotError

SAVE_EVERY = 1000  # images, after which an interrupted build would go on from there


Opener = Callable[[str], Path | IO[bytes]]  # from an image's name to its bytes; many share one


class Encoded(NamedTuple):
    """One encoded image: its name, what changes when its bytes do, and the way to its bytes."""

    name: str
    stamp: tuple[int, int]
    open: Opener
    label: str = ""


class Listing:
    """Encoded images in columns: of a million of them, little more is held than their names.

    >>> listing = Listing([Encoded("cat/1.png", (120, 0), Path, "cat")])
    >>> len(listing), listing[0].name
    (1, 'cat/1.png')
    """

    def __init__(self, images: Iterable[Encoded] = ()) -> None:
        self._names: list[str] = []
        self._stamps = array("q")
        self._openers: list[Opener] = []
        self._labels: list[str] = []
        self._known: dict[str, str] = {}  # one text for all images of a label
        for name, stamp, opener, label in images:
            self._names.append(name)
            self._stamps.extend(stamp)
            self._openers.append(opener)
            self._labels.append(self._known.setdefault(label, label))

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, position: int) -> Encoded:
        first, second = self._stamps[2 * position : 2 * position + 2]
        opener, label = self._openers[position], self._labels[position]
        return Encoded(self._names[position], (first, second), opener, label)

    def __iter__(self) -> Iterator[Encoded]:
        return (self[position] for position in range(len(self)))

    @property
    def labels(self) -> list[str]:
        """The different labels in alphabetical order; '' is that of images without one."""
        return sorted(self._known)


@dataclass(frozen=True)
class Form:
    """The form images are stored in; `zoom` is explained at `decode`."""

    size: int
    zoom: float = 1.0
    invert: bool = False  # ink is to be bright on dark


def load_files(
    name: str,
    origin: Path,
    images: Listing,
    form: Form,
    classes: tuple[str, ...] | None,
    told: Callable[[int], None] | None = None,
) -> ImageSet:
    """The images in the order given, labelled by their place in `classes` unless that is None.

    `told` is called after each with how many were read; an error it raises ends the reading.

    Those that cannot be read are left out, reported in one line and listed in `skipped`; a class
    without a readable image is no class.
    """
    recipe = recipe_of(origin, images, form, classes)

    def build(rows: cache.Rows) -> cache.Contents:
        unread = _decode_into(rows, name, images, form, told)
        skipped = tuple(f"{images[position].name}: {why}" for position, why in unread.items())
        if len(unread) == len(images):
            raise PseudoshotError(
                f"none of the {len(images)} images of '{name}' could be read, "
                f"the first of them for this reason: {skipped[0]}"
            )
        read = [position for position in range(len(images)) if position not in unread]
        files = tuple(images[position].name for position in read)
        if classes is None:
            return cache.Contents(files=files, skipped=skipped)
        seen = {images[position].label for position in read}
        kept = tuple(label for label in classes if label in seen)
        index = {label: number for number, label in enumerate(kept)}
        labels = np.fromiter((index[images[row].label] for row in read), np.int64, len(read))
        return cache.Contents(labels, kept, files, skipped)

    image_set = cache.fetch(name, recipe, build)
    if image_set.skipped:
        _report(image_set, images, cache.folder_of(name, recipe) / cache.DESCRIPTION)
    return image_set


def recipe_of(
    origin: Path, images: Listing, form: Form, classes: tuple[str, ...] | None
) -> dict[str, object]:
    """All that decides what is stored."""
    return {
        "origin": str(origin.resolve()),
        "images": cache.Rowwise(lambda: ((i.name, i.label, *i.stamp) for i in images)),
        "form": [form.size, form.zoom, form.invert],
        "classes": classes,
    }


def _decode_into(
    rows: cache.Rows,
    name: str,
    images: Listing,
    form: Form,
    told: Callable[[int], None] | None,
) -> dict[int, str]:
    """Append what can be read to `rows`; return the positions of the rest, with reasons."""
    done = rows.done or {"decoded": 0, "unread": []}
    first, unread = done["decoded"], dict(done["unread"])
    with warnings.catch_warnings(), progress_bar() as bar:
        warnings.simplefilter("ignore")  # of large or untidy files, which are read all the same
        task = bar.add_task(f"reading {escape(shown(name))}", total=len(images), completed=first)
        outcomes = _in_parallel((images[i] for i in range(first, len(images))), form)
        for position, outcome in enumerate(outcomes, start=first):
            if isinstance(outcome, str):
                unread[position] = outcome
            else:
                rows.append(outcome[None])
            bar.advance(task)
            if told is not None:
                told(position + 1)
            if (position + 1) % SAVE_EVERY == 0:
                rows.save({"decoded": position + 1, "unread": list(unread.items())})
    return unread


def _in_parallel(images: Iterator[Encoded], form: Form) -> Iterator[npt.NDArray[np.uint8] | str]:
    """The pixels of each image or the reason why not, in order, a bounded number in memory."""
    workers = os.cpu_count() or 1
    waiting: deque[Future[npt.NDArray[np.uint8] | str]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            while True:
                for image in itertools.islice(images, 8 * workers - len(waiting)):
                    waiting.append(pool.submit(_decode, image, form))
                if not waiting:
                    return
                yield waiting.popleft().result()
        finally:  # an interrupted build does not first decode what is waiting
            pool.shutdown(wait=False, cancel_futures=True)


def _decode(image: Encoded, form: Form) -> npt.NDArray[np.uint8] | str:
    try:
        pixels = decode.decode(image.open(image.name), form.size, form.zoom)
    except PseudoshotError as reason:
        return str(reason)
    return 255 - pixels if form.invert else pixels


def _report(image_set: ImageSet, images: Listing, full_list: Path) -> None:
    read, count = set(image_set.files), len(image_set.skipped)
    unread = itertools.islice((image.name for image in images if image.name not in read), 3)
    names = shown(", ".join([*unread, *(["…"] if count > 3 else [])]))
    console.print(
        f"skipped {count} of {len(images)} files that could not be read: {names} "
        f"(full list in {full_list})",
        markup=False,
        soft_wrap=True,
    )
