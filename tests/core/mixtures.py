"""Meta-GMVAE's parts in plain loops: Gaussians, a step of EM, attention over a set."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from pseudoshot.heads import SetEncoder
from pseudoshot.heads.set_encoder import SetAttentionBlock

LATENT = 3
torch_double = {"dtype": torch.float64}


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), **torch_double)


def slow_log_gaussian(z: Tensor, mean: Tensor, variance: Tensor | None = None) -> Tensor:
    variance = torch.ones_like(mean) if variance is None else variance
    terms = [
        -0.5 * ((z[i] - mean[i]) ** 2 / variance[i] + torch.log(2 * math.pi * variance[i]))
        for i in range(len(z))
    ]
    return torch.stack(terms).sum()


def slow_log_density(z: Tensor, weights: list[Tensor], means: list[Tensor]) -> Tensor:
    """log Σ_k π_k N(z; m_k, I)."""
    terms = [w * slow_log_gaussian(z, m).exp() for w, m in zip(weights, means, strict=True)]
    return torch.stack(terms).sum().log()


def slow_em_step(
    samples: list[Tensor], weights: list[Tensor], means: list[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    shares = []
    for z in samples:
        parts = [w * slow_log_gaussian(z, m).exp() for w, m in zip(weights, means, strict=True)]
        shares.append([part / sum(parts) for part in parts])
    counts = [sum(row[k] for row in shares) for k in range(len(means))]
    moved = [
        sum(row[k] * z for row, z in zip(shares, samples, strict=True)) / counts[k]
        for k in range(len(means))
    ]
    return [count / len(samples) for count in counts], moved


def slow_set_attention(block: SetAttentionBlock, members: Tensor) -> Tensor:
    """Of one set (R, d), head by head and member by member."""
    query, key, value = (part(members) for part in (block.query, block.key, block.value))
    width = query.shape[1]
    size = width // block.heads
    rows = []
    for i in range(len(members)):
        joined = []
        for head in range(block.heads):
            own = slice(head * size, (head + 1) * size)
            scores = [(query[i, own] * key[j, own]).sum() / width**0.5 for j in range(len(members))]
            total = sum(score.exp() for score in scores)
            joined.append(
                query[i, own] + sum(s.exp() / total * value[j, own] for j, s in enumerate(scores))
            )
        o = torch.cat(joined)
        rows.append(o + (block.output.weight @ o + block.output.bias).clamp_min(0))
    return torch.stack(rows)


def slow_posterior(head: SetEncoder, members: Tensor) -> tuple[Tensor, Tensor]:
    first, second = head.blocks
    found = slow_set_attention(second, slow_set_attention(first, members))
    both = found @ head.linear.weight.T + head.linear.bias
    return both[:, : head.latent], both[:, head.latent :]
