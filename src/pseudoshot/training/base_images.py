"""Which images of a set are trained on, and which are kept for the label-free score."""

from __future__ import annotations

import torch
from torch import Tensor

from pseudoshot.class_sources import CLASS_SOURCES, Draw
from pseudoshot.data import ImageSet
from pseudoshot.embedders import Embedder, load
from pseudoshot.tools.registry import PartSettings

FEWEST_HELD_OUT = 2  # a task has two classes at least
HELD_OUT = 256  # images kept from training for the label-free score, at most one in twenty


class BaseImages:
    """A set as a training sees it; every draw comes from the generator it was given."""

    def __init__(
        self, images: ImageSet, class_source: PartSettings, generator: torch.Generator
    ) -> None:
        self.images = images
        held_out, self.rows = _hold_out(len(images), generator)
        self.held_out = images.take(held_out.numpy())
        source = CLASS_SOURCES[class_source.name]
        if source.needs_labels:
            images.class_counts()  # refuses a set without labels
        labels = None if images.labels is None else images.labels[self.rows.numpy()]
        self.source = source(class_source, len(self.rows), labels, generator)

    def begin_epoch(self, embedder: Embedder) -> None:
        """Let the class source look at the images trained on, through the network as it is now."""

        def embed(run: str | None = None) -> Tensor:
            network = embedder if run is None else load(run)
            return network.embed(self.images, bar=False)[self.rows]

        self.source.begin_epoch(embed)

    def draw(self, C: int, V: int) -> Draw:
        """The next pseudo-classes, as indices into the image set."""
        drawn = self.source.draw(C, V)
        return drawn._replace(rows=self.rows[drawn.rows])


def held_out_of(count: int) -> int:
    return min(HELD_OUT, count // 20)


def _hold_out(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Rows kept from training, and rows to train on."""
    order = torch.randperm(count, generator=generator)
    held_out = held_out_of(count)
    return order[:held_out], order[held_out:].sort().values
