"""Where words for a person go: standard error, so that standard output stays clean for results."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

console = Console(stderr=True, highlight=False)


def printable(name: str) -> str:
    """A file name may hold bytes that are no text."""
    return name.encode(errors="replace").decode()


def shown(text: str) -> str:
    """A text for a terminal: what would move the cursor, hide or reorder letters is written out.

    >>> shown("caf\u00e9 \x1b[2J.png")
    'café \\\\x1b[2J.png'
    """
    letters = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return printable("".join(letters))


def say(text: str) -> None:
    """One line for a person, as long as it is."""
    console.print(shown(text), markup=False, soft_wrap=True)


def progress_bar(*details: str, shown: bool = True) -> Progress:
    """A progress bar with time left; `details` are format strings shown behind it.

    Shown only on a terminal: a log file gets no thousand redrawn lines.
    """
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        *(TextColumn(detail) for detail in details),
        TimeRemainingColumn(),
        console=console,
        disable=not (shown and console.is_terminal),
    )
