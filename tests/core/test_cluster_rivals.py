"""CACTUs, CUMCA and UFLST equal their equations in plain loops, values and gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from pseudoshot.methods import METHODS, Batch, Method
from pseudoshot.methods.uflst import hard_triplets
from pseudoshot.views import get_policy
from pseudoshot.views.identity import Identity
from tests.core.reference_methods import cross_entropy
from tests.core.rivals import (
    IMAGES,
    assert_equal,
    build,
    build_learner,
    episode,
    slow_maml,
)


@pytest.mark.parametrize("shot", [1, 2])
def test_cactus_equals_maml_task_by_task(shot):
    method = build_learner("cactus", shot=shot, query=3, inner_steps=2)
    batch = episode(method)
    tasks = [
        (batch.views[i : i + 2, :shot].flatten(0, 1), batch.views[i : i + 2, shot:].flatten(0, 1))
        for i in (0, 2)
    ]
    assert_equal(method.loss(batch).value, slow_maml(method, tasks), method)


@pytest.mark.parametrize("shot", [1, 2])
def test_cactus_by_prototypes_equals_a_loop(shot):
    method = build_learner("cactus", shot=shot, query=3, learner="prototype")
    batch = episode(method)
    z = method.backbone(batch.views.flatten(0, 1)).unflatten(0, batch.views.shape[:2])
    terms = []
    for task in (z[:2], z[2:]):
        prototypes = [views[:shot].mean(0) for views in task]
        terms += [
            cross_entropy([-((q - p) ** 2).sum() for p in prototypes], n)
            for n, views in enumerate(task)
            for q in views[shot:]
        ]
    assert_equal(method.loss(batch).value, torch.stack(terms).mean(), method)


def slow_triplets(z: Tensor, views: int, margin: float) -> Tensor:
    terms = []
    for i in range(len(z)):
        same = [j for j in range(len(z)) if j // views == i // views and j != i]
        others = [j for j in range(len(z)) if j // views != i // views]
        farthest = max((z[i] - z[j]).square().sum().sqrt() for j in same)
        nearest = min((z[i] - z[j]).square().sum().sqrt() for j in others)
        terms.append((1 + (margin + farthest - nearest).exp()).log())
    return torch.stack(terms).mean()


def slow_prototypes(z: Tensor, views: int) -> Tensor:
    prototypes = z[::views]
    terms = [
        cross_entropy([-((z[i] - p) ** 2).sum() for p in prototypes], i // views)
        for i in range(len(z))
        if i % views
    ]
    return torch.stack(terms).mean()


@pytest.mark.parametrize("loss", ["triplet", "prototype", "both"])
@pytest.mark.parametrize("margin", [None, 0.2])
@pytest.mark.parametrize("views", [2, 4])
def test_uflst_equals_a_loop_over_triplets_and_queries(loss, margin, views):
    method = build("uflst", loss=loss, margin=margin, views_per_class=views)
    batch = episode(method)
    z = method.backbone(batch.views.flatten(0, 1))
    used = margin if margin is not None else {"triplet": 1.0, "both": 0.5}.get(loss, 0.0)
    triplets, prototypes = slow_triplets(z, views, used), slow_prototypes(z, views)
    slow = {"triplet": triplets, "prototype": prototypes, "both": triplets + prototypes}[loss]
    found = method.loss(batch)
    assert_equal(found.value, slow, method)
    if loss == "both":
        assert found.scalars == {
            "triplet": pytest.approx(triplets.item()),
            "prototype": pytest.approx(prototypes.item()),
        }


def test_images_that_are_the_same_have_triplets_and_gradients():
    z = torch.zeros(6, 3, requires_grad=True)
    hard_triplets(z, 2, 1.0).backward()
    assert z.grad.isfinite().all()


def cumca(**options: object) -> Method:
    return build_learner("cumca", inner_steps=2, **options)


@pytest.mark.parametrize("augmented", ["support", "query"])
def test_cumca_without_mixes_equals_maml_on_views_and_images(augmented):
    method = cumca(prior_share=0, augmented=augmented)
    batch = episode(method)  # the policies put the support in the first place
    tasks = [(batch.views[i : i + 2, 0], batch.views[i : i + 2, 1]) for i in (0, 2)]
    assert_equal(method.loss(batch).value, slow_maml(method, tasks), method)


@pytest.mark.parametrize("augmented", ["support", "query"])
def test_cumca_equals_maml_on_mixes_made_one_by_one(augmented):
    method = cumca(augmented=augmented, prior_beta=0.7)
    batch = episode(method)
    state = batch.generator.get_state()
    views, images = batch.views.unbind(1)[:: -1 if augmented == "query" else 1]
    unit = torch.eye(IMAGES, dtype=torch.float64)[:, None, None]  # tells who was mixed with whom
    zero = torch.zeros_like(unit)
    own = method.prior_mixup(unit, zero, batch.generator).sum((1, 2))
    batch.generator.set_state(state)
    other = method.prior_mixup(zero, unit, batch.generator).sum((1, 2))
    batch.generator.set_state(state)
    mixes = []
    for i in range(IMAGES):
        kept = own[i, i]
        (partner,) = other[i].nonzero()[:, 0].tolist()
        assert partner != i
        assert 0.5 <= kept < 1
        assert other[i, partner] == 1 - kept
        mixes.append(kept * views[i] + (1 - kept) * images[partner])
    mixed = torch.stack(mixes)
    inner, outer = (images, mixed) if augmented == "query" else (mixed, images)
    tasks = [(inner[i : i + 2], outer[i : i + 2]) for i in (0, 2)]
    assert_equal(method.loss(batch).value, slow_maml(method, tasks), method)


def test_shares_are_those_of_a_folded_beta():
    views, images = torch.ones(4000, 1, 1, 1), torch.zeros(4000, 1, 1, 1)
    generator = torch.Generator().manual_seed(0)
    for beta, mean in ((1.0, 0.75), (0.5, 0.5 + 1 / torch.pi)):
        kept = cumca(prior_beta=beta).prior_mixup(views, images, generator)
        assert kept.min() >= 0.5
        assert kept.mean().item() == pytest.approx(mean, abs=0.01)
    some = cumca(prior_share=0.3).prior_mixup(views, images, generator)
    assert (some < 1).float().mean().item() == pytest.approx(0.3, abs=0.03)


def test_cumca_with_identity_views_and_no_mix_has_its_support_as_queries():
    method = cumca(prior_share=0)
    pixels = torch.randint(0, 256, (IMAGES, 1, 3, 3, 1), dtype=torch.uint8)
    roles = method.policies(get_policy("identity"))
    parts = [policy(pixels, torch.Generator()) for _, policy in roles]
    assert torch.equal(*parts)
    views = torch.cat(parts, 1).double()
    batch = Batch(views, torch.Generator().manual_seed(0), torch.arange(IMAGES))
    tasks = [(views[i : i + 2, 0], views[i : i + 2, 0]) for i in (0, 2)]
    assert_equal(method.loss(batch).value, slow_maml(method, tasks), method)


@pytest.mark.parametrize("name", ["umtra", "cumca"])
def test_the_augmented_side_has_views_and_the_other_the_images(name):
    for augmented, images in (("support", [False, True]), ("query", [True, False])):
        roles = build_learner(name, augmented=augmented).policies(get_policy("amdim"))
        assert [isinstance(policy, Identity) for _, policy in roles] == images


def test_the_authors_settings():
    for name in ("cactus", "cumca"):
        s = METHODS[name].Settings()
        assert (s.images, s.N, s.inner_steps, s.inner_lr, s.learner) == (40, 5, 5, 0.25, "maml")
    assert METHODS["umtra"].Settings().augmented == "query"
    assert METHODS["cumca"].Settings().augmented == "support"
    assert (METHODS["cactus"].Settings().shot, METHODS["cactus"].Settings().query) == (1, 5)
    uflst = METHODS["uflst"].Settings()
    assert (uflst.images, uflst.V, uflst.loss, uflst.resolved_margin) == (60, 6, "triplet", 1.0)
