"""Recipes: the paper's for each backbone, and the one that reaches its accuracy sooner."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

RecipeName = Literal["paper", "fast"]
OptimiserName = Literal["adam", "sgd"]
Annealing = Literal["epoch", "step", "end"]

DEFAULT_BACKBONE: dict[str, str] = {"paper": "conv4", "fast": "conv4-pyramid"}
_OF_THE_EPISODE = ("images", "query", "head_lr_scale")


@dataclass(frozen=True)
class Recipe:
    """What a run does where the user does not say."""

    optimiser: OptimiserName
    lr: float
    epochs: int
    images: int
    head_lr_scale: float
    query: int | None = None  # the method's own
    annealing: Annealing = "epoch"
    warm_up: int = 0
    averaging: float = 0.0
    view_scale: float = 1.0  # for views that crop

    def of_the_run(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in _OF_THE_EPISODE}

    def of_the_episode(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in _OF_THE_EPISODE}
        return {name: value for name, value in values.items() if value is not None}


# Section 6.3
_CONVNET = Recipe("adam", lr=0.002, epochs=100, images=64, head_lr_scale=1)
_RESNET = Recipe("sgd", lr=0.03, epochs=200, images=32, head_lr_scale=10)


def recipe_of(name: RecipeName, backbone: str) -> Recipe:
    """`fast`: twice the images, half the views of each, and a quarter of the pixels of a view."""
    paper = _CONVNET if backbone.startswith("conv4") else _RESNET
    if name == "paper":
        return paper
    return replace(
        paper,
        images=2 * paper.images,
        query=2,
        annealing="end",
        averaging=0.99,
        view_scale=0.5,
    )
