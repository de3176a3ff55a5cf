"""Which images of a set are trained on, which are kept for the label-free score, which labels are
looked at."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pseudoshot.class_sources import ClassSource, Exemplars, Labels
from pseudoshot.data import ImageSet

HELD_OUT = 256  # images kept from training for the label-free score, at most one in twenty


class BaseImages:
    """A set as a training sees it; every draw comes from the generator it was given."""

    def __init__(
        self, images: ImageSet, generator: torch.Generator, labelled: bool, fraction: float
    ) -> None:
        self.images = images
        held_out, rows = _hold_out(len(images), generator)
        self.held_out = images.take(held_out.numpy())
        self.source: ClassSource
        if labelled:
            images.class_counts()  # refuses a set without labels
            assert images.labels is not None
            rows = rows[balanced_part(images.labels[rows.numpy()], fraction, generator)]
            self.source = Labels(images.labels[rows.numpy()], generator)
        else:
            self.source = Exemplars(len(rows), generator)
        self.rows = rows

    def draw(self, C: int, V: int) -> Tensor:
        """Indices into the image set, (C, V)."""
        return self.rows[self.source.draw(C, V)]

    def classes_of(self, drawn: Tensor) -> Tensor | None:
        """The label of each drawn class, (C,), where the set still has labels."""
        labels = self.images.labels
        return None if labels is None else torch.from_numpy(labels[drawn[:, 0].numpy()])


def balanced_part(
    labels: npt.NDArray[np.int64], fraction: float, generator: torch.Generator
) -> Tensor:
    """Positions of a random part of each class, the same fraction of all, at least one each.

    >>> part = balanced_part(np.array([0, 0, 0, 0, 1, 1]), 0.5, torch.Generator().manual_seed(0))
    >>> np.array([0, 0, 0, 0, 1, 1])[part]
    array([0, 0, 1])
    """
    order = torch.randperm(len(labels), generator=generator)
    shuffled = torch.from_numpy(labels)[order]
    by_class = shuffled.argsort(stable=True)
    counts = torch.bincount(shuffled)
    starts = counts.cumsum(0) - counts
    place = torch.arange(len(labels)) - starts[shuffled[by_class]]  # within its class
    wanted = (counts * fraction).round().clamp_min(1)[shuffled[by_class]]
    return order[by_class[place < wanted]].sort().values


def _hold_out(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Rows kept from training, and rows to train on."""
    order = torch.randperm(count, generator=generator)
    held_out = min(HELD_OUT, count // 20)
    return order[:held_out], order[held_out:].sort().values
