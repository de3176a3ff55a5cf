"""SimCLR, MoCo-v2 and MoCHi equal their equations in plain loops, values and gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from pseudoshot.methods import METHODS, Batch, Method
from pseudoshot.methods.mochi import pair_products
from tests.core.reference_methods import cross_entropy
from tests.core.rivals import (
    IMAGES,
    Normed,
    assert_equal,
    build,
    episode,
    unit,
)


@pytest.mark.parametrize("views", [2, 3])
@pytest.mark.parametrize("temperature", [0.1, 0.5])
def test_simclr_equals_a_loop_over_pairs(views, temperature):
    method = build("simclr", views_per_class=views, temperature=temperature)
    batch = episode(method)
    rows = batch.views.flatten(0, 1)
    z = [unit(method.head(method.backbone(row[None]))[0]) for row in rows]
    terms = []
    for i in range(len(z)):
        others = [j for j in range(len(z)) if j != i]
        logits = [z[i] @ z[j] / temperature for j in others]
        positives = [place for place, j in enumerate(others) if j // views == i // views]
        terms += [cross_entropy(logits, place) for place in positives]
    assert_equal(method.loss(batch).value, torch.stack(terms).mean(), method)


def test_nt_xent_is_a_one_shot_cosine_task_but_for_the_negatives_of_the_same_view():
    """Two views, N = C, K = Q = 1: without them both losses are one."""
    simclr = build("simclr", temperature=0.5)
    batch = episode(simclr)
    z = [unit(simclr.head(simclr.backbone(row[None]))[0]) for row in batch.views.flatten(0, 1)]
    first, second = z[::2], z[1::2]
    terms = [
        cross_entropy([q @ p / 0.5 for p in support], i)
        for queries, support in ((first, second), (second, first))
        for i, q in enumerate(queries)
    ]
    vanilla = build("baseline", tasks="exhaustive", query=1, similarity="cosine")
    task = vanilla.objective(
        torch.stack(z), vanilla.draw_tasks(Batch(batch.views, batch.generator, batch.classes)),
        batch.generator,
    )  # fmt: skip
    torch.testing.assert_close(task, torch.stack(terms).mean())
    assert simclr.loss(batch).value > task


def slow_moco(method: Method, batch: Batch, mixes: Any = None) -> Tensor:
    """With the queue as it is; `mixes(i, q)` gives further unit vectors to be told from."""
    terms = []
    temperature = method.settings.resolved_temperature
    for c, views in enumerate(batch.views):
        key = unit(method.key_encoder(views[-1:])[0]).detach()
        for v, view in enumerate(views[:-1]):
            q = unit(method.head(method.backbone(view[None]))[0])
            others = [
                n
                for n, owner in zip(method.queue, method.owners, strict=True)
                if owner != batch.classes[c]
            ]
            others += mixes(c * (len(views) - 1) + v, q.detach()) if mixes else []
            terms.append(cross_entropy([q @ n / temperature for n in (key, *others)], 0))
    return torch.stack(terms).mean()


def stepped(method: Method, count: int = 2) -> None:
    """Moves the weights, the encoder that follows and the queue."""
    for seed in range(count):
        method.before_step()
        loss = method.loss(episode(method, seed)).value
        learnt = [p for p in method.parameters() if p.requires_grad]
        gradients = torch.autograd.grad(loss, learnt)
        with torch.no_grad():
            for parameter, gradient in zip(learnt, gradients, strict=True):
                parameter -= 0.1 * gradient
        method.after_step()


@pytest.mark.parametrize("views", [2, 3])
def test_moco_equals_a_loop_over_the_queue(views):
    method = build("moco-v2", views_per_class=views, queue=9, projection=5)
    stepped(method)
    for seed in (7, 1):  # 1: its images are in the queue, and are masked there
        batch = episode(method, seed)
        assert_equal(method.loss(batch).value, slow_moco(method, batch), method)
    assert any(owner in episode(method, 1).classes for owner in method.owners)


def test_moco_with_the_keys_of_its_own_batch_is_one_sided_info_nce():
    """Nothing but the other images' keys in the queue: each query among the keys of the batch."""
    method = build("moco-v2", queue=IMAGES, projection=5, temperature=0.3)
    batch = episode(method)
    keys = [unit(method.key_encoder(views[-1:])[0]).detach() for views in batch.views]
    method.queue.copy_(torch.stack(keys))
    method.owners.copy_(batch.classes)
    queries = [unit(method.head(method.backbone(views[:1]))[0]) for views in batch.views]
    terms = [cross_entropy([q @ k / 0.3 for k in keys], i) for i, q in enumerate(queries)]
    assert_equal(method.loss(batch).value, torch.stack(terms).mean(), method)


