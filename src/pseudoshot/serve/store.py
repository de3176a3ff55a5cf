"""A folder's project on the disk: one SQLite file, in which every change is a step of a journal.

Why SQLite: a click is acknowledged once it is on the disk (write-ahead log, synchronous=FULL), so
neither kill -9 nor a power cut takes back what was; a click writes its own rows, not the whole
project; and two servers on one folder take turns by its locks. Where the file lies on a network
file system these promises are that file system's.

What SQLite does not see is a changed cell. So the head keeps the sum of a digest of every row: it
is brought up to date from the changed rows alone, and compared whenever all rows are read.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_dir

from pseudoshot.serve.database import (
    APPLICATION,
    FORMAT,
    SCHEMA,
    class_rows,
    connect,
    is_database,
    mark,
    marks,
    pragma,
)
from pseudoshot.serve.edits import Edit, NotApplicableError, apply, in_words
from pseudoshot.serve.project import Class, Patch, Project
from pseudoshot.tools.errors import PseudoshotError, first_line

MOST_STEPS = 1_000  # that can be undone
MOST_BYTES_OF_STEPS = 64 << 20
_SUMS = 1 << 256


@dataclass(frozen=True)
class Snapshot:
    """A project at one version."""

    version: int  # counts up with every change, undo and redo
    project: Project
    done: int  # the step that was taken last
    can_undo: str | None  # what it was
    can_redo: str | None
    digest: int  # the sum over all rows


class DamagedError(PseudoshotError):
    """A project file that does not say what was written."""


def projects_folder() -> Path:
    """PSEUDOSHOT_PROJECTS, or the user's data folder."""
    given = os.environ.get("PSEUDOSHOT_PROJECTS")
    return Path(given).expanduser() if given else Path(user_data_dir("pseudoshot")) / "projects"


def project_file(folder: Path) -> Path:
    """Where the project of a folder of images is kept."""
    resolved = folder.resolve()
    digest = hashlib.sha256(os.fsencode(resolved)).hexdigest()[:16]
    readable = "".join(c if c.isascii() and c.isalnum() else "-" for c in resolved.name)[:40]
    return projects_folder() / f"{readable or 'images'}-{digest}.sqlite"


