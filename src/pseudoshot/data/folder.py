"""A folder of images, however deep; its first-level subfolders are the classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pseudoshot.data.decode import extensions
from pseudoshot.data.from_files import Encoded, Form, Listing, load_files
from pseudoshot.data.image_set import ImageSet
from pseudoshot.tools.errors import PseudoshotError

DEFAULT_SIZE = 64


def load_folder(folder: Path, size: int, *, stay_inside: bool = False) -> ImageSet:
    """Every image below `folder`; labelled if all of them lie in subfolders.

    With `stay_inside`, links that lead out of the folder are not followed.
    """
    return load_listed(folder, list_folder(folder, stay_inside=stay_inside), size)


def list_folder(folder: Path, *, stay_inside: bool = False) -> Listing:
    """The images that `load_folder` reads."""
    if not folder.is_dir():
        raise PseudoshotError(f"'{folder}' is a file: give the folder its images are in")
    images = Listing(images_below(folder, stay_inside=stay_inside))
    if not len(images):
        raise PseudoshotError(
            f"no images below '{folder}': expected files such as .jpg or .png, in it or in "
            "one subfolder per class"
        )
    return images


def load_listed(
    folder: Path, images: Listing, size: int, told: Callable[[int], None] | None = None
) -> ImageSet:
    """The images of a folder once they are listed; `told` is called with how many were read."""
    classes = tuple(images.labels) if "" not in images.labels else None
    return load_files(str(folder), folder, images, Form(size), classes, told)


def images_below(folder: Path, part: str = "", *, stay_inside: bool = False) -> Iterator[Encoded]:
    """The image files below `folder` in a fixed order; hidden ones and loops of links are left out.

    Names are relative to `folder`, and a label is the first part of a name that has several. With
    `part`, only those below that subfolder.
    """
    opener = partial(path_inside, folder) if stay_inside else partial(Path, folder)
    for name in _names_below(folder, f"{part}/" if part else "", stay_inside):
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
    """Zeros for a file that is gone since it was listed: it will be among the skipped."""
    try:
        stat = os.stat(f"{folder}/{name}")  # noqa: PTH116 (a Path for each of a million is slow)
    except OSError:
        return 0, 0
    return stat.st_size, stat.st_mtime_ns


def _names_below(folder: Path, prefix: str = "", stay_inside: bool = False) -> Iterator[str]:
    """Without recursion, however deep; names of folders, '' among them, do not leave here."""
    visited: set[tuple[int, int]] = set()
    waiting = [prefix]
    while waiting:
        name = waiting.pop()
        if name and not name.endswith("/"):
            yield name
        else:
            below = _listed(folder, name, visited)
            if stay_inside:
                below = [n for n in below if not (n.endswith("/") and _leaves(folder, n))]
            waiting.extend(below)


def _leaves(folder: Path, name: str) -> bool:
    """Whether this is a link to somewhere outside the folder."""
    path = folder / name
    return path.is_symlink() and not path.resolve().is_relative_to(folder.resolve())


def _listed(folder: Path, prefix: str, visited: set[tuple[int, int]]) -> list[str]:
    """Images and folders directly in folder/prefix, the last first; folders end in a slash.

    Only names are kept: a folder may have a million files.
    """
    where = folder / prefix
    try:
        stat = where.stat()
        with os.scandir(where) as entries:
            names = [f"{prefix}{entry.name}{end}" for entry in entries for end in _ending(entry)]
    except OSError as error:
        raise PseudoshotError(f"'{where}' cannot be listed: {error.strerror}") from error
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
