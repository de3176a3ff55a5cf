"""The one exception a user meets: its text says what was given, what was expected, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

LONGEST = 300  # characters of what another program says


class PseudoshotError(Exception):
    """Something the user can put right. The command line prints it as one sentence and exits 1.

    >>> raise PseudoshotError("way 5 is above the 3 classes of 'birds': lower --way")
    Traceback (most recent call last):
    pseudoshot.tools.errors.PseudoshotError: way 5 is above the 3 classes of 'birds': lower --way
    """


class StoppedError(PseudoshotError):
    """A signal ended a training; its checkpoint is written. `code` is the process's exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def first_line(error: Exception) -> str:
    """What an error says, in one line that is not too long.

    >>> len(first_line(ValueError("one of " + 400 * "name, ")))
    300
    """
    line = next(iter(str(error).splitlines()), type(error).__name__)
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def validation_line(error: ValidationError) -> str:
    """Where the first thing is that is wrong, and what."""
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]
