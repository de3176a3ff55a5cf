"""Recipes: what a run does where the user does not say, by the names of options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pseudoshot.backbones import Backbone


@dataclass(frozen=True)
class Recipe:
    """A backbone to begin with, and the settings that go with any backbone."""

    backbone: str
    settings: Callable[[type[Backbone]], Mapping[str, Any]]


def _paper(backbone: type[Backbone]) -> Mapping[str, Any]:
    """Section 6.3: each backbone has its own."""
    return backbone.paper


def _fast(backbone: type[Backbone]) -> Mapping[str, Any]:
    """Twice the images, half the views of each, and a quarter of the pixels of a view."""
    return {
        **backbone.paper,
        "images": 2 * backbone.paper["images"],
        "query": 2,
        "views_per_class": 3,
        "annealing": "end",
        "averaging": 0.99,
        "view_scale": 0.5,
    }


RECIPES = {"paper": Recipe("conv4", _paper), "fast": Recipe("conv4-pyramid", _fast)}
