"""Settings as a TOML file: the same tree as in `run.json`, in a form that people write."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from pseudoshot.settings.options import all_options, flatten, option_name
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.errors import PseudoshotError


def read_config(path: Path) -> dict[str, Any]:
    """Options by name, from a tree that need not be complete."""
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise PseudoshotError(f"the settings '{path}' cannot be read: {error}") from error
    known = all_options()
    for part, value in tree.items():
        names = value if isinstance(value, dict) else {"name": value}
        for name in names:
            option = known.get(option_name(part, name))
            if option is None or (name != "name" and option.part != part):
                parts = ", ".join(RunSettings.model_fields)
                raise PseudoshotError(
                    f"the settings '{path}' have no place for '{part}.{name}': they are a table "
                    f"per part, as `pseudoshot train --dry-run` prints them; parts are {parts}"
                )
    return flatten(tree)


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
