"""Settings in words, for `--help`, `pseudoshot methods` and the docs: all from the models."""

from __future__ import annotations

from pydantic.fields import FieldInfo

from pseudoshot.settings.options import REGISTRIES, Option, all_options
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.registry import Settings


def help_text(option: Option) -> str:
    """What an option means, which choices have it, and what holds where it is not given."""
    parts = [option.help.replace("\n", " ")]
    if option.name in REGISTRIES:
        parts.append(f"one of {', '.join(REGISTRIES[option.name])}")
    elif option.part in REGISTRIES:
        parts.append(_owners(option))
    parts.append(_default(option))
    text = "; ".join(filter(None, parts))
    symbol = len(text.split(maxsplit=1)[0].strip(",:")) == 1  # as in "k, how many …"
    return f"{text if symbol else text[:1].upper() + text[1:]}."


def _owners(option: Option) -> str:
    entries = REGISTRIES[option.part]
    lacking = [name for name in entries if name not in option.owners]
    if not lacking:
        return ""
    if len(lacking) < len(option.owners):
        return f"not for {', '.join(lacking)}"
    return f"for {', '.join(option.owners)}"


def _default(option: Option) -> str:
    """The default of most, and those that differ."""
    defaults: dict[str, list[str]] = {}
    for entry, info in option.owners.items():
        defaults.setdefault(default_text(info), []).append(entry)
    usual = max(defaults, key=lambda text: len(defaults[text]), default="")
    others = [
        f"{text} for {', '.join(entries)}"
        for text, entries in defaults.items()
        if text not in ("", usual)
    ]
    told = [*([usual] if usual else []), *others]
    return f"default {', '.join(told)}" if told else ""


def default_text(info: FieldInfo) -> str:
    """Nothing where the recipe, or another setting, decides."""
    if info.is_required() or info.default is None or isinstance(info.default, bool):
        return ""
    return str(info.default)


def own_fields(model: type[Settings], base: type[Settings]) -> dict[str, FieldInfo]:
    """Those that the base has not, or with another default."""
    return {
        name: info
        for name, info in model.model_fields.items()
        if name not in base.model_fields or base.model_fields[name].default != info.default
    }


_LEAD = """# Settings

A run is five parts: class source, views, backbone, method and classifier. Each is chosen by name
and has settings of its own; an option that the chosen parts do not have is refused. On the command
line a setting is `--name value` (`pseudoshot train --help`), in Python a keyword
(`pseudoshot.train(..., name=value)`), and in a file for `--config` it stands in the table of its
part, as `pseudoshot train --dry-run` prints it. What is not given follows the method's own
defaults, then the recipe.

Written by `make options` from the settings models."""


def markdown() -> str:
    """The page `docs/settings.md`."""
    lines = [_LEAD]
    options = all_options().values()
    for part, info in RunSettings.model_fields.items():
        own = [option for option in options if option.part == part or option.name == part]
        if own and own[0].part == "" and own[0].name not in REGISTRIES and part != "data":
            continue
        lines += ["", f"## {part.replace('_', ' ').capitalize()}: {info.description}", ""]
        lines += _entries(part) + _table(own)
    run = [o for o in options if o.part == "" and o.name not in REGISTRIES and o.name != "data"]
    return "\n".join([*lines, "", "## Run", "", *_table(run)]) + "\n"


def _table(options: list[Option]) -> list[str]:
    rows = [f"| `{option.name}` | {help_text(option)} |" for option in options]
    return ["| setting | meaning |", "|---|---|", *rows]


def _entries(part: str) -> list[str]:
    if part not in REGISTRIES:
        return []
    rows = [
        f"- `{name}`: {(entry.__doc__ or '').splitlines()[0]}"
        for name, entry in REGISTRIES[part].items()
    ]
    return [*rows, ""]
