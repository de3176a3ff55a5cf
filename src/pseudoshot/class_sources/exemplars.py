"""Exemplars: every image is a pseudo-class of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from pseudoshot.class_sources.base import ClassSource, Draw
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.registry import PartSettings


class Exemplars(ClassSource):
    """Every image is a pseudo-class of its own, its members its views: no labels are needed.

    An epoch visits every image once. As in the paper's released code, the last partial batch of an
    epoch is dropped.

    >>> source = Exemplars(PartSettings(), 10, None, torch.Generator().manual_seed(0))
    >>> source.draw(C=2, V=3).rows.shape
    torch.Size([2, 3])
    """

    repeats = True

    def __init__(
        self,
        settings: PartSettings,
        count: int,
        labels: npt.NDArray[np.int64] | None,
        generator: torch.Generator,
    ) -> None:
        super().__init__(settings, count, labels, generator)
        self.order = torch.empty(0, dtype=torch.long)
        self.position = 0

    @property
    def classes(self) -> int:
        return self.count

    def steps_per_epoch(self, C: int, V: int) -> int:
        if self.count < C:
            raise PseudoshotError(
                f"an episode takes {C} images but there are {self.count} to train on: "
                f"add images or lower --images to {self.count} or less"
            )
        return self.count // C

    def draw(self, C: int, V: int) -> Draw:
        if self.position + C > len(self.order):
            self.order = torch.randperm(self.count, generator=self.generator)
            self.position = 0
        chosen = self.order[self.position : self.position + C]
        self.position += C
        return Draw(chosen[:, None].expand(-1, V), chosen)

    def state_dict(self) -> dict[str, Any]:
        return {"order": self.order, "position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.order, self.position = state["order"], state["position"]
