"""Looking a choice up by its name, with an error that names the choices."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TypeVar

from pseudoshot.tools.errors import PseudoshotError

T = TypeVar("T")


def look_up(kind: str, name: str, choices: Mapping[str, T]) -> T:
    """choices[name], or an error that lists the names and points at the nearest one.

    >>> look_up("backbone", "conv5", {"conv4": 1, "resnet12": 2})
    Traceback (most recent call last):
    pseudoshot.tools.errors.PseudoshotError: unknown backbone 'conv5', did you mean 'conv4'? ...
    """
    if name in choices:
        return choices[name]
    near = difflib.get_close_matches(name, choices, n=1)
    hint = f", did you mean '{near[0]}'?" if near else ":"
    raise PseudoshotError(f"unknown {kind} '{name}'{hint} choose one of {', '.join(choices)}")