class Store:
    """The project of one folder; without a file it lasts as long as the server."""

    def __init__(self, file: Path | None = None, folder: str = "") -> None:
        self.file, self.folder = file, folder
        self._turn = threading.RLock()
        with self._told("opened"):
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                if file.exists() and not is_database(file):
                    raise self._damaged("it is no SQLite file")
            self._database = connect(file)
        try:
            with self._told("opened"):
                self._prepare()
                self._now = self._read_all()
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        with self._turn:
            self._database.close()

    def read(self) -> Snapshot:
        """The project as it is, whoever changed it last."""
        with self._turn, self._told("read"):
            if self._version() != self._now.version:
                with self._transaction("DEFERRED"):
                    self._now = self._read_all()
            return self._now

    def change(self, edits: Sequence[Edit]) -> Snapshot:
        """All of the edits or none, as one step that can be undone."""
        return self._step(lambda project: apply(project, edits), in_words(edits))

    def replace(self, project: Project, what: str) -> Snapshot:
        """Another project in place of this one, as one step that can be undone."""
        return self._step(lambda _: project, what)

    def undo(self) -> Snapshot:
        return self._changed(self._undone)

    def redo(self) -> Snapshot:
        return self._changed(self._redone)

    def _undone(self, now: Snapshot) -> Snapshot:
        if now.can_undo is None:
            raise NotApplicableError("there is nothing to undo")
        return self._write(now, self._patch(now.done).inverse(), now.done - 1)

    def _redone(self, now: Snapshot) -> Snapshot:
        if now.can_redo is None:
            raise NotApplicableError("there is nothing to redo")
        return self._write(now, self._patch(now.done + 1), now.done + 1)

    def _step(self, changed: Callable[[Project], Project], what: str) -> Snapshot:
        def stepped(now: Snapshot) -> Snapshot:
            patch = Patch.between(now.project, changed(now.project))
            if not patch:
                return now
            step = now.done + 1
            dropped = self._drop("step >= ? OR step <= ?", (step, step - MOST_STEPS))
            row = (step, what, patch.to_json())
            self._database.execute("INSERT INTO steps VALUES (?, ?, ?)", row)
            added = mark("steps", row) - dropped - self._drop_oldest(step)
            return self._write(now, patch, step, added)

        return self._changed(stepped)

    def _changed(self, work: Callable[[Snapshot], Snapshot]) -> Snapshot:
        """One transaction on the project as it is: what `work` writes is kept, or not at all."""
        with self._turn, self._told("written"):
            with self._transaction("IMMEDIATE"):
                current = self._version() == self._now.version
                then = work(self._now if current else self._read_all())
            self._now = then
            return then

    def _patch(self, step: int) -> Patch:
        found = self._database.execute("SELECT patch FROM steps WHERE step = ?", (step,))
        try:
            return Patch.from_json(found.fetchone()[0])
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise self._damaged(f"step {step} cannot be read") from error

    def _drop(self, where: str, values: tuple[int, ...]) -> int:
        """Steps that can no longer be taken; the sum of their digests."""
        rows = self._database.execute(f"SELECT * FROM steps WHERE {where}", values).fetchall()
        self._database.execute(f"DELETE FROM steps WHERE {where}", values)
        return sum(mark("steps", row) for row in rows)

    def _drop_oldest(self, newest: int) -> int:
        sizes = self._database.execute("SELECT step, length(patch) FROM steps ORDER BY step DESC")
        total, least = 0, newest
        for step, size in sizes:
            total += size
            if total > MOST_BYTES_OF_STEPS and step < newest:
                break
            least = step
        return self._drop("step < ?", (least,))

    def _write(self, now: Snapshot, patch: Patch, done: int, added: int = 0) -> Snapshot:
        """The rows that the patch changes, within the transaction that is open."""
        added += self._write_examples(patch) - mark("head", self._head(now))
        if patch.classes is not None:
            before, after = map(class_rows, patch.classes)
            self._database.execute("DELETE FROM classes")
            self._database.executemany("INSERT INTO classes VALUES (?, ?, ?)", after)
            added += marks("classes", after) - marks("classes", before)
        project = patch.applied_to(now.project)
        then = Snapshot(now.version + 1, project, done, *self._beside(done), 0)
        head = self._head(then)
        digest = (now.digest + added + mark("head", head)) % _SUMS
        self._database.execute(
            "UPDATE head SET folder = ?, version = ?, done = ?, reject = ?, digest = ?",
            (*head, f"{digest:064x}"),
        )
        return Snapshot(then.version, project, done, then.can_undo, then.can_redo, digest)

    def _write_examples(self, patch: Patch) -> int:
        pairs = patch.examples.items()
        gone = [(file, before) for file, (before, _) in pairs if before is not None]
        come = [(file, after) for file, (_, after) in pairs if after is not None]
        self._database.executemany("DELETE FROM examples WHERE file = ? AND class = ?", gone)
        self._database.executemany("INSERT INTO examples VALUES (?, ?)", come)
        return marks("examples", come) - marks("examples", gone)

    def _head(self, now: Snapshot) -> tuple[str, int, int, float | None]:
        reject = now.project.reject
        return self.folder, now.version, now.done, None if reject is None else reject + 0.0

    def _beside(self, done: int) -> tuple[str | None, str | None]:
        """What the steps are that would be undone and redone."""
        rows = self._database.execute(
            "SELECT step, what FROM steps WHERE step IN (?, ?)", (done, done + 1)
        )
        what = dict(rows.fetchall())
        return what.get(done), what.get(done + 1)

    def _version(self) -> int:
        row = self._database.execute("SELECT version FROM head").fetchone()
        if row is None:
            raise self._damaged("its head is not there")
        return int(row[0])

    def _prepare(self) -> None:
        """Look before anything is written: what is no project of ours is left as it is."""
        application, form = (pragma(self._database, n) for n in ("application_id", "user_version"))
        if not self._database.execute("SELECT 1 FROM sqlite_master").fetchone():
            self._create()
        elif application != APPLICATION:
            raise DamagedError(f"'{self.file}' is no project of pseudoshot: move it away")
        elif form != FORMAT:
            raise DamagedError(
                f"'{self.file}' is a project of format {form}, this version reads {FORMAT}: "
                f"use the pseudoshot that wrote it"
            )
        if (found := pragma(self._database, "integrity_check")) != "ok":
            raise self._damaged(str(found))

    def _create(self) -> None:
        self._database.execute("PRAGMA journal_mode = WAL")
        with self._transaction("IMMEDIATE"):
            if self._database.execute("SELECT 1 FROM sqlite_master").fetchone():
                return  # another server was quicker
            for statement in SCHEMA.split(";\n")[:-1]:
                self._database.execute(statement)
            head = (self.folder, 0, 0, None)
            digest = f"{mark('head', head):064x}"
            self._database.execute("INSERT INTO head VALUES (1, ?, ?, ?, ?, ?)", (*head, digest))
            self._database.execute(f"PRAGMA application_id = {APPLICATION}")
            self._database.execute(f"PRAGMA user_version = {FORMAT}")

    def _read_all(self) -> Snapshot:
        """Every row, against the digest."""
        rows = {
            table: self._database.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("head", "classes", "examples", "steps")
        }
        if len(rows["head"]) != 1:
            raise self._damaged("its head is not there")
        _, *head, digest = rows["head"][0]
        found = mark("head", head) + sum(
            marks(table, rows[table]) for table in ("classes", "examples", "steps")
        )
        if f"{found % _SUMS:064x}" != digest:
            raise self._damaged("its content is not what was written")
        self.folder, version, done, reject = head
        try:
            classes = tuple(Class(name=name, colour=c) for _, name, c in sorted(rows["classes"]))
        except ValueError as error:
            raise self._damaged("its classes have no names") from error
        project = Project(classes, dict(rows["examples"]), reject)
        if not set(project.examples.values()) <= set(project.names):
            raise self._damaged("an example is of no class")
        return Snapshot(version, project, done, *self._beside(done), found % _SUMS)

    def _damaged(self, reason: str) -> DamagedError:
        reason = " ".join(reason.split())[:200]
        return DamagedError(
            f"'{self.file}' is damaged ({reason}): put a copy back in its place, or move it away "
            f"to begin anew"
        )

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        self._database.execute(f"BEGIN {kind}")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    @contextmanager
    def _told(self, verb: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.OperationalError, OSError) as error:
            raise PseudoshotError(
                f"the project '{self.file}' cannot be {verb}: {first_line(error)}"
            ) from error
        except UnicodeError as error:  # SQLite would have quoted bytes of the file
            raise self._damaged("its tables cannot be read") from error
        except sqlite3.Error as error:
            raise self._damaged(first_line(error)) from error
