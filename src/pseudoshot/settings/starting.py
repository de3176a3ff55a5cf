"""What holds where a training starts from a trained network and the user does not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pseudoshot.backbones import BACKBONES, Backbone
from pseudoshot.classifiers import CLASSIFIERS
from pseudoshot.readings import READINGS, Reading
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.registry import shorten

# Of a network that knows more than training on views teaches: few and small steps, however many
# images there are, as the further it goes, the more is forgotten. Chosen on Tiny ImageNet's
# validation classes (results/README.md). Any other goes on by the recipe.
GENTLE: Mapping[str, Any] = {
    "optimiser": "adam",
    "lr": 1e-5,
    "epochs": 3,
    "episodes_per_epoch": 10,
    "annealing": "step",
    "warm_up": 0,
    "averaging": 0.0,
    "images": 32,
    "query": 2,
    "views_per_class": 3,
    "precision": "32-true",  # bfloat16 takes 1.5 times as long through lite0's depthwise steps
}
VIEW_SCALE = 0.5  # a view of lite0 then takes 18 ms, forward and backward on a CPU, in place of 57


class FromOutside(Backbone):
    """A network that is not made here, for images of one size: only what starts from it has it."""

    any_size = False


OUTSIDE: Mapping[str, type[Backbone]] = {"transformers": FromOutside}


def backbone_named(name: str) -> type[Backbone]:
    """One of ours, or what stands for a network from outside."""
    outside = isinstance(name, str) and name in OUTSIDE  # a file may hold anything
    return OUTSIDE[name] if outside else BACKBONES[name]


@dataclass(frozen=True)
class Start:
    """The network to start from, as its card describes it."""

    name: str  # as the user wrote it
    backbone: str
    size: int
    similarity: str
    reading: Reading
    knows_more: bool  # than training on views teaches: see `ModelCard`
    classifier: Mapping[str, Any] = field(default_factory=dict)

    def refuse_another(self, given: Mapping[str, Any]) -> None:
        """A network comes with the images it takes."""
        for option, own in (("backbone", self.backbone), ("size", self.size)):
            asked = given.get(option, own)
            if asked != own:
                raise PseudoshotError(
                    f"--{option} {shorten(asked)} is at odds with --start-from "
                    f"{shorten(self.name, 300)}, whose {option} is {own}: leave it out"
                )

    def preferred(self, labelled: bool, stays: bool = False) -> dict[str, Any]:
        """Options. With labels, or where the network stays as it is, which is not adapting, those
        that it is used by."""
        network: dict[str, Any] = {"backbone": self.backbone, "size": self.size}
        if stays:
            return {"similarity": self.similarity, **network}
        kept: dict[str, Any] = {}
        if str(self.reading) in READINGS:
            kept["reading"] = str(self.reading)
        if labelled:
            return {**kept, **network}
        kept["similarity"] = self.similarity
        if not self.knows_more:
            return {**kept, **network}
        kept["view_scale"] = VIEW_SCALE if backbone_named(self.backbone).any_size else 1.0
        return {**GENTLE, **kept, **network}

    @property
    def made_for(self) -> Mapping[str, Any]:
        """Its classifier, unless that needs a head or layer, which is not taken along."""
        own = {"name": "prototype", **self.classifier}
        return {} if CLASSIFIERS[own["name"]].plain_reading else own
