"""Real labels: the images of one class are "the same"."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field
from torch import Tensor

from pseudoshot.class_sources.base import ClassSource, Draw
from pseudoshot.class_sources.groups import Groups
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.registry import PartSettings


class LabelsSettings(PartSettings):
    labels: float = Field(default=1.0, gt=0, le=1)
    """part of each class whose labels are used: 0.1 is a tenth"""


class Labels(ClassSource):
    """Real labels: C classes at random, V distinct images of each. Training is then supervised.

    Of a class with fewer than V images all are drawn, and some or each of them again: views of them
    differ.

    >>> labels = np.array([0, 0, 1, 1, 1])
    >>> source = Labels(LabelsSettings(), 5, labels, torch.Generator().manual_seed(0))
    >>> source.draw(C=2, V=2).rows.shape
    torch.Size([2, 2])
    """

    Settings = LabelsSettings
    needs_labels = True

    def __init__(
        self,
        settings: LabelsSettings,
        count: int,
        labels: npt.NDArray[np.int64] | None,
        generator: torch.Generator,
    ) -> None:
        super().__init__(settings, count, labels, generator)
        assert labels is not None
        part = balanced_part(labels, settings.labels, generator)
        self.part = part  # images whose labels are used
        self.groups = Groups(torch.from_numpy(labels)[part])
        self.present = self.groups.counts.nonzero()[:, 0]

    @property
    def classes(self) -> int:
        return int(self.present[-1]) + 1

    def steps_per_epoch(self, C: int, V: int) -> int:
        if len(self.present) < C:
            raise PseudoshotError(
                f"an episode takes {C} classes but the set has {len(self.present)}: lower --images "
                f"to {len(self.present)} or less"
            )
        return max(1, len(self.part) // (C * V))

    def first_of_each(self, most: int) -> Tensor:
        """So many of each class at most, among those whose labels are used."""
        groups = self.groups
        place = torch.arange(len(self.part)) - groups.starts.repeat_interleave(groups.counts)
        return self.part[groups.members[place < most]]

    def draw(self, C: int, V: int) -> Draw:
        chosen = torch.randperm(len(self.present), generator=self.generator)[:C]
        classes = self.present[chosen]
        return Draw(self.part[self.groups.draw(classes, V, self.generator)], classes)


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
