"""EM of mixtures, of all samples and with examples of classes, equals plain loops."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from pseudoshot.classifiers import Support, build_classifier
from pseudoshot.heads import SetEncoder
from pseudoshot.tasks.mixture import LEAST_VARIANCE, Mixture, fit_classes, fit_mixture
from tests.core.mixtures import (
    LATENT,
    slow_em_step,
    slow_log_density,
    slow_log_gaussian,
    slow_posterior,
    some,
    torch_double,
)
from tests.core.rivals import DIM


def test_em_equals_loops_over_sets_samples_and_components():
    samples = some(2, 9, LATENT)
    start = fit_mixture(samples, 4, 0, torch.Generator().manual_seed(1))
    found = fit_mixture(samples, 4, 3, torch.Generator().manual_seed(1))
    for b in range(2):
        rows = [tuple(row) for row in samples[b].tolist()]
        chosen = [rows.index(tuple(mean)) for mean in start.means[b].tolist()]
        assert len(set(chosen)) == 4, "means begin at distinct samples"
        weights, means = [torch.tensor(0.25, **torch_double)] * 4, list(start.means[b])
        for _ in range(3):
            weights, means = slow_em_step(list(samples[b]), weights, means)
        torch.testing.assert_close(found.log_weights[b].exp(), torch.stack(weights))
        torch.testing.assert_close(found.means[b], torch.stack(means))
        density = torch.stack([slow_log_density(z, weights, means) for z in samples[b]])
        torch.testing.assert_close(found.log_density(samples)[b], density)


def test_em_of_equal_weights_is_soft_k_means():
    """One step from equal weights: they play no part in it."""
    samples, means = some(1, 12, LATENT), some(1, 3, LATENT, seed=1)
    shares = (-torch.cdist(samples, means).square() / 2).softmax(2)
    soft = (shares.mT @ samples) / shares.sum(1)[..., None]
    stepped = Mixture(torch.zeros(1, 3).double().log_softmax(1), means).step(samples)
    torch.testing.assert_close(stepped.means, soft)
    torch.testing.assert_close(stepped.log_weights.exp(), shares.mean(1))


@pytest.mark.parametrize("scale", [0.3, 1.0, 10.0])
def test_the_likelihood_never_falls(scale):
    samples = scale * some(20, 30, LATENT)
    mixture = fit_mixture(samples, 5, 0, torch.Generator().manual_seed(2))
    before = mixture.log_density(samples).sum(1)
    for _ in range(15):
        mixture = mixture.step(samples)
        after = mixture.log_density(samples).sum(1)
        assert (after >= before - 1e-9).all()
        before = after


def test_one_component_is_a_gaussian_about_the_mean():
    samples = some(3, 8, LATENT)
    mixture = fit_mixture(samples, 1, 1, torch.Generator().manual_seed(0))
    torch.testing.assert_close(mixture.means[:, 0], samples.mean(1))
    gaussian = torch.distributions.Normal(samples.mean(1, keepdim=True), 1.0)
    torch.testing.assert_close(mixture.log_density(samples), gaussian.log_prob(samples).sum(2))


def test_a_component_far_from_all_samples_does_no_harm():
    samples = some(1, 6, LATENT).float()
    means = torch.cat((samples[:, :1], torch.full((1, 1, LATENT), 1e4)), 1)
    mixture = Mixture(torch.zeros(1, 2).log_softmax(1), means)
    for _ in range(3):
        mixture = mixture.step(samples)
        assert mixture.means.isfinite().all()
        assert mixture.log_density(samples).isfinite().all()
    assert mixture.means.abs().max() <= samples.abs().max(), "every mean is one of samples"


LABELS = (0, 2, 1, 1, 0)


def classifier(**settings: Any) -> Any:
    torch.manual_seed(0)
    head = SetEncoder(DIM, LATENT, width=8, heads=4).double().eval()
    return build_classifier({"name": "semi-supervised-em", **settings}, "euclidean", head)


def slow_classes(
    shown: list[Tensor], labels: list[int], others: list[Tensor], steps: int, spread: bool
) -> tuple[list[Tensor], list[Tensor]]:
    """Means and variances of three classes."""
    of_class = [[z for z, y in zip(shown, labels, strict=True) if y == k] for k in range(3)]
    means = [torch.stack(members).mean(0) for members in of_class]
    variances = [torch.ones_like(mean) for mean in means]
    for _ in range(steps):
        shares = []
        for z in others:
            used = variances if spread else [None] * 3
            logits = [slow_log_gaussian(z, m, v) for m, v in zip(means, used, strict=True)]
            shares.append(torch.stack(logits).softmax(0))
        for k in range(3):
            pairs = [(1.0, z) for z in of_class[k]]
            pairs += [(row[k], z) for row, z in zip(shares, others, strict=True)]
            total = sum(weight for weight, _ in pairs)
            means[k] = sum(weight * z for weight, z in pairs) / total
            spreads = sum(weight * (z - means[k]) ** 2 for weight, z in pairs) / total
            variances[k] = spreads.clamp_min(LEAST_VARIANCE)
    return means, variances


@pytest.mark.parametrize("variances", ["last", "all"])
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_semi_supervised_em_equals_a_loop_task_by_task(variances, steps):
    chosen = classifier(em_steps=steps, samples=6, variances=variances)
    shown, queries = some(2, 5, DIM), some(2, 4, DIM, seed=1)
    labels = torch.tensor([LABELS, LABELS[::-1]])
    logits = chosen.fit(Support(shown, labels, 3)).logits(queries)
    noise = torch.randn((9, 6, LATENT), generator=torch.Generator().manual_seed(0)).double()
    for t in range(2):
        means, log_variances = slow_posterior(chosen.head, torch.cat((shown[t], queries[t])))
        first = means[:, 0].tolist()
        z = [
            [m + (v / 2).exp() * e for e in noise[sorted(first).index(own)]]
            for m, v, own in zip(means, log_variances, first, strict=True)
        ]
        of_class = slow_classes(
            [sample for i in range(5) for sample in z[i]],
            [int(y) for y in labels[t] for _ in range(6)],
            [sample for i in range(5, 9) for sample in z[i]],
            steps,
            variances == "all",
        )
        for q in range(4):
            posteriors = [
                torch.stack(
                    [slow_log_gaussian(sample, m, v) for m, v in zip(*of_class, strict=True)]
                ).softmax(0)
                for sample in z[5 + q]
            ]
            torch.testing.assert_close(logits[t, q].exp(), torch.stack(posteriors).mean(0))


def test_latents_that_say_little_are_not_taken_for_one_class():
    """Where noise is far wider than the classes lie apart, EM must not cluster its draws."""
    torch.manual_seed(0)
    head = SetEncoder(DIM, 64, width=8, heads=4).double().eval()
    with torch.no_grad():
        head.linear.weight.mul_(0.1)
        head.linear.bias.zero_()
    chosen = build_classifier("semi-supervised-em", "euclidean", head)
    centres = some(1, 5, DIM).repeat_interleave(5, 0)
    shown = centres.repeat_interleave(5, 1) + 0.1 * some(5, 25, DIM, seed=1)
    queries = centres.repeat_interleave(15, 1) + 0.1 * some(5, 75, DIM, seed=2)
    labels = torch.arange(5).repeat_interleave(5).expand(5, -1)
    told = chosen.fit(Support(shown, labels, 5)).logits(queries).argmax(2)
    most = max(int(torch.bincount(of_task, minlength=5).max()) for of_task in told)
    assert most < 75 / 2


def test_without_queries_the_means_are_those_of_the_support():
    support = Support(some(2, 5, LATENT), torch.tensor([LABELS, LABELS]), 3)
    means, _ = fit_classes(support.embeddings, support.one_hot, some(2, 0, LATENT), 7)
    torch.testing.assert_close(means, support.means)


def test_under_unit_variances_it_is_soft_k_means_with_examples():
    support = Support(some(2, 5, LATENT), torch.tensor([LABELS, LABELS]), 3)
    queries, means = some(2, 8, LATENT, seed=1), support.means
    for steps in range(1, 4):
        shares = (-torch.cdist(queries, means).square() / 2).softmax(2)
        everything = torch.cat((support.embeddings, queries), 1)
        weights = torch.cat((support.one_hot, shares), 1)
        means = weights.mT @ everything / weights.sum(1)[..., None]
        found, _ = fit_classes(support.embeddings, support.one_hot, queries, steps)
        torch.testing.assert_close(found, means)


def test_the_same_task_is_told_in_the_same_way_again():
    support, queries = Support(some(1, 5, DIM), torch.tensor([LABELS]), 3), some(1, 4, DIM, seed=1)
    first, again = (classifier().fit(support).logits(queries) for _ in range(2))
    assert torch.equal(first, again)


def test_float_latents_far_from_zero_keep_their_digits():
    chosen = classifier(samples=4)
    shown, queries = some(1, 5, DIM), some(1, 4, DIM, seed=1)
    support = Support(shown, torch.tensor([LABELS]), 3)
    with torch.no_grad():
        chosen.head.linear.bias[:LATENT] += 100.0
    precise = chosen.fit(support).logits(queries)
    single = Support(shown.float(), torch.tensor([LABELS]), 3)
    chosen.head.float()
    torch.testing.assert_close(
        chosen.fit(single).logits(queries.float()).double(), precise, rtol=1e-2, atol=1e-2
    )
