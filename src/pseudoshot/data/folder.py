"""A folder of images, however deep; its first-level subfolders are the classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pseudoshot.data.decode import extensions
from pseudoshot.data.from_files import Encoded, Form, Listing, load_files
from pseudoshot.data.image_set import ImageSet
from pseudoshot.tools.console import say
from pseudoshot.tools.errors import PseudoshotError

DEFAULT_SIZE = 64
_SAID = 3  # of what was passed over, by name; `skipped` has all


def load_folder(
    folder: Path, size: int, *, labelled: bool = False, stay_inside: bool = False
) -> ImageSet:
    """Every image below `folder`; labelled if all of them lie in subfolders.

    With `labelled`, images beside class folders are passed over. With `stay_inside`, links that
    lead out of the folder are not followed.
    """
    listed = list_folder(folder, labelled=labelled, stay_inside=stay_inside)
    return load_listed(folder, listed, size)


@dataclass(frozen=True)
class Listed:
    """The images that `load_folder` reads, and what it does not, with reasons."""

    images: Listing
    passed_over: tuple[str, ...] = ()
    part: str = ""  # of the folder, where not all of it is read


def list_folder(folder: Path, *, labelled: bool = False, stay_inside: bool = False) -> Listed:
    """Before anything is decoded."""
    if not folder.is_dir():
        raise PseudoshotError(f"'{folder}' is a file: give the folder its images are in")
    passed_over: list[str] = []
    images = Listing(images_below(folder, stay_inside=stay_inside, passed_over=passed_over))
    if not len(images):
        raise PseudoshotError(
            f"no images below '{folder}': expected files such as .jpg or .png, in it or in "
            f"one subfolder per class{''.join(f'; {reason}' for reason in passed_over[:_SAID])}"
        )
    part = ""
    if labelled and len(images.labels) > 1 and "" in images.labels:
        beside = [image.name for image in images if not image.label]
        passed_over += [f"{name}: beside the class folders, so of no class" for name in beside]
        images, part = Listing(image for image in images if image.label), "labelled"
    return Listed(images, tuple(passed_over), part)


def load_listed(
    folder: Path, listed: Listed, size: int, told: Callable[[int], None] | None = None
) -> ImageSet:
    """The images of a folder once they are listed; `told` is called with how many were read."""
    images, passed_over = listed.images, listed.passed_over
    classes = tuple(images.labels) if "" not in images.labels else None
    image_set = load_files(str(folder), folder, images, Form(size), classes, listed.part, told)
    if passed_over:
        more = f"; and {len(passed_over) - _SAID:,} more" if len(passed_over) > _SAID else ""
        say(f"passed over in {folder}: {'; '.join(passed_over[:_SAID])}{more}")
    return replace(image_set, skipped=(*passed_over, *image_set.skipped))


def images_below(
    folder: Path,
    part: str = "",
    *,
    stay_inside: bool = False,
    passed_over: list[str] | None = None,
) -> Iterator[Encoded]:
    """The image files below `folder` in a fixed order; hidden ones and loops of links are left out.

    Names are relative to `folder`, and a label is the first part of a name that has several. With
    `part`, only those below that subfolder. Folders below that cannot be listed, and those directly
    in it without an image, are added to `passed_over`; without that list, the former are an error.
    """
    opener = partial(path_inside, folder) if stay_inside else partial(Path, folder)
    for name in _names_below(folder, f"{part}/" if part else "", stay_inside, passed_over):
        label, slash, _ = name.partition("/")
        # What is not read is not cached as if it were: the same folder may be read both ways.
        stamp = (0, 0) if stay_inside and _leaves(folder, name) else _stamp(folder, name)
        yield Encoded(name, stamp, opener, label if slash else "")


def path_inside(folder: Path, name: str) -> Path:
    """Where a file of the folder is; an error if that is elsewhere."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise PseudoshotError("leads out of the folder")
    return path


def count_images_below(folder: Path) -> int:
    return sum(1 for _ in _names_below(folder))


def _stamp(folder: Path, name: str) -> tuple[int, int]:
    """Zeros for a file that is gone since it was listed, or locked: it will be among the skipped,
    and be read once it can be."""
    path = f"{folder}/{name}"  # a Path for each of a million is slow
    try:
        stat = os.stat(path)  # noqa: PTH116
    except OSError:
        return 0, 0
    for_all = stat.st_mode & 0o444 == 0o444
    return (stat.st_size, stat.st_mtime_ns) if for_all or os.access(path, os.R_OK) else (0, 0)


def _names_below(
    folder: Path,
    prefix: str = "",
    stay_inside: bool = False,
    passed_over: list[str] | None = None,
) -> Iterator[str]:
    """Without recursion, however deep; names of folders, '' among them, do not leave here."""
    visited: set[tuple[int, int]] = set()
    waiting, empty, locked = [prefix], set[str](), {}
    while waiting:
        name = waiting.pop()
        if name and not name.endswith("/"):
            empty.discard(name[: name.find("/") + 1])
            yield name
            continue
        try:
            below = _listed(folder, name, visited)
        except OSError as error:
            if name == prefix or passed_over is None:
                raise PseudoshotError(
                    f"'{folder / name}' cannot be listed: {error.strerror}"
                ) from error
            locked[name] = f"cannot be listed ({error.strerror})"
            continue
        if stay_inside:
            below = [n for n in below if not (n.endswith("/") and _leaves(folder, n))]
        if name == prefix:
            empty = {n for n in below if n.endswith("/")}
        waiting.extend(below)
    reasons = {**dict.fromkeys(empty, "no images in it"), **locked}
    if passed_over is not None:
        passed_over += [f"{name}: {reasons[name]}" for name in sorted(reasons)]


def _leaves(folder: Path, name: str) -> bool:
    """Whether this is a link to somewhere outside the folder."""
    path = folder / name
    return path.is_symlink() and not path.resolve().is_relative_to(folder.resolve())


def _listed(folder: Path, prefix: str, visited: set[tuple[int, int]]) -> list[str]:
    """Images and folders directly in folder/prefix, the last first; folders end in a slash.

    Only names are kept: a folder may have a million files.
    """
    where = folder / prefix
    stat = where.stat()
    with os.scandir(where) as entries:
        names = [f"{prefix}{entry.name}{end}" for entry in entries for end in _ending(entry)]
    if (stat.st_dev, stat.st_ino) in visited:
        return []
    visited.add((stat.st_dev, stat.st_ino))
    names.sort(key=lambda name: name.removesuffix("/"), reverse=True)
    return names


def _ending(entry: os.DirEntry[str]) -> tuple[str, ...]:
    """What to put behind an entry's name; nothing at all for an entry to pass over."""
    if entry.name.startswith("."):
        return ()
    try:
        if entry.is_dir():
            return ("/",)
        is_image = "." + entry.name.rpartition(".")[2].lower() in extensions()
        return ("",) if is_image and entry.is_file() else ()
    except OSError:  # a link to itself
        return ()
