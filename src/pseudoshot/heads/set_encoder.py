"""Set attention (Lee et al. 2019) as Meta-GMVAE has it: what a latent is depends on its set."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from pseudoshot.heads.base import Head

_MOST_LOG_VARIANCE = 20.0  # its exponential, and that of its negative, are far from any limit


class SetEncoder(Head):
    """q(z | x, set): two set attention blocks, then a linear map to mean and log variance.

    As a head, ψ is the mean of the latent.
    """

    def __init__(self, dim: int, latent: int, width: int = 256, heads: int = 4) -> None:
        super().__init__()
        self.latent, self.heads = latent, heads
        self.blocks = nn.Sequential(
            SetAttentionBlock(dim, width, heads), SetAttentionBlock(width, width, heads)
        )
        self.linear = nn.Linear(width, 2 * latent)

    @property
    def attention_heads(self) -> int:
        return self.heads

    def posterior(self, sets: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log variance of every member's latent: (T, R, d) to (T, R, L) each."""
        mean, log_variance = self.linear(self.blocks(sets)).chunk(2, -1)
        return mean, log_variance.clamp(-_MOST_LOG_VARIANCE, _MOST_LOG_VARIANCE)

    def forward(self, sets: Tensor) -> Tensor:
        """(T, R, d) to (T, R, L)."""
        return self.posterior(sets)[0]


def latents(mean: Tensor, log_variance: Tensor, noise: Tensor) -> Tensor:
    """Samples of Gaussians (T, R, L) by standard normal noise (T, R, S, L): (T, R, S, L)."""
    return mean[:, :, None] + (log_variance / 2).exp()[:, :, None] * noise


class SetAttentionBlock(nn.Module):
    """H = O + ReLU(W O), O = Q + softmax(Q Kᵀ / √width) V in each head; no LayerNorm.

    Heads share the width, and yet divide by the root of all of it, as in the authors' code. Keys
    have no bias: it would add the same to all scores of a query.
    """

    def __init__(self, dim: int, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, width)
        self.key = nn.Linear(dim, width, bias=False)
        self.value = nn.Linear(dim, width)
        self.output = nn.Linear(width, width)

    def forward(self, sets: Tensor) -> Tensor:
        """(T, R, d) to (T, R, width)."""
        query, key, value = (
            part(sets).unflatten(2, (self.heads, -1)).transpose(1, 2)  # (T, h, R, width / h)
            for part in (self.query, self.key, self.value)
        )
        scale = self.output.in_features**-0.5
        attended = F.scaled_dot_product_attention(query, key, value, scale=scale)
        joined = (query + attended).transpose(1, 2).flatten(2)
        mapped: Tensor = joined + F.relu(self.output(joined))
        return mapped
