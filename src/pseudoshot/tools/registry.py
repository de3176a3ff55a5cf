"""Registries: the choices there are for one part of a run, by name, each with settings of its own.

>>> class Entry:
...     Settings = PartSettings
>>> REGISTRY = Registry("backbone", {"conv4": Entry, "resnet12": Entry})
>>> REGISTRY.parse("conv4")
PartSettings(name='conv4')
>>> REGISTRY["conv5"]
Traceback (most recent call last):
pseudoshot.tools.errors.PseudoshotError: unknown backbone 'conv5', did you mean 'conv4'? ...
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from pseudoshot.tools.errors import PseudoshotError


class Settings(BaseModel):
    """Settings that cannot be misspelt or changed; the docstring of a field is its help."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """A field that a subclass gives another default keeps its explanation."""
        for name, info in cls.model_fields.items():
            above = [base for base in cls.__mro__[1:] if name in getattr(base, "model_fields", {})]
            if info.description is None and above:
                info.description = above[0].model_fields[name].description  # type: ignore[attr-defined]


class PartSettings(Settings):
    """The settings of one part of a run; an entry with more of them has a model of its own."""

    name: str = ""
    """which of the choices"""


class Entry(Protocol):
    """What can be registered."""

    Settings: ClassVar[Any]


E = TypeVar("E", bound=Entry)


class Registry(dict[str, type[E]]):
    """The choices for one part of a run; a name that is none of them ends in a sentence."""

    def __init__(self, part: str, entries: Mapping[str, type[E]]) -> None:
        super().__init__(entries)
        self.part = part

    def __getitem__(self, name: str) -> type[E]:
        if not isinstance(name, str) or name not in self:  # a file may hold anything
            raise unknown(self.part, name, self)
        return super().__getitem__(name)

    def parse(self, given: str | Mapping[str, Any] | PartSettings) -> Any:
        """The entry's settings, from its name or from a mapping with its name in it."""
        if isinstance(given, PartSettings):
            return given
        fields = {"name": given} if not isinstance(given, Mapping) else dict(given)
        return self[fields.get("name", "")].Settings(**fields)


def unknown(kind: str, name: object, choices: Iterable[str]) -> PseudoshotError:
    """An error that lists the names and points at the nearest one."""
    names = list(choices)
    shown = shorten(repr(name) if isinstance(name, str) else name)
    near = nearest(name, names) if isinstance(name, str) else ""
    hint = f", did you mean '{near}'?" if near else ":"
    return PseudoshotError(f"unknown {kind} {shown}{hint} choose one of {', '.join(names)}")


def nearest(name: str, choices: Iterable[str]) -> str:
    """The choice that a misspelt name was probably to be; "": none is like it.

    >>> nearest("conv4-omniglo", ["lite0", "conv4-omniglot"]), nearest("photos", ["lite0"])
    ('conv4-omniglot', '')
    """
    return next(iter(difflib.get_close_matches(name, list(choices), n=1)), "")


def shorten(value: object, most: int = 60) -> str:
    """A value in an error's one line, however long it is."""
    try:
        line = " ".join(str(value).split())
    except ValueError:  # of a number with thousands of digits
        return "(a very long number)"
    return line if len(line) <= most else f"{line[: most - 1]}…"
