"""Built once, rebuilt when anything changed, never half-built."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from pseudoshot.data import cache, load
from pseudoshot.data.checked import DIGESTS
from pseudoshot.data.rows import Rows
from pseudoshot.tools.errors import PseudoshotError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PSEUDOSHOT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "decoded"


def one(rows: Rows, _: object = None) -> cache.Contents:
    rows.append(np.arange(12, dtype=np.uint8).reshape(1, 2, 2, 3))
    return cache.Contents(np.array([0]), ("only",))


def test_a_second_load_decodes_nothing(photos: Path, decoded: list[object]) -> None:
    first = load(str(photos), size=8)
    assert len(decoded) == 6
    second = load(str(photos), size=8)
    assert len(decoded) == 6
    assert np.array_equal(first.images, second.images)
    assert np.array_equal(first.labels, second.labels)
    assert (first.classes, first.files, first.skipped) == (
        second.classes,
        second.files,
        second.skipped,
    )


def test_images_are_mapped_and_read_only(photos: Path) -> None:
    images = load(str(photos), size=8).images
    assert isinstance(images, np.memmap)
    assert not images.flags.writeable


def test_another_size_is_another_set(photos: Path) -> None:
    assert load(str(photos), size=8).size == 8
    assert load(str(photos), size=9).size == 9


def test_an_interrupted_build_leaves_nothing(folder: Path) -> None:
    def interrupted(rows: Rows, _: object) -> cache.Contents:
        one(rows)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.fetch("toy", {}, "1", interrupted)
    assert list(folder.glob("toy-*/*")) == []
    assert cache.fetch("toy", {}, "1", one).images.ravel().tolist() == list(range(12))


def test_the_remains_of_a_killed_build_do_not_count(folder: Path) -> None:
    cache.fetch("toy", {}, "1", one)
    (whole,) = folder.glob("toy-*/*")
    partial = whole.rename(whole.with_name(whole.name + cache.PARTIAL))
    (partial / cache.IMAGES).write_bytes(b"half")
    assert len(cache.fetch("toy", {}, "1", one)) == 1
    assert not partial.exists()


@pytest.mark.parametrize("file", [cache.IMAGES, cache.DESCRIPTION, cache.LABELS, DIGESTS])
def test_a_damaged_set_is_built_again(folder: Path, file: str) -> None:
    cache.fetch("toy", {}, "1", one)
    next(folder.glob(f"toy-*/*/{file}")).write_bytes(b"{")
    assert cache.fetch("toy", {}, "1", one).images.ravel().tolist() == list(range(12))


def _slow_build(folder: str, start: object, built: object) -> None:
    os.environ["PSEUDOSHOT_CACHE"] = folder

    def build(rows: Rows, _: object) -> cache.Contents:
        with built.get_lock():
            built.value += 1
        for value in range(200):
            rows.append(np.full((1, 4, 4, 3), value, np.uint8))
        return cache.Contents()

    start.wait()
    images = cache.fetch("shared", {}, "1", build).images
    assert images[:, 0, 0, 0].tolist() == list(range(200))


@pytest.mark.skipif(os.name == "nt", reason="forks")
def test_processes_that_build_at_once_build_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    start, built = context.Barrier(4), context.Value("i", 0)
    folder = str(tmp_path / "cache")
    workers = [context.Process(target=_slow_build, args=(folder, start, built)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert built.value == 1


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PSEUDOSHOT_CACHE", str(tmp_path / "file"))
    with pytest.raises(PseudoshotError, match="PSEUDOSHOT_CACHE"):
        cache.fetch("toy", {}, "1", one)
