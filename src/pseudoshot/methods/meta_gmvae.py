"""Meta-GMVAE (Lee et al. 2021): a variational autoencoder of sets, whose prior is a mixture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Self

import torch
import torch.nn.functional as F
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator
from torch import Tensor, nn

from pseudoshot.backbones import Backbone
from pseudoshot.heads import SetEncoder
from pseudoshot.heads.set_encoder import latents
from pseudoshot.methods.base import Batch, Loss, Method
from pseudoshot.methods.decoders import embedding_decoder, image_decoder
from pseudoshot.methods.settings import MethodSettings
from pseudoshot.tasks.mixture import fit_mixture
from pseudoshot.tasks.similarity import Similarity
from pseudoshot.views import Policy
from pseudoshot.views.identity import Identity

_LOG_2_PI = math.log(2 * math.pi)


class MetaGMVAESettings(MethodSettings):
    images: PositiveInt = 200
    set_size: PositiveInt | None = None
    """M, images per set, into which an episode is cut: 100, of frozen embeddings 5, where not given
    (the authors: 200 or 300, and 5)"""
    latent: PositiveInt | None = Field(default=None, le=1 << 16)
    """numbers in a latent: 64, of frozen embeddings 32, where not given (as the authors)"""
    samples: PositiveInt | None = Field(default=None, le=1 << 16)
    """S, latents drawn for each image, all of which are decoded: 4, of frozen embeddings 32, where
    not given (the authors: 32 and 256)"""
    components: PositiveInt = Field(default=5, le=1 << 16)
    """K, Gaussians of a set's prior: in the paper the ways of tasks at test, which may be others"""
    em_steps: NonNegativeInt = Field(default=10, le=10_000)
    """steps of EM that find the prior of a set"""
    frozen: bool = False
    """with start_from: that network stays as it is, and what is learnt goes on from its
    embeddings"""
    similarity: Similarity = "euclidean"
    """how plain prototypes are compared with embeddings at test; no part of the objective"""
    head_lr_scale: PositiveFloat = 1.0
    """the head's learning rate as a multiple of the backbone's (10 for resnet12 and wrn28-10)"""

    @property
    def V(self) -> int:  # noqa: N802
        return 1

    @property
    def M(self) -> int:  # noqa: N802
        return self.set_size or (5 if self.frozen else 100)

    @property
    def L(self) -> int:  # noqa: N802
        return self.latent or (32 if self.frozen else 64)

    @property
    def S(self) -> int:  # noqa: N802
        return self.samples or (32 if self.frozen else 4)

    @property
    def unit(self) -> int:
        return self.M

    @property
    def test_similarity(self) -> Similarity:
        return self.similarity

    @property
    def network_stays(self) -> bool:
        return self.frozen

    @model_validator(mode="after")
    def _whole_sets(self) -> Self:
        if self.images % self.M:
            raise ValueError(
                f"an episode of {self.images} images cannot be cut into sets of {self.M}: choose "
                f"--images as a multiple of --set-size"
            )
        if self.components > self.M * self.S:
            raise ValueError(
                f"{self.components} components do not fit a set of {self.M} images with {self.S} "
                f"samples each: lower --components"
            )
        return self


class MetaGMVAE(Method):
    """Meta-GMVAE: images of a set are coded in its light, the codes by a mixture fitted to them.

    The latents z of a set's M random images are drawn from q(z | x, set), a Gaussian each, by set
    attention over the embeddings. EM fits K Gaussians of unit covariance to all M·S of them; that
    is the prior p, without gradient. The loss is the mean over images and samples of

        reconstruction + log q(z) - log p(z),

    a Monte-Carlo ELBO. Images are seen as they are, and reconstructed by the cross entropy of their
    pixels in [0, 1], summed; where the network of another run is frozen, its embeddings are, by
    their squared error, which is how the authors learn from photos. Views serve the label-free
    score alone. At test `semi-supervised-em` fits a mixture to support and queries together, which
    is transductive; `prototype` uses the embedding alone.

    Every sample is decoded: with the authors' 4 sets of 200 images and 32 samples, 25,600 images a
    step. The defaults decode 800, so that a step takes a CPU about twice as long as the baseline's,
    most of it in the decoder. Fewer latents are fitted more closely by their own prior: the
    divergence may be below 0. On embeddings the authors have 16 sets per step and a learning rate
    of 0.0001; here it is 40 and that of images. Their L2 penalty (1e-6, and 0.05 on embeddings) is
    left out.
    """

    Settings = MetaGMVAESettings
    described = "section 6.1, Table of unsupervised meta-learning methods"
    defaults = MappingProxyType(
        {"images": 200, "optimiser": "adam", "lr": 1e-3, "head_lr_scale": 1.0, "reading": "plain"}
    )
    settings: MetaGMVAESettings
    head: SetEncoder

    def __init__(self, backbone: Backbone, settings: MetaGMVAESettings, classes: int = 0) -> None:
        super().__init__(backbone, settings, classes)
        self.decoder: nn.Sequential
        if settings.frozen:
            backbone.requires_grad_(False)
            self.decoder = embedding_decoder(settings.L, backbone.dim)
        else:
            self.decoder = image_decoder(settings.L, backbone.channels, backbone.size)

    @classmethod
    def build_head(cls, dim: int, settings: MetaGMVAESettings) -> SetEncoder:
        return SetEncoder(dim, settings.L)

    @classmethod
    def test_classifier(cls, settings: MetaGMVAESettings) -> dict[str, Any]:
        return {"name": "semi-supervised-em"}

    def policies(self, views: Policy) -> Sequence[tuple[int, Policy]]:
        return ((1, Identity()),)

    def loss(self, batch: Batch) -> Loss:
        embeddings = self._embed(batch)  # (C, d)
        with torch.autocast(embeddings.device.type, enabled=False):
            samples, divergence = self._latents(embeddings, batch.generator)
        decoded = self.decoder(samples.flatten(0, 1)).to(samples.dtype)
        decoded = decoded.unflatten(0, samples.shape[:2])  # (C, S, ...)
        if self.settings.frozen:
            error = (decoded - embeddings[:, None]).square()
        else:
            pixels = batch.join(batch.pixels(batch.views[:, 0]).flatten(1))  # (C, chw)
            flat = decoded.flatten(2)
            targets = pixels[:, None].expand_as(flat)
            error = F.binary_cross_entropy_with_logits(flat, targets, reduction="none")
        reconstruction = error.sum(2).mean()
        parts = {"reconstruction": reconstruction.item(), "divergence": divergence.item()}
        return Loss(reconstruction + divergence, embeddings, parts)

    def _embed(self, batch: Batch) -> Tensor:
        if not self.settings.frozen:
            return batch.embed(self.backbone)
        self.backbone.eval()  # nothing in it moves, BatchNorm's statistics neither
        with torch.no_grad():
            return batch.embed(self.backbone)

    def _latents(self, embeddings: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Samples (C, S, L) of q, and the mean of log q(z) - log p(z) over them."""
        M, S = self.settings.M, self.settings.S
        mean, log_variance = self.head.posterior(embeddings.view(-1, M, embeddings.shape[1]))
        noise = torch.randn((*mean.shape[:2], S, mean.shape[2]), generator=generator).to(mean)
        samples = latents(mean, log_variance, noise)
        of_set = samples.flatten(1, 2)  # (B, MS, L)
        prior = fit_mixture(of_set, self.settings.components, self.settings.em_steps, generator)
        log_q = -(noise.square() + log_variance[:, :, None] + _LOG_2_PI).sum(3) / 2
        return samples.flatten(0, 1), log_q.mean() - prior.log_density(of_set).mean()
