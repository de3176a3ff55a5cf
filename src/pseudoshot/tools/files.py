"""Writing a file so that it is there whole or not at all."""

from __future__ import annotations

import errno
import itertools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pseudoshot.tools.errors import PseudoshotError

# A full disk, a quota, a limit of the process or of the file system; None: of NumPy, which wrote
# less than it was given and does not say why.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, None)
_numbers = itertools.count()


class NoRoomError(PseudoshotError, OSError):
    """A file did not find room. An OSError too, for those who can do without the file."""


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """What is written in the block is `path`: where there is no room, the error names it."""
    try:
        yield
    except NoRoomError:
        raise
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise NoRoomError(
            f"no space left to write '{path}' ({error.strerror or error}): make room and repeat it"
        ) from error


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, which takes its place if the block ends without an error."""
    # a name may be as long as names can be, and another thread may write one that begins alike
    temporary = path.with_name(f".{path.name[:40]}.{os.getpid()}-{next(_numbers)}.tmp")
    try:
        with room_for(path):
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
        if is_unfinished(temporary.name):
            temporary.unlink(missing_ok=True)


def is_unfinished(name: str) -> bool:
    """Whether `replaced` may have left a file of this name.

    >>> is_unfinished(".cat.jpg.4711-0.tmp"), is_unfinished(".vacation.tmp")
    (True, False)
    """
    return re.fullmatch(r"\..{1,40}\.\d+-\d+\.tmp", name, re.DOTALL) is not None


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
