"""Meta-GMVAE's way of testing: a mixture fitted to support and queries together, transductive."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field, NonNegativeInt, PositiveInt
from torch import Tensor

from pseudoshot.classifiers.base import ClassifierSettings, Fitted, HeadClassifier, Support
from pseudoshot.classifiers.with_head import refuse_too_many
from pseudoshot.heads import SetEncoder
from pseudoshot.heads.set_encoder import latents
from pseudoshot.tasks.mixture import fit_classes, log_gaussians

_SEED = 0  # of the noise


class SemiSupervisedEMSettings(ClassifierSettings):
    name: str = "semi-supervised-em"
    """which classifier"""
    em_steps: NonNegativeInt = Field(default=10, le=10_000)
    """steps of EM"""
    samples: PositiveInt = Field(default=32, le=1 << 16)
    """S, latents drawn for each image"""
    variances: Literal["last", "all"] = "last"
    """where the classes' own variances count, in place of unit ones: when queries are told at last,
    as in the authors' code; or in all steps, as in their paper's equations"""


class SemiSupervisedEM(HeadClassifier):
    """A Gaussian per class, fitted by EM to latents of support and queries (Meta-GMVAE).

    The head looks at support and queries as one set. Means begin at those of the support; each step
    finds the shares of the queries' samples, and then means and variances of the support and, by
    their shares, the queries. The score of a class is the logarithm of its posterior, averaged over
    a query's samples. Every member has S draws of noise of its own: were they shared, the samples
    of one draw would lie nearer to each other than those of one image, and EM would find draws. Who
    has which goes by the first number of the latents' means, so that neither the members' order nor
    other tasks change it.
    """

    Settings = SemiSupervisedEMSettings
    settings: SemiSupervisedEMSettings
    setting = "transductive"
    saveable = False
    kind_of_head = SetEncoder
    trained_by = "meta-gmvae"
    called = "a Gaussian per class after a trained head"
    rule = (
        "A trained head looks at examples and all images to recognise together (transductive), a "
        "Gaussian per class is fitted to what it says of them, and each goes to the likeliest."
    )

    def fit(self, support: Support) -> FittedTogether:
        return FittedTogether(self, support)

    def latents(self, members: Tensor) -> Tensor:
        """Samples of every member's latent, (T, R, d) to (T, R, S, L)."""
        head = self.head
        assert isinstance(head, SetEncoder)
        with torch.no_grad():
            mean, log_variance = head.posterior(members.to(head.linear.weight.dtype))
        shape = members.shape[1], self.settings.samples, head.latent
        noise = torch.randn(shape, generator=torch.Generator().manual_seed(_SEED)).to(mean)
        ranks = mean[..., 0].argsort(1).argsort(1)  # (T, R)
        return latents(mean, log_variance, noise[ranks]).to(members)

    def floats_a_task(self, members: int, dim: int) -> int:
        assert isinstance(self.head, SetEncoder)
        # samples, their squares and shares; and the head's maps and attention
        latents = 5 * self.settings.samples * self.head.latent
        return members * (latents + super().floats_a_task(members, dim) // members)


@dataclass(frozen=True)
class FittedTogether(Fitted):
    """Nothing is known before the queries are."""

    classifier: SemiSupervisedEM
    support: Support

    def logits(self, queries: Tensor) -> Tensor:
        refuse_too_many(self.classifier, self.support, queries)
        settings, shown = self.classifier.settings, self.support.labels.shape[1]
        latents = self.classifier.latents(torch.cat((self.support.embeddings, queries), 1))
        latents = latents - latents[:, :shown].mean((1, 2), keepdim=True)  # squares keep digits
        labelled, unlabelled = latents[:, :shown].flatten(1, 2), latents[:, shown:].flatten(1, 2)
        one_hot = self.support.one_hot.repeat_interleave(settings.samples, 1)
        means, variances = fit_classes(
            labelled, one_hot, unlabelled, settings.em_steps, settings.variances == "all"
        )
        posteriors = log_gaussians(unlabelled, means, variances).log_softmax(2)
        of_queries = posteriors.view(*queries.shape[:2], settings.samples, self.support.way)
        return of_queries.logsumexp(2) - math.log(settings.samples)
