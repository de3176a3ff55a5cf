"""ULDA equals its equations in plain loops, values and gradients, in double precision."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pseudoshot.backbones import Backbone
from pseudoshot.methods import METHODS, Method
from pseudoshot.tasks.gram import gram_matrix, task_loss
from pseudoshot.tasks.tasks import fixed_task
from pseudoshot.tools.beta import beta_draws
from pseudoshot.views import get_policy
from pseudoshot.views.autoaug import AutoAug
from tests.core.reference_methods import cross_entropy
from tests.core.rivals import DIM, IMAGES, Linear, assert_equal, episode


def build_ulda(backbone: Backbone, **options: Any) -> Method:
    torch.manual_seed(0)
    method = METHODS["ulda"]
    return method(backbone, method.Settings(images=IMAGES, way=2, **options)).double()


@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_ulda_equals_a_loop_over_tasks(weight):
    method = build_ulda(Linear(), rotation_weight=weight)
    method.train()
    if weight:
        method.turn_of[2].p = 0.0  # dropout draws from torch's own generator
    with torch.no_grad():
        method.scale.fill_(1.3)
    batch = episode(method)
    draws = torch.Generator()
    draws.set_state(batch.generator.get_state())
    of_support = float(beta_draws((), 0.8, 0.8, draws)) + 0.5
    support_order = torch.randperm(2, generator=draws)
    of_query = float(beta_draws((), 0.6, 0.6, draws))
    of_query = of_query if of_query > 0.5 else 1 - of_query
    query_order = torch.randperm(8, generator=draws)
    terms, embeddings = [], []
    for first in (0, 2):  # two tasks of two images
        support = [batch.views[first + n, 0] for n in range(2)]
        turned = [
            torch.rot90(batch.views[first + n, 1 + turn], turn, (1, 2))
            for n in range(2)
            for turn in range(4)
        ]
        p = [
            method.backbone((of_support * x + (1 - of_support) * support[other])[None])[0]
            for x, other in zip(support, support_order, strict=True)
        ]
        z = [
            method.backbone((of_query * x + (1 - of_query) * turned[other])[None])[0]
            for x, other in zip(turned, query_order, strict=True)
        ]
        for i, q in enumerate(z):
            logits = [-1.0 * method.scale * ((q - c) ** 2).sum() / DIM for c in p]
            terms.append(cross_entropy(logits, i // 4))
        embeddings += z
    slow = torch.stack(terms).mean()
    if weight:
        z = torch.stack(embeddings)
        norm, linear = method.turn_of[0], method.turn_of[3]
        centred = (z - z.mean(0)) / (z.var(0, correction=0) + norm.eps).sqrt()
        centred = centred * norm.weight + norm.bias
        told = torch.where(centred > 0, centred, 0.2 * centred) @ linear.weight.T + linear.bias
        turns = [cross_entropy(list(row), i % 4) for i, row in enumerate(told)]
        slow = slow + weight * torch.stack(turns).mean()
    assert_equal(method.loss(batch).value, slow, method)


def test_ulda_without_mixes_and_turns_told_is_an_exemplar_protonet():
    """Of the same views, with logits over d: the queries are turned, no more."""
    method = build_ulda(Linear(), support_mix=0, query_mix=0, rotation_weight=0)
    batch = episode(method)
    views = batch.views.clone()
    for turn in range(4):
        views[:, 1 + turn] = views[:, 1 + turn].rot90(turn, (-2, -1))
    z = method.backbone(views.flatten(0, 1)).view(2, 2, 5, DIM)
    losses = [
        task_loss(gram_matrix(task.flatten(0, 1)), fixed_task(2, 1, 4), "euclidean", DIM)
        for task in z
    ]
    torch.testing.assert_close(method.loss(batch).value, torch.stack(losses).mean())


def test_ulda_has_views_of_its_own_for_photos_and_the_runs_for_characters():
    method = build_ulda(Linear())
    (_, support), (count, query) = method.policies(get_policy("amdim"))
    assert isinstance(support, AutoAug)
    assert (count, query.crop.area, query.crop.shift) == (4, (1.0, 1.0), 4)
    smaller = get_policy({"name": "amdim", "view_scale": 0.5})
    assert {policy.crop.scale for _, policy in method.policies(smaller)} == {0.5}
    strokes = get_policy("strokes")
    assert [policy for _, policy in method.policies(strokes)] == [strokes, strokes]


@pytest.mark.parametrize(("a", "b"), [(0.6, 0.6), (0.8, 0.8), (2.0, 5.0)])
def test_beta_draws_have_the_moments_of_the_distribution(a, b):
    draws = beta_draws((100_000,), a, b, torch.Generator().manual_seed(0))
    assert ((draws > 0) & (draws < 1)).all()
    variance = a * b / ((a + b) ** 2 * (a + b + 1))
    torch.testing.assert_close(draws.mean().item(), a / (a + b), atol=0.005, rtol=0)
    torch.testing.assert_close(draws.var().item(), variance, atol=0.002, rtol=0)
