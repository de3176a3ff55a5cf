"""Options that commands share, and those that are made from the settings models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

DataRoot = Annotated[
    Path | None,
    Parameter(
        help="The folder that holds the named sets: else that of PSEUDOSHOT_DATA, else the cache."
    ),
]
Switch = Annotated[bool, Parameter(negative=())]
SHORTER = {"from_run": ("--from", "--from-run")}  # `from` is no name of Python's
_MODELS = (
    "A run folder (the --out of a training; of one that has not finished, the last checkpoint); "
    "lite0, pre-trained on ImageNet (the extra pretrained); a bundled model, such as "
    "resnet-tiny-imagenet; an .onnx file; or a folder of a transformers model."
)
Model = Annotated[str, Parameter(help=_MODELS)]
ModelOrDefault = Annotated[
    str | None,
    Parameter(help=f"{_MODELS} By default lite0 where the extra is installed, else a bundled one."),
]
ClassifierName = Annotated[
    str | None,
    Parameter(
        help="How images are told apart by the examples: prototype (nearest class mean); logistic, "
        "ridge or svm (fitted to them); feat or with-head, for runs with a head; "
        "semi-supervised-em, for runs of meta-gmvae; auto, prototype or ridge by what each says of "
        "examples held out, and below three per class what the model is made for. By default auto "
        "to classify and serve, what the model is made for to measure."
    ),
]
Reading = Annotated[
    str | None,
    Parameter(
        help="How a vector is made of what the network says of an image: plain, as in the paper; "
        "centred, of the image and its mirror image, about the mean of all images; joined, the "
        "last two blocks in this way; described, with HOG and colours beside them; crops, over "
        "five crops as well, several times slower. Of characters, four copies moved a little and "
        "turned take the place of mirror image and crops. What the model is made for by default."
    ),
]


def example(*commands: str) -> str:
    """What stands at the end of a command's help."""
    title = "Example" if len(commands) == 1 else "Examples"
    return "\n\n".join([f"{title}:", *(f"`pseudoshot {command}`" for command in commands)])


def of_settings(names: Iterable[str] | None = None) -> type:
    """A dataclass of the settings of these names (all but the data), none of them given."""
    from pseudoshot.settings.describe import help_text
    from pseudoshot.settings.options import REGISTRIES, all_options

    options = all_options()
    chosen = [options[name] for name in names or options if name != "data"]
    groups: dict[str, Group] = {}
    fields: list[Any] = []
    for option in chosen:
        part = option.part or (option.name if option.name in REGISTRIES else "run")
        title = part.replace("_", " ").capitalize()
        group = groups.setdefault(part, Group.create_ordered(title))
        names = SHORTER.get(option.name)
        parameter = Parameter(name=names, help=help_text(option), group=group, negative=())
        fields.append((option.name, Annotated[option.type | None, parameter], field(default=None)))
    namespace = {"__module__": __name__}  # else cyclopts takes it for one of Python's own types
    return make_dataclass("Options", fields, frozen=True, namespace=namespace)
