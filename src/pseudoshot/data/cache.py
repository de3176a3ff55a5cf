"""The cache: an image set is built once, then memory-mapped, so it may be larger than memory.

A set has a folder of its own, and in it one folder per version: what it held when it was last read.
A new version is built with the rows of the one before at hand, which is then removed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from filelock import FileLock
from platformdirs import user_cache_dir

from pseudoshot.data.checked import (
    DIGESTS,
    CheckedImages,
    in_use,
    note,
    open_images,
    read_digests,
    write_digests,
)
from pseudoshot.data.image_set import ImageSet
from pseudoshot.data.rows import GRAY, IMAGES, PROGRESS, Rows
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import room_for

FORMAT = 2  # raise it when what is written for the same set changes
LABELS, KEYS, DESCRIPTION = "labels.npy", "keys.npy", "set.json"
ABOUT = "about.json"  # the little that a person asks of a set, however large it is
PARTIAL = ".partial"  # behind the name of a version that is being built
Keys = npt.NDArray[np.uint64]  # (n, 2): digests of what decides an image's bytes


class Unread(NamedTuple):
    """A file that could not be read."""

    name: str
    why: str
    key: str  # of the file as it was then


@dataclass(frozen=True)
class Contents:
    """What a set holds beside its pixels."""

    labels: npt.NDArray[np.int64] | None = None
    classes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # the name of the file each image came from, where it had one
    unread: tuple[Unread, ...] = ()
    keys: Keys | None = None  # of each image, where the next version may take it over
    readers: tuple[str, ...] = ()  # by which `unread` were tried


@dataclass(frozen=True)
class Before:
    """The version of a set that there was: rows that did not change are taken from it."""

    images: CheckedImages
    keys: Keys
    unread: Mapping[str, str]  # from keys to reasons
    readers: tuple[str, ...]


Build = Callable[[Rows, Before | None], Contents]


def cache_folder() -> Path:
    """PSEUDOSHOT_CACHE, or the user's cache folder."""
    given = os.environ.get("PSEUDOSHOT_CACHE")
    return Path(given).expanduser() if given else Path(user_cache_dir("pseudoshot"))


def place_of(name: str, identity: Mapping[str, object]) -> Path:
    """The folder of the set that `identity` tells from all others."""
    text = json.dumps({"format": FORMAT, **identity}, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:20]
    readable = "".join(c if c.isascii() and c.isalnum() else "-" for c in Path(name).name)[:40]
    return cache_folder() / "decoded" / f"{readable}-{digest}"


