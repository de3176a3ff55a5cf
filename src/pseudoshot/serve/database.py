"""The SQLite file of a project: its tables, and a digest of every row."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pseudoshot.serve.project import Class

FORMAT = 1  # PRAGMA user_version
APPLICATION = 0x70736873  # PRAGMA application_id: "pshs"
SECONDS_TO_WAIT = 10.0  # for another server's change
_MAGIC, _SMALLEST = b"SQLite format 3\0", 512  # of an SQLite file: its beginning, its size

SCHEMA = """
CREATE TABLE head (
  id INTEGER PRIMARY KEY CHECK (id = 1), folder TEXT NOT NULL, version INTEGER NOT NULL,
  done INTEGER NOT NULL, reject REAL, digest TEXT NOT NULL
) STRICT;
CREATE TABLE classes (
  place INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, colour TEXT NOT NULL
) STRICT;
CREATE TABLE examples (file TEXT PRIMARY KEY, class TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE steps (step INTEGER PRIMARY KEY, what TEXT NOT NULL, patch BLOB NOT NULL) STRICT;
"""


def is_database(file: Path) -> bool:
    """SQLite would take a file of a few bytes for an empty one, and write over it."""
    with file.open("rb") as content:
        start = content.read(_SMALLEST)
    return not start or (len(start) == _SMALLEST and start.startswith(_MAGIC))


def connect(file: Path | None) -> sqlite3.Connection:
    database = sqlite3.connect(
        ":memory:" if file is None else file,
        timeout=SECONDS_TO_WAIT,
        isolation_level=None,  # transactions are begun and ended by us
        check_same_thread=False,  # but by one thread at a time
    )
    database.execute("PRAGMA synchronous = FULL")
    return database


def pragma(database: sqlite3.Connection, name: str) -> Any:
    return database.execute(f"PRAGMA {name}").fetchone()[0]


def class_rows(classes: Iterable[Class]) -> list[tuple[int, str, str]]:
    return [(place, c.name, c.colour) for place, c in enumerate(classes)]


def mark(table: str, row: Sequence[object]) -> int:
    """A row's share of the digest."""
    text = repr((table, *row)).encode()
    return int.from_bytes(hashlib.sha256(text).digest())


def marks(table: str, rows: Iterable[Sequence[object]]) -> int:
    return sum(mark(table, row) for row in rows)
