"""Images in groups, of which distinct members can be drawn."""

from __future__ import annotations

import torch
from torch import Tensor

from pseudoshot.tools.distinct import sample_distinct


class Groups:
    """Positions by the group that each is in, -1 for none.

    >>> groups = Groups(torch.tensor([1, 0, -1, 1]))
    >>> groups.counts, groups.members
    (tensor([1, 2]), tensor([1, 0, 3]))
    """

    def __init__(self, of: Tensor) -> None:
        grouped = of >= 0
        self.counts = torch.bincount(of[grouped])
        self.starts = self.counts.cumsum(0) - self.counts
        self.members = of.argsort(stable=True)[len(of) - int(grouped.sum()) :]

    def draw(self, groups: Tensor, V: int, generator: torch.Generator) -> Tensor:
        """V members of each of the groups (C,), distinct where it has as many: (C, V).

        Of a smaller one all are drawn, and some or each of them again.
        """
        counts = self.counts[groups]
        places = sample_distinct(counts.clamp_min(V), V, generator) % counts[:, None]
        return self.members[self.starts[groups][:, None] + places]
