"""Where words for a person go: standard error, so that standard output stays clean for results."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

from rich.console import Console
from rich.markup import render
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

console = Console(stderr=True, highlight=False)
MEASURED = 2.0  # seconds of a work by which the rest of it is estimated
WORTH_SAYING = 10.0  # seconds: what takes less is not announced
SAID_EVERY = 60.0  # seconds, where there is no terminal
SOON = 1.0  # second: how far that is which is done so soon, nobody asks


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


def duration(seconds: float) -> str:
    """As a person says it.

    >>> duration(42.4), duration(171), duration(7384)
    ('42 s', '3 min', '2.1 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class SpokenProgress(Progress):
    """A bar on a terminal; elsewhere a line a minute, over all bars that follow one another.

    Where it is said what is counted (`of`), a line tells beforehand how long it will take, once the
    first seconds are measured, unless that has been `announced`.
    """

    last_line: ClassVar[float] = 0.0
    last_step: ClassVar[float] = 0.0

    def __init__(
        self,
        *columns: Any,
        of: str,
        details: tuple[str, ...],
        announced: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(*columns, **options)
        self.of, self.details, self.announced = of, details, announced
        self._first: dict[TaskID, float] = {}  # what was done before
        self._announced: set[TaskID] = set()
        now = self.get_time()
        if now - SpokenProgress.last_step > SAID_EVERY:  # nothing was going on
            SpokenProgress.last_line = now
        SpokenProgress.last_step = now

    def add_task(self, *given: Any, **options: Any) -> TaskID:
        task = super().add_task(*given, **options)
        self._first[task] = options.get("completed", 0)
        return task

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        super().advance(task_id, advance)
        self._speak(self._tasks[task_id])

    def update(self, task_id: TaskID, **changes: Any) -> None:
        super().update(task_id, **changes)
        self._speak(self._tasks[task_id])

    def _speak(self, task: Task) -> None:
        SpokenProgress.last_step = now = self.get_time()
        elapsed, done = task.elapsed or 0.0, task.completed - self._first[task.id]
        if not task.total or done <= 0:
            return
        name, left = render(task.description).plain, elapsed / done * (task.total - task.completed)
        known = self.announced or task.id in self._announced
        if self.of and elapsed >= MEASURED and not known:
            self._announced.add(task.id)
            if elapsed + left >= WORTH_SAYING:
                say(f"{name}: {task.total:,.0f} {self.of}, about {duration(elapsed + left)}")
        due = now - SpokenProgress.last_line >= SAID_EVERY and left >= SOON
        if due and not self.console.is_terminal:
            SpokenProgress.last_line = now
            parts = f"{task.completed:,.1f}".removesuffix(".0")
            far = f"{parts} of {task.total:,.0f} {self.of}".rstrip()
            details = [detail.format(task=task) for detail in self.details]
            say(f"{name}: {', '.join([far, *details])}, about {duration(left)} left")


def progress_bar(
    *details: str,
    shown: bool = True,
    of: str = "",
    announced: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Progress:
    """A progress bar with time left; `details` are format strings shown behind it.

    `of` is what is counted: how long it will take is then said in a line at the beginning, unless
    it was `announced`. A bar is drawn on a terminal alone; a log file gets a line a minute, not a
    thousand redrawn ones.
    """
    if not shown:
        return Progress(disable=True)
    return SpokenProgress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        *(TextColumn(detail) for detail in details),
        TimeRemainingColumn(),
        of=of,
        details=details,
        announced=announced,
        console=console,
        disable=not console.is_terminal,
        auto_refresh=console.is_terminal,  # else `track` counts at the end alone
        get_time=clock,
    )
