"""A file is there whole or not at all; one that found no room is named."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import NoRoomError, remove_unfinished, replaced, room_for, write_text

posix = pytest.mark.skipif(sys.platform != "linux", reason="limits are the kernel's")


@contextmanager
def disk_of(most: int) -> Iterator[None]:
    """No file grows beyond so many bytes: a write comes back short, as on a full disk."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@posix
def test_a_text_for_which_there_is_no_room_leaves_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    write_text(file, "before")
    with (
        disk_of(100),
        pytest.raises(PseudoshotError, match=r"no space left to write '.*run\.json' \(File too"),
    ):
        write_text(file, "x" * 1000)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    assert file.read_text() == "before"


@posix
def test_an_array_is_named_though_numpy_does_not_say_why(tmp_path: Path) -> None:
    with (
        disk_of(1000),
        pytest.raises(NoRoomError, match=r"'.*scores\.npy' \(.*written"),
        replaced(tmp_path / "scores.npy") as temporary,
        temporary.open("wb") as file,
    ):
        np.save(file, np.zeros(5000))
    assert list(tmp_path.iterdir()) == []


@posix
def test_a_full_device_is_named() -> None:
    full = Path("/dev/full")
    with (
        pytest.raises(NoRoomError, match=r"no space left to write '/dev/full' \(No space left"),
        room_for(full),
        full.open("wb") as file,
    ):
        file.write(b"x")


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), room_for(tmp_path):
        raise PermissionError(errno.EACCES, "not allowed")
    with pytest.raises(OSError, match="no space left"), room_for(tmp_path):  # also for `except`
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))


def test_the_longest_name_is_written_and_remains_are_told_from_other_files(tmp_path: Path) -> None:
    write_text(tmp_path / ("n" * 255), "long")
    assert (tmp_path / ("n" * 255)).read_text() == "long"
    (tmp_path / ".run.json.17-3.tmp").write_text("left by a process that was killed")
    (tmp_path / ".mine.tmp").write_text("somebody's")
    remove_unfinished(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"n" * 255, ".mine.tmp"}
