"""The project on the disk: what was acknowledged is there, what is damaged is refused."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pseudoshot.serve import store as storing
from pseudoshot.serve.edits import Edit, NotApplicableError
from pseudoshot.serve.store import DamagedError, Store, project_file
from pseudoshot.tools.errors import PseudoshotError

EDITS = TypeAdapter(list[Edit])


def add(name: str) -> list[Edit]:
    return EDITS.validate_python([{"kind": "add_class", "name": name}])


def label(file: str, name: str | None) -> list[Edit]:
    return EDITS.validate_python([{"kind": "label", "files": [file], "class": name}])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "projects" / "p.sqlite"


def filled(file: Path) -> Store:
    store = Store(file, "/photos")
    store.change(add("cat"))
    store.change(add("dog"))
    for number in range(20):
        store.change(label(f"{number}.jpg", "cat" if number % 2 else "dog"))
    store.undo()
    return store


def test_another_start_goes_on_where_the_last_one_was(file):
    store = filled(file)
    before = store.read()
    store.close()
    again = Store(file, "/photos")
    assert again.read() == before
    assert again.redo().version == before.version + 1
    assert again.read().project.examples["19.jpg"] == "cat"


def test_two_servers_on_one_folder_see_each_other_and_share_one_history(file):
    one, other = filled(file), Store(file, "/photos")
    assert other.read() == one.read()
    version = other.change(label("x.jpg", "dog")).version
    assert one.read().version == version
    assert one.read().project.examples["x.jpg"] == "dog"
    assert "x.jpg" not in one.undo().project.examples
    assert other.read() == one.read()


def test_changes_of_many_at_once_are_all_there(file):
    filled(file).close()
    stores = [Store(file, "/photos") for _ in range(3)]

    def work(who: int) -> None:
        for number in range(15):
            stores[who].change(label(f"{who}-{number}.jpg", "cat"))

    threads = [threading.Thread(target=work, args=(who,)) for who in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    now = stores[0].read()
    assert {f"{who}-{n}.jpg" for who in range(3) for n in range(15)} <= set(now.project.examples)
    assert all(store.read() == now for store in stores)
    assert Store(file, "/photos").read() == now


def test_a_change_that_makes_no_sense_changes_nothing(file):
    store = filled(file)
    before = store.read()
    with pytest.raises(NotApplicableError):
        store.change([*add("fish"), *label("a", "eel")])
    assert store.read() == before
    assert store.change(label("0.jpg", "dog")) == before  # which it was already


def test_a_new_change_ends_what_could_be_redone(file):
    store = filled(file)
    assert store.read().can_redo == "label 1 image"
    assert store.change(add("fish")).can_redo is None
    store.close()
    assert Store(file, "/photos").read().can_undo == "add class fish"


def test_of_a_long_history_the_last_steps_are_kept(file, monkeypatch):
    monkeypatch.setattr(storing, "MOST_STEPS", 5)
    store = filled(file)
    for _ in range(4):
        store.undo()
    assert store.read().can_undo is None
    store.close()
    assert Store(file, "/photos").read().can_redo == "label 1 image"
    monkeypatch.setattr(storing, "MOST_STEPS", 1000)
    monkeypatch.setattr(storing, "MOST_BYTES_OF_STEPS", 1)
    again = Store(file, "/photos")
    assert again.change(label("x", "cat")).can_undo == "label 1 image"
    assert again.undo().can_undo is None
    again.close()
    Store(file, "/photos").close()


def labelling(file: Path, first: int, told: int) -> None:
    """One image after the other, each told once it is acknowledged, until killed."""
    store = Store(file, "/photos")
    for number in range(first, 10**9):
        store.change(label(f"{number}.jpg", "cat"))
        os.write(told, f"{number}\n".encode())


def test_what_was_acknowledged_survives_kill_9(file):
    """A process labels one image after the other, is killed at any moment, ten times."""
    store = Store(file, "/photos")
    store.change(add("cat"))
    store.close()
    first = 0
    for turn in range(10):
        heard, told = os.pipe()
        child = os.fork()
        if child == 0:
            labelling(file, first, told)
        os.close(told)
        with os.fdopen(heard) as lines:
            said = [lines.readline() for _ in range(2 + 3 * turn)]
            time.sleep(0.001 * turn)  # at any moment: between two changes, or within one
            os.kill(child, signal.SIGKILL)
            said += lines.readlines()
        os.waitpid(child, 0)
        acknowledged = [int(line) for line in said if line.endswith("\n")]
        assert acknowledged[0] == first
        store = Store(file, "/photos")
        examples = store.read().project.examples
        first = len(examples)
        assert set(examples) == {f"{number}.jpg" for number in range(first)}
        assert first - 1 - acknowledged[-1] in (0, 1)  # one may be kept that was not told yet
        store.close()


def test_each_folder_has_a_file_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("PSEUDOSHOT_PROJECTS", str(tmp_path / "p"))
    (tmp_path / "a" / "x").mkdir(parents=True)
    (tmp_path / "b" / "x").mkdir(parents=True)
    one, other = project_file(tmp_path / "a" / "x"), project_file(tmp_path / "b" / "x")
    assert one != other
    assert one.parent == tmp_path / "p"
    assert one.name.startswith("x-")
    (tmp_path / "link").symlink_to(tmp_path / "a" / "x")
    assert project_file(tmp_path / "link") == one


# ---- damage

SETTINGS = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """The bytes of a project, all in one file."""
    file = tmp_path_factory.mktemp("whole") / "p.sqlite"
    filled(file).close()
    assert not file.with_name("p.sqlite-wal").exists()
    return file.read_bytes()


@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
@SETTINGS
def test_a_changed_byte_is_refused_or_changes_nothing(tmp_path, whole, place, flip):
    file = tmp_path / "p.sqlite"
    damaged = bytearray(whole)
    damaged[int(place * len(whole))] ^= flip
    file.write_bytes(damaged)
    expected = Store(_copy(tmp_path, whole), "/photos").read()
    told = ""
    try:
        store = Store(file, "/photos")
    except PseudoshotError as error:
        told = str(error)
    else:
        assert store.read() == expected  # a byte that says nothing
        store.close()
    assert "\n" not in told
    assert not told or file.read_bytes() == damaged  # it is never overwritten


def _copy(folder: Path, content: bytes) -> Path:
    (folder / "copy.sqlite").write_bytes(content)
    return folder / "copy.sqlite"


def test_a_damaged_table_is_told_though_sqlite_cannot_say_it(tmp_path, whole):
    file = tmp_path / "p.sqlite"
    file.write_bytes(whole.replace(b"CREATE TABLE steps", b"CREATE TABL\xd4 steps"))
    with pytest.raises(PseudoshotError, match="damaged"):
        Store(file, "/photos")


@given(length=st.integers(1, 20_000))
@SETTINGS
def test_a_file_cut_short_is_refused(tmp_path, whole, length):
    file = tmp_path / "p.sqlite"
    file.write_bytes(whole[: min(length, len(whole) - 1)])
    with pytest.raises(PseudoshotError):
        Store(file, "/photos")


@pytest.mark.parametrize(
    "tampered",
    [
        "UPDATE examples SET class = 'dog' WHERE file = '1.jpg'",
        "UPDATE examples SET file = '99.jpg' WHERE file = '1.jpg'",
        "DELETE FROM examples WHERE file = '1.jpg'",
        "INSERT INTO examples VALUES ('99.jpg', 'cat')",
        "UPDATE classes SET name = 'lion' WHERE name = 'cat'",
        "UPDATE classes SET place = 7 - place",
        "UPDATE head SET version = version + 1",
        "UPDATE head SET done = done - 1",
        "UPDATE head SET reject = 0.9",
        "UPDATE head SET digest = ''",
        "DELETE FROM head",
        "UPDATE steps SET what = 'nothing' WHERE step = 3",
        "UPDATE steps SET patch = x'5b5d' WHERE step = 3",
        "DELETE FROM steps WHERE step = 3",
        "DROP TABLE steps",
        "DROP TABLE head",
        "PRAGMA user_version = 2",
        "PRAGMA application_id = 1",
    ],
)
def test_tampering_is_refused_in_one_sentence_and_left_as_it_is(file, tampered):
    filled(file).close()
    database = sqlite3.connect(file)
    database.execute(tampered)
    database.commit()
    database.close()
    before = file.read_bytes()
    with pytest.raises(PseudoshotError) as told:
        Store(file, "/photos")
    assert "\n" not in str(told.value)
    assert str(file) in str(told.value)
    assert file.read_bytes() == before


def test_tampering_while_it_is_open_is_refused_too(file):
    store = filled(file)
    database = sqlite3.connect(file)
    database.execute("UPDATE examples SET class = 'dog'")
    database.execute("UPDATE head SET version = version + 1")
    database.commit()
    database.close()
    with pytest.raises(DamagedError, match="not what was written"):
        store.read()
    with pytest.raises(DamagedError, match="not what was written"):
        store.change(add("fish"))


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + bytes(500)])
def test_another_file_is_refused_and_left_as_it_is(file, content):
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(PseudoshotError):
        Store(file, "/photos")
    assert file.read_bytes() == content


def test_another_programs_database_is_refused(file):
    file.parent.mkdir()
    database = sqlite3.connect(file)
    database.execute("CREATE TABLE head (version INTEGER)")
    database.close()
    with pytest.raises(DamagedError, match="no project of pseudoshot"):
        Store(file, "/photos")


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PseudoshotError, match="cannot be opened"):
        Store(tmp_path / "file" / "p.sqlite", "/photos")
