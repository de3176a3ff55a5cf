"""The task-agnostic projection head of contrastive learning (section 7, Table 7)."""

from __future__ import annotations

from torch import Tensor, nn

from pseudoshot.heads.base import Head


def two_layers(dim_in: int, dim_out: int) -> nn.Sequential:
    """Linear - ReLU - linear, the hidden layer as wide as the input."""
    return nn.Sequential(nn.Linear(dim_in, dim_in), nn.ReLU(), nn.Linear(dim_in, dim_out))


class Projection(Head):
    """ψ(x) = MLP(φ(x)), two layers; of φ's size where no other is given."""

    task_specific = False

    def __init__(self, dim: int, dim_out: int | None = None) -> None:
        super().__init__()
        self.layers = two_layers(dim, dim_out or dim)

    def forward(self, sets: Tensor) -> Tensor:
        psi: Tensor = self.layers(sets)
        return psi
