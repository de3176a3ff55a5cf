"""What pseudoshot keeps on this machine outside of run folders, and how to be rid of it."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from pseudoshot.backbones.compiled import compiled_folder
from pseudoshot.data.cache import ABOUT, cache_folder, lock_of, set_files, versions_in
from pseudoshot.data.checked import DIGESTS, in_use
from pseudoshot.data.rows import IMAGES
from pseudoshot.serve.store import projects_folder
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import is_unfinished

Kind = Literal["decoded", "compiled", "project"]
_SET = re.compile(r"[A-Za-z0-9-]{0,41}-[0-9a-f]{20}(\.partial)?")
_STEPS = re.compile(r"[0-9a-f]{64}\.so")


@dataclass(frozen=True)
class Kept:
    """One thing that is kept."""

    kind: Kind
    name: str  # by which it is cleared
    path: Path
    disk: int  # bytes that it takes
    used: float  # when, in seconds since 1970
    of: str = ""  # the folder whose images were decoded
    images: int | None = None


@dataclass(frozen=True)
class Cleared:
    """What became of one thing that was to be cleared."""

    kept: Kept
    left: str = ""  # why it was left, or ""


def all_kept() -> list[Kept]:
    """Decoded sets, compiled steps, then projects; of each kind the largest first."""
    order = ("decoded", "compiled", "project")
    found = [*_decoded(), *_compiled(), *_projects()]
    return sorted(found, key=lambda kept: (order.index(kept.kind), -kept.disk, kept.name))


def clear(what: str) -> list[Cleared]:
    """Delete decoded sets ("decoded"), compiled steps ("compiled"), both ("all"), or one thing by
    its name. A project is somebody's work and is cleared by its name alone."""
    kept = all_kept()
    if what in ("decoded", "compiled"):
        chosen = [one for one in kept if one.kind == what]
    elif what == "all":
        chosen = [one for one in kept if one.kind != "project"]
    else:
        chosen = [one for one in kept if one.name == what]
        if not chosen:
            raise PseudoshotError(
                f"nothing is kept by the name '{what}': give decoded, compiled, all, or a name "
                f"that `pseudoshot cache` shows"
            )
    return [Cleared(one, _CLEAR[one.kind](one.path)) for one in chosen]


def _decoded() -> Iterator[Kept]:
    for place in _below(cache_folder() / "decoded"):
        if not _SET.fullmatch(place.name) or place.is_symlink() or not place.is_dir():
            continue
        files = [path for path in place.rglob("*") if path.is_file()]
        about: dict[str, object] = {}
        for version in versions_in(place)[:1]:
            about = _about(version / ABOUT)
        of, images = about.get("origin") or about.get("name"), about.get("images")
        yield Kept(
            *("decoded", place.name, place, sum(map(_size, files))),
            used=max((_time(path) for path in files if path.name == DIGESTS), default=_time(place)),
            of=of if isinstance(of, str) else "not finished, or of an earlier version",
            images=images if isinstance(images, int) else None,
        )


def _about(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _compiled() -> Iterator[Kept]:
    for path in _below(compiled_folder()):
        if _STEPS.fullmatch(path.name) and path.is_file():
            yield Kept("compiled", path.stem[:20], path, _size(path), _time(path))


def _projects() -> Iterator[Kept]:
    for path in _below(projects_folder()):
        if path.suffix == ".sqlite" and path.is_file():
            size = sum(map(_size, _of_project(path)))
            yield Kept("project", path.stem, path, size, _time(path))


def _of_project(path: Path) -> list[Path]:
    beside = [path.with_name(path.name + ending) for ending in ("", "-wal", "-shm")]
    return [file for file in beside if file.is_file()]


def _clear_set(place: Path) -> str:
    strangers = [
        path.name
        for path in place.rglob("*")
        if not path.is_dir() and path.name not in set_files() and not is_unfinished(path.name)
    ]
    if strangers:
        return f"{strangers[0]} in it was not written by pseudoshot"
    try:
        with FileLock(lock_of(place), timeout=0):
            if any(in_use(images) for images in place.rglob(IMAGES)):
                return "in use by a process"
            return _deleted(place)
    except Timeout:
        return "in use by a process"
    except OSError as error:
        return str(error.strerror)


def _clear_project(path: Path) -> str:
    try:
        with closing(sqlite3.connect(path, timeout=0)) as database:
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        return f"in use by a process ({error})"
    except sqlite3.Error:
        pass  # it is damaged, and nobody's
    return next(filter(None, map(_deleted, _of_project(path))), "")


def _deleted(path: Path) -> str:
    """Why it could not be, or ""."""
    try:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        return str(error.strerror)
    return ""


_CLEAR = {"decoded": _clear_set, "compiled": _deleted, "project": _clear_project}


def _below(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # gone meanwhile
        return 0


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
