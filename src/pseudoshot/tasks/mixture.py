"""Gaussian mixtures of many sets at once, by EM (Dempster et al. 1977) on logarithms.

Two of them are Meta-GMVAE's (Lee et al. 2021): the prior of an unlabelled set, and the classes of a
task some of whose members are labelled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from pseudoshot.tools.distinct import sample_distinct

LEAST_VARIANCE = 1e-4  # a class may have no spread at all along some axis
_LOG_2_PI = math.log(2 * math.pi)


def log_gaussians(samples: Tensor, means: Tensor, variances: Tensor | None = None) -> Tensor:
    """log N(z; m_k, diag v_k), v = 1 where not given: (B, n, L), (B, K, L) to (B, n, K).

    >>> log_gaussians(torch.zeros(1, 1, 2), torch.zeros(1, 1, 2))
    tensor([[[-1.8379]]])
    """
    constant = samples.shape[2] * _LOG_2_PI
    if variances is None:
        own = samples.square().sum(2, keepdim=True)
        squares = own + means.square().sum(2)[:, None] - 2 * samples @ means.mT
        return -(squares + constant) / 2
    scaled = means / variances
    squares = samples.square() @ variances.reciprocal().mT - 2 * samples @ scaled.mT
    of_class = (means * scaled + variances.log()).sum(2)[:, None]
    return -(squares + of_class + constant) / 2


@dataclass(frozen=True)
class Mixture:
    """Σ_k π_k N(z; m_k, I), one of each of B sets."""

    log_weights: Tensor  # (B, K)
    means: Tensor  # (B, K, L)

    def joint(self, samples: Tensor) -> Tensor:
        """log π_k N(z; m_k, I): (B, n, L) to (B, n, K)."""
        return self.log_weights[:, None] + log_gaussians(samples, self.means)

    def log_density(self, samples: Tensor) -> Tensor:
        """(B, n, L) to (B, n)."""
        return self.joint(samples).logsumexp(2)

    def step(self, samples: Tensor) -> Mixture:
        """One step of EM; the likelihood of the samples (B, n, L) never falls.

        A mean is taken with weights that are a softmax over samples: it is one even of a component
        whose share of every sample is too small for a float.
        """
        shares = self.joint(samples).log_softmax(2)  # log of them, (B, n, K)
        weights = shares.logsumexp(1) - math.log(samples.shape[1])
        return Mixture(weights, shares.softmax(1).mT @ samples)


@torch.no_grad()
def fit_mixture(
    samples: Tensor, components: int, steps: int, generator: torch.Generator
) -> Mixture:
    """Of each set (B, n, L), from equal weights and from means that are distinct samples of it.

    It is without gradient, whatever the samples have.
    """
    B, n, L = samples.shape
    chosen = sample_distinct(torch.full((B,), n), components, generator).to(samples.device)
    means = samples.gather(1, chosen[..., None].expand(B, components, L))
    mixture = Mixture(samples.new_full((B, components), -math.log(components)), means)
    for _ in range(steps):
        mixture = mixture.step(samples)
    return mixture


def fit_classes(
    labelled: Tensor, one_hot: Tensor, unlabelled: Tensor, steps: int, spread: bool = False
) -> tuple[Tensor, Tensor]:
    """Means and diagonal variances (T, N, L) of equally likely classes, by semi-supervised EM.

    The shares (T, n, N) of labelled samples (T, n, L) are certain; those of unlabelled ones
    (T, m, L) each step finds anew, under unit variances, or with `spread` those of the step before.
    It begins at the means of the labelled samples and unit variances, where it stays without steps.
    """
    known = one_hot.mT @ labelled, one_hot.mT @ labelled.square()
    counts = one_hot.sum(1)[..., None]  # (T, N, 1)
    squared = unlabelled.square()
    means = known[0] / counts
    variances = torch.ones_like(means)
    for _ in range(steps):
        shares = log_gaussians(unlabelled, means, variances if spread else None).softmax(2).mT
        total = counts + shares.sum(2, keepdim=True)
        means = (known[0] + shares @ unlabelled) / total
        squares = (known[1] + shares @ squared) / total
        variances = (squares - means.square()).clamp_min(LEAST_VARIANCE)
    return means, variances
