"""`pseudoshot cache`: what is kept and where; nothing else is ever deleted."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from pseudoshot.data import load
from pseudoshot.data.cache import lock_of
from pseudoshot.runs.kept import all_kept
from tests.cli.entry import here, pseudoshot, refused
from tests.pictures import draw_noise

HOLDS = """
import sys
from pseudoshot.data import load
images = load(sys.argv[1], size=8)
print("open", flush=True)
sys.stdin.readline()
print(int(images.images[:].sum()))
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PSEUDOSHOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PSEUDOSHOT_PROJECTS", str(tmp_path / "projects"))
    return tmp_path / "cache"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    draw_noise(tmp_path / "photos", 10, 12)
    return tmp_path / "photos"


@pytest.fixture
def kept(cache: Path, photos: Path, tmp_path: Path) -> dict[str, Path]:
    """One of each: two decoded sets, compiled steps, a project, and things that are no business
    of ours."""
    load(str(photos), size=8)
    load(str(photos), size=9)
    (cache / "compiled").mkdir()
    (cache / "compiled" / f"{'0f' * 32}.so").write_bytes(bytes(5000))
    (tmp_path / "projects").mkdir()
    with sqlite3.connect(tmp_path / "projects" / "photos-12.sqlite") as database:
        database.execute("CREATE TABLE work (hours)")
    database.close()
    precious = {
        "data": cache / "cifar-100-python" / "train",
        "beside": cache / "decoded" / "holiday" / "images.bin",
        "alike": cache / "decoded" / f"mine-{'a' * 20}" / "diary.txt",
        "tool": cache / "compiled" / "tool.so",
        "outside": tmp_path / "elsewhere" / "set.json",
    }
    for path in precious.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("precious")
    (cache / "decoded" / f"link-{'b' * 20}").symlink_to(precious["outside"].parent)
    return precious


def names(kind: str) -> list[str]:
    return [one.name for one in all_kept() if one.kind == kind]


def untouched(precious: dict[str, Path]) -> bool:
    return {path.read_text() for path in precious.values()} == {"precious"}


def test_it_shows_what_is_kept_whose_it_is_and_how_large(kept, photos: Path, cache: Path) -> None:
    result = pseudoshot("cache")
    assert result.returncode == 0, result.stderr
    told = "".join(result.stdout.split())
    assert told.count(str(photos)) == 2
    assert all(name in told for kind in ("decoded", "compiled", "project") for name in names(kind))
    assert str(cache) in told
    decoded = [one for one in all_kept() if one.of == str(photos)]
    assert [one.images for one in decoded] == [10, 10]
    assert all(one.disk >= 10 * 8 * 8 * 3 for one in decoded)
    assert untouched(kept)


@pytest.mark.parametrize(
    ("what", "left"),
    [
        ("decoded", {"decoded": 1, "compiled": 1, "project": 1}),
        ("compiled", {"decoded": 3, "compiled": 0, "project": 1}),
        ("all", {"decoded": 1, "compiled": 0, "project": 1}),
        ("photos-12", {"decoded": 3, "compiled": 1, "project": 0}),
    ],
)
def test_what_is_asked_for_is_cleared_and_nothing_else(kept, what: str, left) -> None:
    result = here("cache", "--clear", what)
    assert result.returncode == 0, result.stderr
    assert "freed" in result.stdout
    assert {kind: len(names(kind)) for kind in left} == left
    if what in ("decoded", "all"):
        assert f"left: mine-{'a' * 20} (diary.txt in it was not written by" in result.stdout
    assert untouched(kept)


def test_one_set_by_its_name_and_it_is_decoded_again(kept, photos: Path) -> None:
    name = next(one.name for one in all_kept() if one.of == str(photos))
    result = here("cache", "--clear", name)
    assert "cleared: 1 of 1" in result.stdout
    assert name not in names("decoded")
    load(str(photos), size=8)
    load(str(photos), size=9)
    assert name in names("decoded")


def test_a_name_that_nothing_has(kept) -> None:
    for wrong in ("holiday", "..", "", "projects", str(kept["outside"].parent)):
        refused(here("cache", "--clear", wrong), "nothing is kept by the name")
    assert untouched(kept)


@pytest.mark.skipif(os.name == "nt", reason="locks of files")
def test_a_set_that_another_process_uses_is_left_and_said(photos: Path) -> None:
    command = [sys.executable, "-c", HOLDS, str(photos)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        result = here("cache", "--clear", "all")
        assert "in use by a process" in result.stdout
        assert "cleared: 0 of 1, 0 B freed" in result.stdout
        told, _ = other.communicate("\n")
    assert int(told) == int(load(str(photos), size=8).images[:].sum())
    assert "cleared: 1 of 1" in here("cache", "--clear", "all").stdout
    assert names("decoded") == []


@pytest.mark.skipif(os.name == "nt", reason="locks of files")
def test_a_set_that_is_being_built_is_left(photos: Path) -> None:
    from filelock import FileLock

    load(str(photos), size=8)
    (place,) = (one.path for one in all_kept())
    with FileLock(lock_of(place)):
        assert "in use by a process" in here("cache", "--clear", "decoded").stdout
    assert place.is_dir()


def test_an_open_project_is_left(kept, tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "projects" / "photos-12.sqlite")
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("INSERT INTO work VALUES (100)")
        database.commit()
        assert "left: photos-12 (in use" in here("cache", "--clear", "photos-12").stdout
        assert database.execute("SELECT * FROM work").fetchall() == [(100,)]
    finally:
        database.close()


def test_an_empty_cache(cache: Path) -> None:
    assert "0 B in all" in here("cache").stdout
    assert "cleared: 0 of 0" in here("cache", "--clear", "all").stdout
