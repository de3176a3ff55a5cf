"""Meta-GMVAE equals its equations in plain loops, values and gradients, in double precision."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pseudoshot.heads import SetEncoder
from pseudoshot.methods import METHODS, Batch, Method
from pseudoshot.methods.decoders import image_decoder
from pseudoshot.tasks.mixture import fit_mixture
from tests.core.mixtures import (
    LATENT,
    slow_em_step,
    slow_log_density,
    slow_log_gaussian,
    slow_posterior,
    some,
    torch_double,
)
from tests.core.rivals import DIM, SIDE, Linear, assert_equal


def test_set_attention_equals_a_loop_over_heads_and_members():
    torch.manual_seed(0)
    head = SetEncoder(DIM, LATENT, width=8, heads=4).double()
    sets = some(2, 5, DIM)
    mean, log_variance = head.posterior(sets)
    slow = [slow_posterior(head, members) for members in sets]
    torch.testing.assert_close(mean, torch.stack([m for m, _ in slow]))
    torch.testing.assert_close(log_variance, torch.stack([v for _, v in slow]))
    assert torch.equal(head(sets), mean)
    weights = list(head.parameters())
    fast_sum = mean.square().sum() + log_variance.sum()
    slow_sum = sum(m.square().sum() + v.sum() for m, v in slow)
    for ours, theirs in zip(
        torch.autograd.grad(fast_sum, weights), torch.autograd.grad(slow_sum, weights), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def build(**options: Any) -> Method:
    torch.manual_seed(0)
    kind = METHODS["meta-gmvae"]
    chosen = {"images": 6, "set_size": 3, "latent": LATENT, "samples": 2, "components": 2}
    settings = kind.Settings(**chosen, em_steps=2, **options)
    return kind(Linear(), settings).double().eval()  # BatchNorm of the decoder: image by image


def episode(seed: int = 3) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    views = torch.rand((6, 1, 1, SIDE, SIDE), generator=generator, **torch_double)
    # as where the mean is 0.5 and the deviation 2
    return Batch((views - 0.5) / 2, generator, torch.arange(6), pixels=lambda v: 2 * v + 0.5)


def slow_elbo(method: Method, batch: Batch) -> Tensor:
    """Image by image and sample by sample, with the draws that the method makes."""
    s, draws = method.settings, torch.Generator()
    draws.set_state(batch.generator.get_state())
    noise = torch.randn((2, 3, 2, LATENT), generator=draws).double()
    images = [batch.views[i, 0] for i in range(6)]
    phi = torch.stack([method.backbone(image[None])[0] for image in images])
    if s.frozen:
        phi = phi.detach()
    posteriors = [slow_posterior(method.head, phi[3 * b : 3 * b + 3]) for b in range(2)]
    z = [
        [[m[i] + (v[i] / 2).exp() * noise[b, i, j] for j in range(2)] for i in range(3)]
        for b, (m, v) in enumerate(posteriors)
    ]
    drawn = torch.stack([torch.stack([torch.stack(row) for row in rows]) for rows in z]).detach()
    start = fit_mixture(drawn.flatten(1, 2), 2, 0, draws)
    terms = []
    for b in range(2):
        weights, means = [torch.tensor(0.5, **torch_double)] * 2, list(start.means[b])
        for _ in range(s.em_steps):
            weights, means = slow_em_step(list(drawn[b].flatten(0, 1)), weights, means)
        for i in range(3):
            for sample in z[b][i]:
                mean, log_variance = (part[i] for part in posteriors[b])
                log_q = slow_log_gaussian(sample, mean, log_variance.exp())
                log_p = slow_log_density(sample, weights, means)
                decoded = method.decoder(sample[None])[0]
                if s.frozen:
                    cost = ((decoded - phi[3 * b + i]) ** 2).sum()
                else:
                    p, x = decoded.sigmoid(), 2 * images[3 * b + i] + 0.5
                    cost = -(x * p.log() + (1 - x) * (1 - p).log()).sum()
                terms.append(cost + log_q - log_p)
    return torch.stack(terms).mean()


@pytest.mark.parametrize("frozen", [False, True])
def test_the_elbo_equals_a_loop_over_images_and_samples(frozen):
    method = build(frozen=frozen)
    slow = slow_elbo(method, episode())
    loss = method.loss(episode())
    assert_equal(loss.value, slow, method)
    assert loss.scalars["reconstruction"] + loss.scalars["divergence"] == pytest.approx(
        loss.value.item()
    )


def test_a_frozen_network_gets_no_gradient_and_no_statistics():
    class Normed(Linear):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm2d(1)

        def forward(self, images: Tensor) -> Tensor:
            return super().forward(self.norm(images))

    torch.manual_seed(0)
    kind = METHODS["meta-gmvae"]
    settings = kind.Settings(images=6, set_size=3, samples=2, components=2, frozen=True)
    method = kind(Normed(), settings).double().train()
    method.loss(episode()).value.backward()
    assert all(parameter.grad is None for parameter in method.backbone.parameters())
    assert torch.equal(method.backbone.norm.running_mean, torch.zeros(1).double())
    trained = {id(p) for group in method.parameter_groups() for p in group["params"]}
    assert trained == {id(p) for part in (method.head, method.decoder) for p in part.parameters()}


@pytest.mark.parametrize("size", [1, 3, 16, 28, 33])
def test_images_of_any_size_are_decoded(size):
    assert image_decoder(2, 3, size)(torch.zeros(2, 2)).shape == (2, 3, size, size)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"images": 7, "set_size": 3}, "7 images cannot be cut into sets of 3: choose --images"),
        ({"images": 400, "set_size": 3}, "choose --images as a multiple of --set-size"),
        ({"set_size": 2, "samples": 2, "components": 5}, "5 components do not fit a set of 2"),
    ],
)
def test_settings_that_do_not_fit_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        METHODS["meta-gmvae"].Settings(**options)


def test_defaults_are_others_for_frozen_embeddings():
    images, frozen = (METHODS["meta-gmvae"].Settings(frozen=frozen) for frozen in (False, True))
    assert (images.M, images.L, images.S, images.V) == (100, 64, 4, 1)
    assert (frozen.M, frozen.L, frozen.S, frozen.V) == (5, 32, 32, 1)
