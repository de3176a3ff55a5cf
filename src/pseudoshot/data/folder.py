"""A folder of images, however deep; its first-level subfolders are the classes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pseudoshot.data.decode import extensions
from pseudoshot.data.encoded import Encoded, Form, load_encoded
from pseudoshot.data.image_set import ImageSet
from pseudoshot.errors import PseudoshotError

DEFAULT_SIZE = 64


def load_folder(folder: Path, size: int) -> ImageSet:
    """Every image below `folder`; labelled if all of them lie in subfolders."""
    if not folder.is_dir():
        raise PseudoshotError(f"'{folder}' is a file: give the folder its images are in")
    images = list(images_below(folder))
    if not images:
        raise PseudoshotError(
            f"no images below '{folder}': expected files such as .jpg or .png, in it or in "
            "one subfolder per class"
        )
    labelled = all(image.label for image in images)
    classes = tuple(sorted({image.label for image in images})) if labelled else None
    return load_encoded(str(folder), folder, images, Form(size), classes)


def images_below(folder: Path) -> Iterator[Encoded]:
    """The image files below `folder` in a fixed order; hidden ones and loops of links are left out.

    Names are relative to `folder`, and a label is the first part of a name that has several.
    """
    for name, entry in _images_below(folder, "", set()):
        stat = entry.stat()
        label, slash, _ = name.partition("/")
        stamp = (stat.st_size, stat.st_mtime_ns)
        yield Encoded(name, stamp, partial(Path, entry.path), label if slash else "")


def count_images_below(folder: Path) -> int:
    return sum(1 for _ in _images_below(folder, "", set()))


def _images_below(
    folder: str | Path, prefix: str, visited: set[tuple[int, int]]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Names are joined as text: sets have a million files, and a Path for each is slow."""
    try:
        stat = Path(folder).stat()
        with os.scandir(folder) as entries:
            in_order = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise PseudoshotError(f"'{folder}' cannot be listed: {error.strerror}") from error
    if (stat.st_dev, stat.st_ino) in visited:
        return
    visited.add((stat.st_dev, stat.st_ino))
    for entry in in_order:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _images_below(entry.path, f"{prefix}{entry.name}/", visited)
        elif "." + entry.name.rpartition(".")[2].lower() in extensions() and entry.is_file():
            yield prefix + entry.name, entry
