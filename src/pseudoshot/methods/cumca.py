"""CUMCA (Xu et al. 2021): one image of each of several clusters, and mixed views of it."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Literal

import torch
from pydantic import Field, PositiveFloat
from torch import Tensor

from pseudoshot.methods.base import Batch, Loss
from pseudoshot.methods.pairs import PairMethod, PairSettings
from pseudoshot.tools.beta import beta_draws


class CUMCASettings(PairSettings):
    augmented: Literal["support", "query"] = "support"
    prior_share: float = Field(default=1.0, ge=0, le=1)
    """part of the views that Prior-Mixup mixes with another image; 0: none"""
    prior_beta: PositiveFloat = Field(default=1.0, le=1e3)
    """a mix keeps λ of its own image, drawn from Beta(prior_beta, prior_beta), or 1 - λ if more"""


class CUMCA(PairMethod):
    """CUMCA: tasks of N images, each of another cluster, told by mixed views of them.

    Prior-Mixup: x~ = λx + (1-λ)x', under the label of x. The authors' code is not public and their
    abstract says no more than this: that λ is at least ½ and by default uniform, that all views are
    mixed, and that x' is another image of the episode as it is, are choices. The rest is as in
    CACTUs. With SES and SNS it is the baseline without Prior-Mixup: --method baseline
    --class-source distinct-clusters.
    """

    Settings = CUMCASettings
    described = "section 6.1, Table of unsupervised meta-learning methods"
    defaults = MappingProxyType({"class_source": "distinct-clusters", "images": 40})
    mixes = True
    settings: CUMCASettings

    def loss(self, batch: Batch) -> Loss:
        augmented = 0 if self.settings.augmented == "support" else 1
        pair = list(batch.views.unbind(1))
        pair[augmented] = self.prior_mixup(pair[augmented], pair[1 - augmented], batch.generator)
        return super().loss(replace(batch, views=torch.stack(pair, 1)))

    def prior_mixup(self, views: Tensor, images: Tensor, generator: torch.Generator) -> Tensor:
        """Views (C, c, h, w), each mixed with the image (C, c, h, w) of another class."""
        C, settings = len(views), self.settings
        others = torch.arange(C) + torch.randint(1, max(2, C), (C,), generator=generator)
        share = beta_draws((C,), settings.prior_beta, settings.prior_beta, generator)
        kept = torch.maximum(share, 1 - share)
        kept[torch.rand(C, generator=generator) >= settings.prior_share] = 1
        own = kept.to(views)[:, None, None, None]
        return own * views + (1 - own) * images[others % C]