def test_each_encoder_keeps_the_statistics_of_what_it_is_given():
    torch.manual_seed(0)
    kind = METHODS["moco-v2"]
    method = kind(Normed(), kind.Settings(images=IMAGES, views_per_class=3, queue=6)).double()
    batch = episode(method)
    method.loss(batch)
    for norm, views in (
        (method.backbone.norm, batch.views[:, :-1]),
        (method.key_encoder[0].norm, batch.views[:, -1]),
    ):
        torch.testing.assert_close(norm.running_mean, 0.1 * views.mean()[None])


def test_the_queue_is_a_ring_and_keys_come_after_the_loss():
    method = build("moco-v2", queue=6, projection=5)
    before = method.queue.clone()
    batch = episode(method, 0)
    method.loss(batch)
    assert torch.equal(method.queue, before)
    method.after_step()
    keys = torch.stack([unit(method.key_encoder(v[-1:])[0]) for v in batch.views])
    torch.testing.assert_close(method.queue, torch.cat((keys, before[4:])))
    method.loss(episode(method, 1))
    method.after_step()
    assert method.owners.tolist() == [12, 13, 2, 3, 10, 11]
    assert int(method.place) == 2


def test_a_queue_shorter_than_an_episode_keeps_the_last_keys():
    method = build("moco-v2", queue=3, projection=5)
    method.loss(episode(method, 0))
    method.after_step()
    assert sorted(method.owners.tolist()) == [1, 2, 3]


def test_the_key_encoder_follows_before_a_step():
    method = build("moco-v2", queue=6, momentum=0.9)
    old = [p.clone() for p in method.key_encoder.parameters()]
    with torch.no_grad():
        for parameter in (*method.backbone.parameters(), *method.head.parameters()):
            parameter += 1
    method.before_step()
    for before, now in zip(old, method.key_encoder.parameters(), strict=True):
        torch.testing.assert_close(now, before + 0.1)


@pytest.mark.parametrize(("mixed", "mixed_with_query"), [(4, 0), (0, 3), (5, 2)])
def test_mochi_equals_explicit_mixing(mixed, mixed_with_query):
    options = {"hardest": 4, "mixed": mixed, "mixed_with_query": mixed_with_query}
    method = build("mochi", queue=9, projection=5, **options)
    stepped(method)
    batch = episode(method, 7)
    draws = torch.Generator()
    draws.set_state(batch.generator.get_state())
    first, second = (torch.randint(4, (IMAGES, mixed), generator=draws) for _ in range(2))
    alpha = torch.rand((IMAGES, mixed), generator=draws)
    third = torch.randint(4, (IMAGES, mixed_with_query), generator=draws)
    beta = torch.rand((IMAGES, mixed_with_query), generator=draws) / 2

    def mixes(i: int, q: Tensor) -> list[Tensor]:
        nearest = sorted(method.queue, key=lambda n: -(q @ n).item())[:4]
        of_two = [
            unit(a * nearest[m] + (1 - a) * nearest[n])
            for a, m, n in zip(alpha[i].double(), first[i], second[i], strict=True)
        ]
        with_query = [
            unit(b * q + (1 - b) * nearest[n])
            for b, n in zip(beta[i].double(), third[i], strict=True)
        ]
        return of_two + with_query

    assert_equal(method.loss(batch).value, slow_moco(method, batch, mixes), method)


def test_mochi_without_mixes_is_moco():
    moco = build("moco-v2", queue=9)
    for options in ({"mixed": 0, "mixed_with_query": 0}, {"delay": 5}):
        mochi = build("mochi", queue=9, **options)
        for method in (moco, mochi):
            stepped(method, 1)
        assert torch.equal(moco.loss(episode(moco)).value, mochi.loss(episode(mochi)).value)
        moco = build("moco-v2", queue=9)


def test_mochi_never_mixes_a_query_with_keys_of_its_own_image():
    """Even where there are too few others to fill the hardest."""
    method = build("mochi", queue=4, hardest=4, mixed=50, mixed_with_query=50)
    stepped(method, 1)
    loss = method.loss(episode(method, 0))  # all keys but its own are of other images
    assert loss.value.isfinite()
    logits = method.negatives(torch.zeros(1, 4), torch.ones(1, 4, dtype=bool), torch.Generator())
    assert (logits == -torch.inf).all()


def test_pairs_are_multiplied_in_blocks(monkeypatch):
    rows = torch.randn(7, 3)
    first, second = torch.randint(7, (2, 5, 4))
    whole = pair_products(rows, first, second)
    monkeypatch.setattr("pseudoshot.methods.mochi.MOST_FLOATS", 24)
    assert torch.equal(pair_products(rows, first, second), whole)
