"""Imports go one way: a room knows only itself and the rooms above it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pseudoshot

PACKAGE = Path(pseudoshot.__file__).parent
ROOMS = (
    *(
        "tools",
        "data",
        "class_sources",
        "views",
        "backbones",
        "readings",
        "tasks",
        "heads",
        "classifiers",
    ),
    *("methods", "settings", "embedders", "evaluation", "training", "sorting", "report"),
    *("serve", "runs", "studies", "cli"),
)


def imported_rooms(code: str, inside: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The line and the room of every import from pseudoshot, wherever in the file it stands.

    `inside` are the packages that the file is in. The room of the package itself is "".
    """
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = inside[: len(inside) + 1 - node.level] if node.level else ()
            module = ".".join((*base, *([node.module] if node.module else [])))
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "pseudoshot":
                room = rest.partition(".")[0]
                yield node.lineno, room if room in (*ROOMS, "_version") else ""


def too_far_down(code: str, room: str, inside: tuple[str, ...] | None = None) -> list[str]:
    """The imports of one file of a room that lead to a room below it, or to the whole package."""
    allowed = ("_version", *ROOMS[: ROOMS.index(room) + 1])
    found = imported_rooms(code, inside or ("pseudoshot", room))
    return [
        f"line {line}: {other or 'the whole package'}"
        for line, other in found
        if other not in allowed
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_those_above_it(room: str) -> None:
    files = sorted((PACKAGE / room).rglob("*.py"))
    assert files
    wrong = []
    for file in files:
        inside = file.relative_to(PACKAGE.parent).parent.parts
        wrong += [
            f"{file.relative_to(PACKAGE)} {problem}"
            for problem in too_far_down(file.read_text(encoding="utf-8"), room, inside)
        ]
    assert not wrong


def test_every_module_is_in_a_room() -> None:
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "_version.py"}
    packages = {path.parent.name for path in PACKAGE.glob("*/*.py")}
    assert packages == set(ROOMS)


@pytest.mark.parametrize(
    "code",
    [
        "import pseudoshot.heads.film",
        "from pseudoshot.heads import FiLM",
        "from pseudoshot import heads",
        "from ..heads import FiLM",
        "from .. import heads",
        "def late():\n    from pseudoshot.heads import FiLM",
        "if TYPE_CHECKING:\n    from pseudoshot.heads import FiLM",
        "import pseudoshot",
        "from pseudoshot import train",
    ],
)
def test_an_import_that_goes_down_is_found_in_every_form(code: str) -> None:
    assert len(too_far_down(code, "tasks")) == 1


@pytest.mark.parametrize(
    "code",
    [
        "import torch",
        "from pseudoshot.tools.errors import PseudoshotError",
        "from pseudoshot._version import __version__",
        "from pseudoshot.tasks.tasks import Tasks",
        "from .tasks import Tasks",
        "from . import gram",
        "from ..tools import errors",
        "heads = 'pseudoshot.heads'",
    ],
)
def test_an_import_from_a_room_above_is_left_alone(code: str) -> None:
    assert too_far_down(code, "tasks") == []
