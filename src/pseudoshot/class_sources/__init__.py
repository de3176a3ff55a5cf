"""Class sources: what says which images are "the same". A source draws indices (C, V), no more.

Row i of a draw is pseudo-class i; its V entries index the image set. Exemplars give one image V
times (unsupervised), labels give V images of one class (supervised).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pseudoshot.tools.distinct import sample_distinct
from pseudoshot.tools.errors import PseudoshotError


class ClassSource(ABC):
    """Draws C pseudo-classes of V members; all randomness comes from the generator it was given."""

    @abstractmethod
    def steps_per_epoch(self, C: int, V: int) -> int:
        """How many draws make one epoch; an error if the set is too small for a single one."""

    @abstractmethod
    def draw(self, C: int, V: int) -> Tensor:
        """Indices into the image set, (C, V)."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state:
            raise ValueError(f"{type(self).__name__} keeps no state, but was given {sorted(state)}")


class Exemplars(ClassSource):
    """Every image is a pseudo-class of its own; an epoch visits every image once.

    As in the paper's released code, the last partial batch of an epoch is dropped.

    >>> source = Exemplars(10, torch.Generator().manual_seed(0))
    >>> source.draw(C=2, V=3).shape
    torch.Size([2, 3])
    """

    def __init__(self, count: int, generator: torch.Generator) -> None:
        self.count = count
        self.generator = generator
        self.order = torch.empty(0, dtype=torch.long)
        self.position = 0

    def steps_per_epoch(self, C: int, V: int) -> int:
        if self.count < C:
            raise PseudoshotError(
                f"an episode takes {C} images but there are {self.count} to train on: "
                f"add images or lower --images to {self.count} or less"
            )
        return self.count // C

    def draw(self, C: int, V: int) -> Tensor:
        if self.position + C > len(self.order):
            self.order = torch.randperm(self.count, generator=self.generator)
            self.position = 0
        chosen = self.order[self.position : self.position + C]
        self.position += C
        return chosen[:, None].expand(C, V)

    def state_dict(self) -> dict[str, Any]:
        return {"order": self.order, "position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.order, self.position = state["order"], state["position"]


class Labels(ClassSource):
    """Real labels: C classes at random, V distinct images of each.

    >>> source = Labels(np.array([0, 0, 1, 1, 1]), torch.Generator().manual_seed(0))
    >>> source.draw(C=2, V=2).shape
    torch.Size([2, 2])
    """

    def __init__(self, labels: npt.NDArray[np.int64], generator: torch.Generator) -> None:
        self.generator = generator
        by_class = torch.from_numpy(np.argsort(labels, kind="stable"))
        counts = torch.from_numpy(np.bincount(labels))
        starts = counts.cumsum(0) - counts
        self.by_class = by_class
        self.counts, self.starts = counts[counts > 0], starts[counts > 0]

    def steps_per_epoch(self, C: int, V: int) -> int:
        if len(self.counts) < C:
            raise PseudoshotError(
                f"an episode takes {C} classes but the set has {len(self.counts)}: lower --images"
            )
        if self.counts.min() < V:
            raise PseudoshotError(
                f"an episode takes {V} images of a class but the smallest class has "
                f"{int(self.counts.min())}: lower --shot or --query"
            )
        return max(1, len(self.by_class) // (C * V))

    def draw(self, C: int, V: int) -> Tensor:
        classes = torch.randperm(len(self.counts), generator=self.generator)[:C]
        members = sample_distinct(self.counts[classes], V, self.generator)
        return self.by_class[self.starts[classes][:, None] + members]
