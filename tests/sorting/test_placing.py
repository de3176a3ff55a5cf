"""Sorting into folders: what was begun on a full disk is gone on with, and nothing overwritten."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from pseudoshot.sorting.placing import place
from pseudoshot.sorting.table import Sorted
from pseudoshot.tools.errors import PseudoshotError
from tests.cli.entry import here
from tests.pictures import draw_trees
from tests.tools.test_files import disk_of, posix

FILES = ("a.jpg", "b.jpg", "deep/c.jpg")


@pytest.fixture
def images(tmp_path: Path) -> Path:
    for number, name in enumerate(FILES):
        (tmp_path / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "images" / name).write_bytes(bytes([number]) * (5000 if number == 1 else 100))
    return tmp_path / "images"


def sort(images: Path, into: Path, copy: bool = True) -> None:
    result = Sorted(FILES, ("cat", "cat", "dog"), (0.9,) * 3, ("dog", "dog", "cat"))
    place(result, images, into, copy)


def found(into: Path) -> dict[str, bytes]:
    files = (path for path in into.rglob("*") if path.is_file())
    return {path.relative_to(into).as_posix(): path.read_bytes() for path in files}


def whole(images: Path) -> dict[str, bytes]:
    labels = ("cat", "cat", "dog")
    return {
        f"{label}/{name}": (images / name).read_bytes()
        for name, label in zip(FILES, labels, strict=True)
    }


@posix
def test_a_full_disk_leaves_no_truncated_copy_and_the_rest_follows(
    images: Path, tmp_path: Path
) -> None:
    into = tmp_path / "sorted"
    with disk_of(1000), pytest.raises(PseudoshotError, match=r"no space left to write '.*b\.jpg'"):
        sort(images, into)
    assert found(into) == {"cat/a.jpg": (images / "a.jpg").read_bytes()}
    sort(images, into)
    assert found(into) == whole(images)


def test_no_space_left_whatever_copies(images: Path, tmp_path: Path, monkeypatch) -> None:
    original = shutil.copy2

    def full(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes()[:7])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copy2", full)
    with pytest.raises(PseudoshotError, match=r"no space left to write '.*a\.jpg'"):
        sort(images, tmp_path / "sorted")
    assert found(tmp_path / "sorted") == {}
    monkeypatch.setattr(shutil, "copy2", original)
    (tmp_path / "sorted" / "cat" / ".a.jpg.1-0.tmp").write_bytes(b"of a process that was killed")
    sort(images, tmp_path / "sorted")
    assert found(tmp_path / "sorted") == whole(images)


@pytest.mark.parametrize("copy", [True, False])
def test_what_is_there_is_left_and_something_else_is_refused(
    images: Path, tmp_path: Path, copy: bool
) -> None:
    into = tmp_path / "sorted"
    sort(images, into, copy)
    before = {path: path.lstat().st_mtime_ns for path in into.rglob("*") if not path.is_dir()}
    sort(images, into, copy)
    assert before == {p: p.lstat().st_mtime_ns for p in into.rglob("*") if not p.is_dir()}
    (into / "cat" / "b.jpg").unlink()
    (into / "cat" / "b.jpg").write_bytes(b"\1" * 4999 + b"\2")  # of the same size
    with pytest.raises(PseudoshotError, match=r"b\.jpg' is there already.*not overwritten"):
        sort(images, into, copy)
    assert (into / "cat" / "b.jpg").read_bytes().endswith(b"\2")


@pytest.mark.parametrize("name", ["letter.txt", "cat/letter.txt", ".mine.tmp", "cat/x/link"])
def test_a_folder_of_other_things_is_refused_and_stays(
    images: Path, tmp_path: Path, name: str
) -> None:
    into = tmp_path / "sorted"
    (into / name).parent.mkdir(parents=True)
    if name.endswith("link"):
        (into / name).symlink_to(tmp_path)
    else:
        (into / name).write_text("precious")
    with pytest.raises(PseudoshotError, match=f"is not empty: {name} is not of this sorting"):
        sort(images, into)
    assert sum(1 for path in into.rglob("*") if not path.is_dir() or path.is_symlink()) == 1


@posix
def test_classify_is_repeated_as_it_was_typed(tmp_path: Path) -> None:
    draw_trees(tmp_path / "support", 2, seed=1)
    draw_trees(tmp_path / "images", 2, seed=2)
    large = tmp_path / "images" / "elm" / "1.jpg"
    large.write_bytes(large.read_bytes() + bytes(1 << 21))  # a JPEG may end in anything
    command = ("classify", "conv4-cifar-fs", "--support", tmp_path / "support")
    command += ("--images", tmp_path / "images", "--csv", tmp_path / "l.csv")
    command += ("--sort-into", tmp_path / "sorted", "--copy")
    with disk_of(1 << 20):
        result = here(*command)
    assert (result.returncode, result.stdout) == (1, "")
    assert "no space left to write" in result.stderr
    assert "1.jpg" in result.stderr
    begun = found(tmp_path / "sorted")
    result = here(*command)
    assert result.returncode == 0, result.stderr
    done = found(tmp_path / "sorted")
    assert len(done) == 6
    assert begun.items() < done.items()
