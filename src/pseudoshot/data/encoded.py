"""Encoded images, from files or from an archive, to an ImageSet: decoded once, in parallel."""

from __future__ import annotations

import itertools
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
from rich.markup import escape

from pseudoshot.console import console, progress_bar
from pseudoshot.data import cache, decode
from pseudoshot.data.image_set import ImageSet
from pseudoshot.errors import PseudoshotError

SAVE_EVERY = 1000  # images, after which an interrupted build would go on from there


@dataclass(frozen=True)
class Encoded:
    """One encoded image: its name, what changes when its bytes do, and the way to its bytes."""

    name: str
    stamp: tuple[int, int]
    open: Callable[[], Path | IO[bytes]]
    label: str = ""


@dataclass(frozen=True)
class Form:
    """The form images are stored in; `zoom` is explained at `decode`."""

    size: int
    zoom: float = 1.0
    invert: bool = False  # ink is to be bright on dark


def load_encoded(
    name: str,
    origin: Path,
    images: Sequence[Encoded],
    form: Form,
    classes: tuple[str, ...] | None,
) -> ImageSet:
    """The images in the order given, labelled by their place in `classes` unless that is None.

    Those that cannot be read are left out, reported in one line and listed in `skipped`; a class
    without a readable image is no class.
    """
    recipe = {
        "origin": str(origin.resolve()),
        "images": [(image.name, image.label, *image.stamp) for image in images],
        "form": [form.size, form.zoom, form.invert],
        "classes": classes,
    }

    def build(rows: cache.Rows) -> cache.Contents:
        read, skipped = _decode_into(rows, name, images, form)
        if not read:
            raise PseudoshotError(
                f"none of the {len(images)} images of '{name}' could be read, "
                f"the first of them for this reason: {skipped[0]}"
            )
        files = tuple(image.name for image in read)
        if classes is None:
            return cache.Contents(files=files, skipped=skipped)
        seen = {image.label for image in read}
        kept = tuple(label for label in classes if label in seen)
        index = {label: number for number, label in enumerate(kept)}
        labels = np.array([index[image.label] for image in read], dtype=np.int64)
        return cache.Contents(labels, kept, files, skipped)

    image_set = cache.fetch(name, recipe, build)
    if image_set.skipped:
        read = set(image_set.files)
        unread = [image.name for image in images if image.name not in read]
        _report(unread, len(images), cache.folder_of(name, recipe) / cache.DESCRIPTION)
    return image_set


def _decode_into(
    rows: cache.Rows, name: str, images: Sequence[Encoded], form: Form
) -> tuple[list[Encoded], tuple[str, ...]]:
    """Append what can be read to `rows`; return that, and the rest with reasons."""
    done = rows.done or {"decoded": 0, "unread": []}
    first, unread = done["decoded"], [tuple(pair) for pair in done["unread"]]
    with warnings.catch_warnings(), progress_bar() as bar:
        warnings.simplefilter("ignore")  # of large or untidy files, which are read all the same
        task = bar.add_task(
            f"reading {escape(_printable(name))}", total=len(images), completed=first
        )
        outcomes = _in_parallel(itertools.islice(images, first, None), form)
        for position, outcome in enumerate(outcomes, start=first):
            if isinstance(outcome, str):
                unread.append((position, outcome))
            else:
                rows.append(outcome[None])
            bar.advance(task)
            if (position + 1) % SAVE_EVERY == 0:
                rows.save({"decoded": position + 1, "unread": unread})
    missing = {position for position, _ in unread}
    read = [image for position, image in enumerate(images) if position not in missing]
    return read, tuple(f"{images[position].name}: {reason}" for position, reason in unread)


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
        pixels = decode.decode(image.open(), form.size, form.zoom)
    except PseudoshotError as reason:
        return str(reason)
    return 255 - pixels if form.invert else pixels


def _report(unread: list[str], count: int, full_list: Path) -> None:
    names = _printable(", ".join([*unread[:3], *(["…"] if len(unread) > 3 else [])]))
    console.print(
        f"skipped {len(unread)} of {count} files that could not be read: {names} "
        f"(full list in {full_list})",
        markup=False,
        soft_wrap=True,
    )


def _printable(name: str) -> str:
    """A file name may hold bytes that are no text."""
    return name.encode(errors="replace").decode()
