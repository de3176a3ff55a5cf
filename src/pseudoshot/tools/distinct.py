"""Drawing without replacement for many sets at once, at a cost that does not contain their size."""

from __future__ import annotations

import torch
from torch import Tensor


def sample_distinct(counts: Tensor, k: int, generator: torch.Generator) -> Tensor:
    """k distinct integers in random order from range(n) for every n in counts: (..., ) -> (..., k).

    Floyd's algorithm, one step for all rows together, then a shuffle: Floyd's sets are uniform but
    their order is not.

    >>> drawn = sample_distinct(torch.tensor([3, 100]), 3, torch.Generator().manual_seed(0))
    >>> sorted(drawn[0].tolist())
    [0, 1, 2]
    """
    if int(counts.min()) < k:
        raise ValueError(f"cannot draw {k} distinct from {int(counts.min())}")
    chosen = torch.full((*counts.shape, k), -1, dtype=torch.long)
    # float64: a float32 uniform cannot tell apart the members of a set above 2**24
    uniform = torch.rand(*counts.shape, k, generator=generator, dtype=torch.float64)
    for step in range(k):
        last = counts - k + step
        candidate = (uniform[..., step] * (last + 1)).long()
        taken = (chosen[..., :step] == candidate[..., None]).any(-1)
        chosen[..., step] = torch.where(taken, last, candidate)
    order = torch.rand(*counts.shape, k, generator=generator).argsort(-1)
    return chosen.gather(-1, order)
