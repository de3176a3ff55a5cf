"""Encoded images, from files or from an archive, to an ImageSet: decoded once, in parallel."""

from __future__ import annotations

import hashlib
import itertools
import json
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
from pseudoshot.data.reuse import Plan
from pseudoshot.data.rows import Rows
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

    def keys(self) -> cache.Keys:
        """Of each image, (n, 2): another where its name, its size or its time is."""
        digests = bytearray()
        for position, name in enumerate(self._names):
            first, second = self._stamps[2 * position : 2 * position + 2]
            text = f"{first} {second} {name}".encode(errors="surrogatepass")
            digests += hashlib.blake2b(text, digest_size=16).digest()
        return np.frombuffer(digests, np.uint64).reshape(-1, 2)

    def version(self, keys: cache.Keys) -> str:
        """Changes when an image, the order or a label does."""
        digest, known = hashlib.sha256(keys.tobytes()), {n: i for i, n in enumerate(self._known)}
        digest.update(json.dumps(list(known)).encode())
        digest.update(np.fromiter((known[n] for n in self._labels), np.int32, len(self)).tobytes())
        return digest.hexdigest()

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
    part: str = "",
    told: Callable[[int], None] | None = None,
) -> ImageSet:
    """The images in the order given, labelled by their place in `classes` unless that is None.

    `told` is called after each with how many were read; an error it raises ends the reading.

    Those that cannot be read are left out, reported in one line and listed in `skipped`; a class
    without a readable image is no class. `part` tells apart sets that come from one origin.
    """
    keys, readers = images.keys(), decode.formats()

    def build(rows: Rows, before: cache.Before | None) -> cache.Contents:
        unread = _decode_into(rows, name, images, form, Plan(keys, before, readers), told)
        if len(unread) == len(images):
            first, why = next(iter(unread.items()))
            raise PseudoshotError(
                f"none of the {len(images)} images of '{name}' could be read, "
                f"the first of them for this reason: {images[first].name}: {why}"
            )
        skipped = tuple(
            cache.Unread(images[position].name, why, keys[position].tobytes().hex())
            for position, why in unread.items()
        )
        read = [position for position in range(len(images)) if position not in unread]
        files = tuple(images[position].name for position in read)
        if classes is None:
            return cache.Contents(None, (), files, skipped, keys[read], readers)
        seen = {images[position].label for position in read}
        kept = tuple(label for label in classes if label in seen)
        index = {label: number for number, label in enumerate(kept)}
        labels = np.fromiter((index[images[row].label] for row in read), np.int64, len(read))
        return cache.Contents(labels, kept, files, skipped, keys[read], readers)

    identity = identity_of(origin, form, part)
    version = json.dumps([images.version(keys), classes, readers])
    image_set = cache.fetch(name, identity, version, build)
    if image_set.skipped:
        _report(image_set, images, cache.place_of(name, identity))
    return image_set


def identity_of(origin: Path, form: Form, part: str = "") -> dict[str, object]:
    """What tells a set from all others, whatever its images are at a time."""
    return {
        "origin": str(origin.resolve()),
        "part": part,
        "form": [form.size, form.zoom, form.invert],
    }


def _decode_into(
    rows: Rows,
    name: str,
    images: Listing,
    form: Form,
    plan: Plan,
    told: Callable[[int], None] | None,
) -> dict[int, str]:
    """Append what can be read to `rows`; return the positions of the rest, with reasons."""
    done = rows.done or {"decoded": 0, "unread": []}
    position, unread, unsaved = done["decoded"], dict(done["unread"]), 0
    with warnings.catch_warnings(), progress_bar(of="images") as bar:
        warnings.simplefilter("ignore")  # of large or untidy files, which are read all the same
        task = bar.add_task(f"reading {escape(shown(name))}", total=len(images), completed=position)
        for outcome in _in_parallel(plan.steps(position), images, form):
            if isinstance(outcome, range):
                rows.append(plan.take(outcome))
                position += len(outcome)
            else:
                if isinstance(outcome, str):
                    unread[position] = outcome
                else:
                    rows.append(outcome[None])
                position, unsaved = position + 1, unsaved + 1
            bar.update(task, completed=position)
            if told is not None:
                told(position)
            if unsaved >= SAVE_EVERY:
                rows.save({"decoded": position, "unread": list(unread.items())})
                unsaved = 0
    return unread


def _in_parallel(
    steps: Iterator[int | range | str], images: Listing, form: Form
) -> Iterator[npt.NDArray[np.uint8] | range | str]:
    """The pixels of each image to decode or the reason why not, and other steps as they are; in
    order, a bounded number in memory."""
    workers = os.cpu_count() or 1
    waiting: deque[Future[npt.NDArray[np.uint8] | str] | range | str] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            while True:
                for step in itertools.islice(steps, 8 * workers - len(waiting)):
                    if isinstance(step, int):
                        waiting.append(pool.submit(_decode, images[step], form))
                    else:
                        waiting.append(step)
                if not waiting:
                    return
                first = waiting.popleft()
                yield first.result() if isinstance(first, Future) else first
        finally:  # an interrupted build does not first decode what is waiting
            pool.shutdown(wait=False, cancel_futures=True)


def _decode(image: Encoded, form: Form) -> npt.NDArray[np.uint8] | str:
    try:
        pixels = decode.decode(image.open(image.name), form.size, form.zoom)
    except PseudoshotError as reason:
        return str(reason)
    return 255 - pixels if form.invert else pixels


def _report(image_set: ImageSet, images: Listing, place: Path) -> None:
    read, count = set(image_set.files), len(image_set.skipped)
    unread = itertools.islice((image.name for image in images if image.name not in read), 3)
    names = shown(", ".join([*unread, *(["…"] if count > 3 else [])]))
    console.print(
        f"skipped {count} of {len(images)} files that could not be read: {names} "
        f"(full list in {place}/*/{cache.DESCRIPTION})",
        markup=False,
        soft_wrap=True,
    )
