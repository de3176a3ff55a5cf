"""Settings as a TOML file: the same tree as in `run.json`, in a form that people write."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pseudoshot.settings.options import (
    GROUPS,
    REGISTRIES,
    all_options,
    flatten,
    option_name,
)
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.errors import PseudoshotError


def read_config(path: Path) -> dict[str, Any]:
    """Options by name, from a tree that need not be complete."""
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise PseudoshotError(f"the settings '{path}' cannot be read: {error}") from error
    strangers = [place for place in _places(tree) if not _has_place(*place)]
    if strangers:
        name = ".".join(filter(None, strangers[0]))
        raise PseudoshotError(
            f"the settings '{path}' have no place for '{name}': they are a table per part, as "
            f"`pseudoshot train --dry-run` prints them; parts are "
            f"{', '.join(_PARTS)}"
        )
    return flatten(tree)


_PARTS = (*REGISTRIES, *GROUPS)


def _places(tree: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Part and name of every setting in the tree; those of the run itself are of no part."""
    for key, value in tree.items():
        yield from ((key, name) for name in value) if isinstance(value, dict) else (("", key),)


def _has_place(part: str, name: str) -> bool:
    option = all_options().get(option_name(part, name))
    return option is not None and (option.part == part or (part in _PARTS and name == "name"))


def to_toml(settings: RunSettings) -> str:
    """The tree as a file that `read_config` reads; what is not set is left out.

    >>> from pseudoshot.settings.resolve import resolve
    >>> print(to_toml(resolve({"data": "glyphs"})).splitlines()[0])
    recipe = "paper"
    """
    tree = settings.model_dump(exclude_none=True)
    lines = [f"{name} = {_value(value)}" for name, value in tree.items() if not _is_part(value)]
    for part, fields in tree.items():
        if _is_part(fields):
            lines += ["", f"[{part}]", *(f"{name} = {_value(v)}" for name, v in fields.items())]
    return "\n".join(lines)


def _is_part(value: object) -> bool:
    return isinstance(value, dict)


def _value(value: object) -> str:
    """Strings, numbers and booleans are written alike in JSON and TOML."""
    return json.dumps(value, ensure_ascii=False)
