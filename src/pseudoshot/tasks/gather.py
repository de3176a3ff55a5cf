"""Rows that many tasks share, gathered with a gradient of the same bits at every run."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def gather_rows(values: Tensor, rows: Tensor) -> Tensor:
    """`values[rows]` for values (n,) or (n, d) and rows of any shape: (..., d).

    The gradient of a row is a sum over all who asked for it. On a CPU that of plain indexing is
    summed by several threads at once, in whichever order they come, and so rounded otherwise from
    run to run; those of these two are summed in the order of `rows`, on any number of threads.
    """
    if values.dim() == 1:
        return values.index_select(0, rows.flatten()).view(rows.shape)
    return F.embedding(rows, values)


def sum_of_rows(values: Tensor, rows: Tensor) -> Tensor:
    """`values[rows].sum(-2)` for values (n, d) and rows (..., k): (..., d).

    No rows are gathered, which would be k times as large. Its gradient too is summed in the order
    of `rows`, on any number of threads.
    """
    sums = F.embedding_bag(rows.flatten(0, -2), values, mode="sum")
    return sums.view(*rows.shape[:-1], -1)
