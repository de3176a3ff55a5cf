"""Optimal transport between the points of many tasks at once."""

from __future__ import annotations

import math

from torch import Tensor


def transport_plan(cost: Tensor, entropy: float, steps: int) -> Tensor:
    """The plan (T, n, m) that moves n equal masses to m equal ones at the least cost (T, n, m)
    less `entropy` times its own: by Sinkhorn's iterations (Cuturi 2013), in logarithms.

    What leaves each of the n is exact, what arrives is so in the limit of many steps.

    >>> import torch
    >>> transport_plan(1 - torch.eye(2)[None], 0.01, 5).round(decimals=4)
    tensor([[[0.5000, 0.0000],
             [0.0000, 0.5000]]])
    """
    n, m = cost.shape[-2:]
    scores = -cost / entropy
    of_rows = scores.new_zeros(*scores.shape[:-1], 1)
    for _ in range(steps):
        of_columns = -math.log(m) - (scores + of_rows).logsumexp(-2, keepdim=True)
        of_rows = -math.log(n) - (scores + of_columns).logsumexp(-1, keepdim=True)
    return (scores + of_rows + of_columns).exp()
