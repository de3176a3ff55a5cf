"""Tasks as index tensors: which view of which pseudo-class is support, which is query.

An episode holds C pseudo-classes of V views; view v of class c is row c * V + v. A task names rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Tasks:
    """T tasks of N ways, K shots and Q queries over the rows of one episode."""

    support: Tensor  # (T, N, K) rows
    query: Tensor  # (T, N, Q) rows; the label of query[t, n, q] is n

    @property
    def shot(self) -> int:
        return self.support.shape[2]

    @property
    def members(self) -> Tensor:
        """All rows of each task, class by class, support before query: (T, N(K+Q))."""
        return torch.cat((self.support, self.query), 2).flatten(1)

    def by_position(self) -> Tasks:
        """The same tasks, naming positions in `members` in place of rows of the episode."""
        T, N, K = self.support.shape
        V = K + self.query.shape[2]
        positions = torch.arange(N * V, device=self.support.device).view(N, V).expand(T, N, V)
        return Tasks(positions[..., :K], positions[..., K:])

    def to(self, device: torch.device) -> Tasks:
        return Tasks(self.support.to(device), self.query.to(device))


def resample_tasks(
    C: int,
    way: int,
    shot: int,
    query: int,
    tasks: int,
    generator: torch.Generator,
    partition: Tensor | None = None,
) -> Tasks:
    """Sufficient Episodic Sampling (SES, Algorithm 3 lines 5-6) as one index computation.

    Each task chooses `way` of the C classes and, in each, splits the V = shot + query views anew.
    With `partition`, (C,), all classes of a task are of one partition, that of a random class.

    >>> tasks = resample_tasks(8, 5, 1, 3, 100, torch.Generator().manual_seed(0))
    >>> tasks.support.shape, tasks.query.shape
    (torch.Size([100, 5, 1]), torch.Size([100, 5, 3]))
    """
    smallest = C if partition is None else _smallest(partition)
    if not 1 <= way <= smallest:
        raise ValueError(f"way {way} does not fit an episode of {smallest} images")
    if way == C:
        classes = torch.arange(C).expand(tasks, C)
    else:
        order = torch.rand(tasks, C, generator=generator)
        if partition is not None:
            own = partition[torch.randint(C, (tasks,), generator=generator)]
            order += (partition != own[:, None]).float()  # others come after all of its own
        classes = order.argsort(-1)[:, :way]
    return split_views(classes, shot, query, generator)


def _smallest(partition: Tensor) -> int:
    counts = torch.bincount(partition)
    return int(counts[counts > 0].min())


def split_views(classes: Tensor, shot: int, query: int, generator: torch.Generator) -> Tasks:
    """Tasks of the given classes (T, N), the views of each split at random."""
    V = shot + query
    views = torch.rand(*classes.shape, V, generator=generator).argsort(-1)
    rows = classes[..., None] * V + views
    return Tasks(rows[..., :shot], rows[..., shot:])


def fixed_task(C: int, shot: int, query: int) -> Tasks:
    """One task over all C classes whose first views are support: where views have roles.

    >>> fixed_task(2, 1, 2).query
    tensor([[[1, 2],
             [4, 5]]])
    """
    rows = torch.arange(C * (shot + query)).view(1, C, shot + query)
    return Tasks(rows[..., :shot], rows[..., shot:])


def exhaustive_tasks(C: int, V: int) -> Tasks:
    """All V one-shot tasks over all C classes: view s of every class is support, the rest query.

    Together they use each of the V(V-1) ordered pairs of views once, with no sampling noise.
    """
    rows = torch.arange(C * V).view(C, V)
    others = torch.tensor([[v for v in range(V) if v != s] for s in range(V)])  # (V, V-1)
    return Tasks(rows.T[..., None], rows[:, others].transpose(0, 1))
