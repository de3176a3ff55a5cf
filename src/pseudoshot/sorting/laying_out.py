"""Suggested images in a folder of their own, ready to be sorted into one subfolder per class."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from pseudoshot.tools.errors import PseudoshotError


def check_new_folder(folder: Path, images: Path) -> None:
    """Before the work: a new folder, or an empty one, and not among the images."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PseudoshotError(f"'{folder}' is not empty: name a new folder")
    if folder.resolve().is_relative_to(images.resolve()):
        raise PseudoshotError(
            f"'{folder}' lies within '{images}', whose images would be found twice from then on: "
            f"name a folder elsewhere"
        )


def lay_out(files: Iterable[str], images: Path, into: Path, copy: bool) -> None:
    """A link to each file, or a copy, side by side; the first to label is the first by name.

    >>> lay_out(["cats/1.jpg", "2.jpg"], Path("photos"), Path("to label"), copy=True)
    ... # doctest: +SKIP
    """
    into.mkdir(parents=True, exist_ok=True)
    for number, file in enumerate(files, start=1):
        target = into / f"{number:03d} {Path(file).name}"
        if copy:
            shutil.copy2(images / file, target)
            continue
        try:
            target.symlink_to((images / file).resolve())
        except OSError as error:
            raise PseudoshotError(
                f"a link cannot be made in '{into}' ({error.strerror}): give --copy"
            ) from error