def fetch(name: str, identity: Mapping[str, object], version: str, build: Build) -> ImageSet:
    """A set as it is in this version, built by `build` if the cache does not hold it yet.

    A build happens in a folder beside the final one, which it is renamed to at the end: a build
    that was interrupted is never taken for a set, and goes on where it last saved its progress.
    A lock keeps two processes from building at once.
    """
    place = place_of(name, identity)
    folder = place / hashlib.sha256(version.encode()).hexdigest()[:20]
    with suppress(_UnusableError):
        return _open(name, folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        with FileLock(lock_of(place)):
            with suppress(_UnusableError):
                return _open(name, folder)  # another process has built it meanwhile
            place.mkdir(exist_ok=True)  # it may have been cleared
            shutil.rmtree(folder, ignore_errors=True)
            _build(folder, build, _before(place), {"name": name, **identity})
            found = _open(name, folder)
            _remove_others(place, folder)
            return found
    except (OSError, _UnusableError) as error:
        raise PseudoshotError(
            f"the cache at {folder} cannot be written ({error}): make room or permit it, "
            "or set PSEUDOSHOT_CACHE to another folder"
        ) from error


def set_files() -> tuple[str, ...]:
    """All names of files that a set may have."""
    return IMAGES, GRAY, LABELS, KEYS, DESCRIPTION, ABOUT, DIGESTS, PROGRESS


def lock_of(place: Path) -> Path:
    """Held by who builds or clears a set."""
    return place.with_name(f"{place.name}.lock")


class _UnusableError(Exception):
    """A set that is not there, or damaged: it is built again."""


def _open(name: str, folder: Path) -> ImageSet:
    try:
        description, images = described(folder)
        labels = np.load(folder / LABELS) if description["labelled"] else None
        found = ImageSet(
            name,
            images,
            labels=labels,
            classes=tuple(description["classes"]),
            skipped=tuple(f"{name}: {why}" for name, why, _ in description["unread"]),
            files=tuple(description["files"]),
        )
        if labels is not None:
            _check_labels(labels, len(found.classes))
    except Exception as error:  # content of any kind leads to errors of any kind
        raise _UnusableError(str(error)) from error
    with suppress(OSError):
        os.utime(folder / DIGESTS)  # when it was last used
    return found


def described(folder: Path) -> tuple[dict[str, Any], CheckedImages]:
    """What a version says of itself, and its images."""
    description = json.loads((folder / DESCRIPTION).read_text("utf-8"))
    shape = tuple(description["shape"])
    if (folder / IMAGES).stat().st_size != math.prod(shape):
        raise ValueError(f"{folder / IMAGES} has not the size it should have")
    return description, open_images(folder / IMAGES, shape, read_digests(folder))


def _check_labels(labels: npt.NDArray[np.int64], classes: int) -> None:
    if labels.dtype != np.int64 or labels.min() < 0 or labels.max() >= classes:
        raise ValueError("labels that are no classes")


def versions_in(place: Path) -> list[Path]:
    """The complete versions of a set, the last that was used first."""
    found = [path for path in place.iterdir() if path.suffix != PARTIAL and path.is_dir()]
    kept = [path for path in found if (path / DIGESTS).is_file()]
    return sorted(kept, key=lambda path: (path / DIGESTS).stat().st_mtime_ns, reverse=True)


def _before(place: Path) -> Before | None:
    for folder in versions_in(place):
        with suppress(Exception):  # content of any kind leads to errors of any kind
            description, images = described(folder)
            keys = np.load(folder / KEYS)
            if keys.dtype == np.uint64 and keys.shape == (len(images), 2):
                unread = {key: why for _, why, key in description["unread"]}
                return Before(images, keys, unread, tuple(description["readers"]))
    return None


def _build(folder: Path, build: Build, before: Before | None, about: dict[str, object]) -> None:
    partial = folder.with_name(folder.name + PARTIAL)
    partial.mkdir(exist_ok=True)
    try:
        with Rows(partial) as rows:
            contents = build(rows, before)
        arrays = {LABELS: contents.labels, KEYS: contents.keys}
        for name, array in arrays.items():
            if array is not None:
                with room_for(partial / name):
                    np.save(partial / name, array)
        note(partial / ABOUT, json.dumps({**about, "images": rows.shape[0]}))
        description = {
            "shape": rows.shape,
            "labelled": contents.labels is not None,
            "classes": contents.classes,
            "unread": contents.unread,
            "readers": contents.readers,
            "files": contents.files,
        }
        note(partial / DESCRIPTION, json.dumps(description))
        (partial / PROGRESS).unlink(missing_ok=True)
        others = [DESCRIPTION, *(name for name, array in arrays.items() if array is not None)]
        write_digests(partial, IMAGES, rows.shape[0], others)
        partial.rename(folder)
    except BaseException:
        if not (partial / PROGRESS).is_file():  # nothing was saved that could be gone on from
            shutil.rmtree(partial, ignore_errors=True)
        raise


def _remove_others(place: Path, kept: Path) -> None:
    """Earlier versions, but not one that a process reads: the next build removes that."""
    for path in place.iterdir():
        if path != kept and not in_use(path / IMAGES):
            shutil.rmtree(path, ignore_errors=True)
