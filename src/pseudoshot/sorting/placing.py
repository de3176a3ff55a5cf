"""Images into the folder of their class, as links or copies.

What was begun can be repeated: images that are there already are compared and left, what is missing
is added, and nothing that is something else is overwritten.
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pseudoshot.sorting.table import Sorted
from pseudoshot.tools.console import progress_bar
from pseudoshot.tools.errors import PseudoshotError, first_line
from pseudoshot.tools.files import is_unfinished, remove_unfinished, replaced, room_for


def check_destination(folder: Path, sources: tuple[Path | None, ...]) -> None:
    """Before any work: whether this may be a folder to sort into."""
    if folder.exists() and not folder.is_dir():
        raise PseudoshotError(f"'{folder}' is a file: name a new folder to sort into")
    for source in sources:
        if source is not None and folder.resolve().is_relative_to(source.resolve()):
            raise PseudoshotError(
                f"'{folder}' lies within '{source}', whose images would be found twice from then "
                f"on: name a folder elsewhere"
            )


def sort_into(result: Sorted, images: Path, into: Path, copy: bool) -> None:
    """The same at once, where whatever the disk says is to be one sentence."""
    try:
        check_destination(into, (images,))
        place(result, images, into, copy)
    except PseudoshotError:
        raise
    except OSError as error:
        raise PseudoshotError(f"'{into}' cannot be made: {first_line(error)}") from error


def place(result: Sorted, images: Path, into: Path, copy: bool) -> None:
    """A link to, or a copy of, every image below the folder of its class, under its own name."""
    folders = folder_names(sorted(set(result.labels)))
    labelled = zip(result.files, result.labels, strict=True)
    _put({f"{folders[label]}/{file}": file for file, label in labelled}, images, into, copy)


def lay_out(files: Iterable[str], images: Path, into: Path, copy: bool) -> None:
    """The same of suggested images, side by side: the first to label is the first by name."""
    numbered = enumerate(files, start=1)
    _put({f"{n:03d} {Path(file).name}": file for n, file in numbered}, images, into, copy)


def _put(originals: Mapping[str, str], images: Path, into: Path, copy: bool) -> None:
    """By their names in the new folder and in that of the images."""
    for present in _files_below(into):
        if present not in originals:
            raise PseudoshotError(
                f"'{into}' is not empty: {present} is not of this sorting; name a new folder"
            )
    for folder, _, _ in os.walk(into):
        remove_unfinished(Path(folder))
    put = _copy if copy else _link
    with progress_bar() as bar:
        for target, original in bar.track(originals.items(), description="sorting"):
            (into / target).parent.mkdir(parents=True, exist_ok=True)
            put(images / original, into / target)


def _files_below(folder: Path) -> Iterator[str]:
    """By their names relative to the folder; not those that a copy left when it was killed."""
    for where, folders, names in os.walk(folder):
        part, links = Path(where), [name for name in folders if Path(where, name).is_symlink()]
        for name in (*names, *links):
            if not is_unfinished(name):
                yield (part / name).relative_to(folder).as_posix()


def _copy(original: Path, target: Path) -> None:
    if os.path.lexists(target):
        if target.is_symlink() or not filecmp.cmp(original, target, shallow=False):
            raise _in_the_way(target)
        return
    with replaced(target) as temporary:
        shutil.copy2(original, temporary)


def _link(original: Path, target: Path) -> None:
    original = original.resolve()
    if os.path.lexists(target):
        if not target.is_symlink() or target.resolve() != original:
            raise _in_the_way(target)
        return
    try:
        with room_for(target):
            target.symlink_to(original)
    except OSError as error:
        if isinstance(error, PseudoshotError):
            raise
        raise PseudoshotError(
            f"a link cannot be made in '{target.parent}' ({error.strerror}): give --copy"
        ) from error


def _in_the_way(target: Path) -> PseudoshotError:
    return PseudoshotError(
        f"'{target}' is there already, is something else and is not overwritten: name a new folder"
    )


def folder_names(labels: list[str]) -> dict[str, str]:
    """A folder name for each label, however the label is written; no two the same.

    >>> folder_names(["cats", "a/b", "a:b", ".."])
    {'cats': 'cats', 'a/b': 'a_b', 'a:b': 'a_b_2', '..': '_'}
    """
    names: dict[str, str] = {}
    for label in labels:
        plain = re.sub(r'[\\/:*?"<>|\x00-\x1f]', "_", label)[:100].strip(". ") or "_"
        name, number = plain, 1
        while name.casefold() in map(str.casefold, names.values()):
            number += 1
            name = f"{plain}_{number}"
        names[label] = name
    return names
