"""The last layer of a network that classifies: MAML adapts it to a task with all others."""

from __future__ import annotations

from torch import Tensor, nn

from pseudoshot.heads.base import Head


class LinearHead(Head):
    """ψ(x) = Wφ(x) + b, the scores of N classes."""

    task_specific = False

    def __init__(self, dim: int, classes: int) -> None:
        super().__init__()
        self.layer = nn.Linear(dim, classes)

    def forward(self, sets: Tensor) -> Tensor:
        scores: Tensor = self.layer(sets)
        return scores
