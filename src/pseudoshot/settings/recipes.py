"""Recipes: what a run does where the user does not say, by the names of options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pseudoshot.backbones import Backbone
from pseudoshot.data import is_named
from pseudoshot.tools.processor import multiplies_bfloat16
from pseudoshot.views import Policy


@dataclass(frozen=True)
class Recipe:
    """A backbone to begin with, and the settings that go with any backbone and kind of images."""

    backbone: str
    settings: Callable[[type[Backbone], type[Policy]], Mapping[str, Any]]


def _paper(backbone: type[Backbone], views: type[Policy]) -> Mapping[str, Any]:
    """Section 6.3: each backbone has its own."""
    return backbone.paper


def _ours(backbone: type[Backbone], views: type[Policy]) -> dict[str, Any]:
    """Twice the images, half the views of each, and a quarter of the pixels of a view."""
    return {
        **backbone.paper,
        "images": 2 * backbone.paper["images"],
        "query": 2,
        "views_per_class": 3,
        "view_scale": 0.5,
        "optimiser": "muon",
        "lr": 0.004,
        "annealing": "end",
        "precision": "bf16-mixed" if multiplies_bfloat16() else "32-true",
        "reading": "described",
        "classifier": "prototype" if views.of_characters else "ridge",
    }


def _fast(backbone: type[Backbone], views: type[Policy]) -> Mapping[str, Any]:
    """As many steps of any set, so that the time is known beforehand."""
    steps = {"epochs": 10, "episodes_per_epoch": 150, "warm_up": 200}
    return {**_ours(backbone, views), **steps, "averaging": 0.99}


def _best(backbone: type[Backbone], views: type[Policy]) -> Mapping[str, Any]:
    """Ten times as many, of views of twice the pixels, for an afternoon."""
    steps = {"epochs": 50, "episodes_per_epoch": 300, "warm_up": 300}
    return {**_ours(backbone, views), **steps, "view_scale": 0.75, "averaging": 0.998}


RECIPES = {
    "paper": Recipe("conv4", _paper),
    "fast": Recipe("resnet-pyramid", _fast),
    "best": Recipe("resnet-pyramid", _best),
}


def default_recipe(data: str) -> str:
    """The paper's for the named sets, on which others are compared with it; else the fast one.

    >>> default_recipe("cifar-fs"), default_recipe("holiday/photos")
    ('paper', 'fast')
    """
    return "paper" if is_named(data) else "fast"
