"""Writing a file so that it is there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pseudoshot.tools.errors import PseudoshotError


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, which takes its place if the block ends without an error."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Delete what `replaced` left in a folder when its process was killed."""
    for temporary in folder.glob(".*.tmp"):
        temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """A renamed file survives a power cut only once its folder is on disk, too."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def refuse_existing(file: Path) -> None:
    """Where a file cannot be written without harm, or at all."""
    if file.exists():
        raise PseudoshotError(f"'{file}' exists and is not overwritten: name another file")
    if not file.parent.is_dir():
        raise PseudoshotError(f"there is no folder '{file.parent}' to write {file.name} to")


def is_file(path: Path) -> bool:
    """Whether there is such a file; no, for a name that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, or with a NUL
        return False
