"""DeepSets + FiLM: a task's scale and shift, from the sum over its members (appendix, Eq. 13)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pseudoshot.heads.base import Head
from pseudoshot.heads.projection import two_layers
from pseudoshot.tasks.gather import gather_rows, sum_of_rows

_SMALL = 0.01  # of the last layer's first weights: ψ begins close to φ


class FiLM(Head):
    """(γ, β) = h(Σ f(φ(x'))) over the task's set, f and h two-layer MLPs; ψ = γ ⊙ φ + β."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.f = two_layers(dim, dim)
        self.h = two_layers(dim, 2 * dim)
        last = self.h[2]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.weight.mul_(_SMALL)
            last.bias.copy_(torch.cat((torch.ones(dim), torch.zeros(dim))))

    def forward(self, sets: Tensor) -> Tensor:
        return self._modulate(sets, self.f(sets).sum(1))

    def on_tasks(self, embeddings: Tensor, members: Tensor) -> Tensor:
        # f once per row, not once per member
        sums = sum_of_rows(self.f(embeddings), members)
        return self._modulate(gather_rows(embeddings, members), sums)

    def _modulate(self, sets: Tensor, sums: Tensor) -> Tensor:
        scale, shift = self.h(sums)[:, None].chunk(2, -1)  # (T, 1, d) each
        modulated: Tensor = scale * sets + shift
        return modulated
