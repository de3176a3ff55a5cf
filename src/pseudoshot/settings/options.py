"""Options: the settings by name alone, as the command line and Python take them.

A part's choice has the part's name, `method`, and each of its settings has its own, `strength`: no
two parts share one, but for the classifier's, which are `classifier_similarity` and so on. In the
tree they are `method.name`, `method.strength` and `classifier.similarity`.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from pseudoshot.backbones import BACKBONES
from pseudoshot.class_sources import CLASS_SOURCES
from pseudoshot.classifiers import CLASSIFIERS
from pseudoshot.methods import METHODS
from pseudoshot.settings.tree import DataSettings, OptimisationSettings, RunSettings
from pseudoshot.tools.registry import PartSettings, Registry, Settings
from pseudoshot.views import POLICIES

REGISTRIES: Mapping[str, Registry[Any]] = types.MappingProxyType(
    {
        "class_source": CLASS_SOURCES,
        "views": POLICIES,
        "backbone": BACKBONES,
        "method": METHODS,
        "classifier": CLASSIFIERS,
    }
)
GROUPS: Mapping[str, type[Settings]] = types.MappingProxyType(
    {"data": DataSettings, "optimisation": OptimisationSettings}
)


@dataclass(frozen=True)
class Option:
    """One setting, wherever it belongs."""

    name: str
    part: str  # of the tree; "" for those of the run itself
    type: Any
    help: str
    owners: Mapping[str, FieldInfo]  # entries of the part's registry that have it


def all_options() -> dict[str, Option]:
    """Every setting that a training can have, by name, in the order of the tree."""
    options: dict[str, Option] = {}
    for part, info in RunSettings.model_fields.items():
        if part in REGISTRIES or part == "data":
            options[part] = Option(part, "", str, info.description or "", {})
        if part in REGISTRIES:
            entries = {name: entry.Settings for name, entry in REGISTRIES[part].items()}
            options |= _of_part(part, entries)
        elif part in GROUPS:
            options |= _of_part(part, {"": GROUPS[part]})
        else:
            options[part] = Option(
                part, "", plain_type(info.annotation), info.description or "", {"": info}
            )
    return options


def _of_part(part: str, models: Mapping[str, type[Settings]]) -> dict[str, Option]:
    owners: dict[str, dict[str, FieldInfo]] = {}
    for entry, model in models.items():
        for field, info in model.model_fields.items():
            if not (field == "name" and issubclass(model, PartSettings)):
                owners.setdefault(field, {})[entry] = info
    return {
        option_name(part, field): Option(
            option_name(part, field),
            part,
            plain_type(next(iter(infos.values())).annotation),
            _commonest(infos),
            infos,
        )
        for field, infos in owners.items()
    }


def option_name(part: str, field: str) -> str:
    """What the setting of a part is called as an option."""
    if field == "name":
        return part
    return f"{part}_{field}" if part == "classifier" else field


def _commonest(infos: Mapping[str, FieldInfo]) -> str:
    """What most entries say of a setting, and what the others do."""
    owners: dict[str, list[str]] = {}
    for entry, info in infos.items():
        owners.setdefault(info.description or "", []).append(entry)
    usual = max(owners, key=lambda text: len(owners[text]))
    others = [f"{', '.join(entries)}: {text}" for text, entries in owners.items() if text != usual]
    return f"{usual} ({'; '.join(others)})" if others else usual


def plain_type(annotation: Any) -> Any:
    """A field's type without its bounds, which are checked when settings are parsed.

    >>> from pydantic import PositiveInt
    >>> plain_type(PositiveInt | None)
    int | None
    """
    if get_origin(annotation) is Annotated:
        return plain_type(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        first, *others = map(plain_type, get_args(annotation))
        for other in others:
            first = first | other
        return first
    return annotation


def type_text(annotation: Any) -> str:
    """A plain type as source code.

    >>> type_text(int | Literal["exhaustive"] | None)
    "int | Literal['exhaustive'] | None"
    """
    if get_origin(annotation) in (Union, types.UnionType):
        return " | ".join(map(type_text, get_args(annotation)))
    if get_origin(annotation) is Literal:
        return f"Literal[{', '.join(map(repr, get_args(annotation)))}]"
    return "None" if annotation is type(None) else str(annotation.__name__)


def flatten(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Options from a tree, or from a part of one.

    >>> flatten({"seed": 1, "method": {"name": "hms", "strength": 0.2}})
    {'seed': 1, 'method': 'hms', 'strength': 0.2}
    """
    options: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            options |= {option_name(key, name): v for name, v in value.items()}
        else:
            options[key] = value
    return options


_HEAD = '''"""The options of `train`, for type checkers and editors.

Written by `make options` from the settings models: change those, not this file.
"""

from typing import Literal, TypedDict


class TrainOptions(TypedDict, total=False):
    """Every setting of a run but its data; what is not given follows the recipe."""
'''


def typed_options() -> str:
    """The source of `train_options.py`."""
    options = [option for option in all_options().values() if option.name != "data"]
    lines = [f"    {option.name}: {_optional(option.type)}" for option in options]
    return f"{_HEAD}\n" + "\n".join(lines) + "\n"


def _optional(annotation: Any) -> str:
    text = type_text(annotation).replace("'", '"')
    return text if text.endswith("None") else f"{text} | None"
