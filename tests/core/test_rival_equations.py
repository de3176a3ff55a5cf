"""The rivals equal their equations in plain loops, values and gradients, in double precision."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pseudoshot.backbones.base import Backbone
from pseudoshot.classifiers import Support, build_classifier
from pseudoshot.methods import METHODS, Batch, Method
from pseudoshot.methods.mochi import pair_products
from pseudoshot.tasks.inner_loop import adapted_logits, descend
from pseudoshot.tasks.tasks import fixed_task
from tests.core.reference import slow_similarity
from tests.core.reference_methods import cross_entropy

IMAGES, SIDE, DIM = 4, 3, 6


class Linear(Backbone):
    """Small enough for loops, and with weights that a gradient reaches."""

    dim = DIM

    def __init__(self) -> None:
        super().__init__(1, SIDE)
        self.layer = nn.Linear(SIDE * SIDE, DIM)

    def forward(self, images: Tensor) -> Tensor:
        embeddings: Tensor = self.layer(images.flatten(1))
        return embeddings


def build(name: str, **options: Any) -> Method:
    torch.manual_seed(0)
    method = METHODS[name]
    return method(Linear(), method.Settings(images=IMAGES, **options)).double()


def episode(method: Method, seed: int = 3) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    shape = (IMAGES, method.settings.V, 1, SIDE, SIDE)
    views = torch.rand(shape, generator=generator, dtype=torch.float64)
    return Batch(views, generator, 10 * seed + torch.arange(IMAGES))


def assert_equal(fast: Tensor, slow: Tensor, method: Method) -> None:
    torch.testing.assert_close(fast, slow, rtol=1e-9, atol=1e-11)
    learnt = [p for p in method.parameters() if p.requires_grad]
    for ours, theirs in zip(
        torch.autograd.grad(fast, learnt), torch.autograd.grad(slow, learnt), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-10)


def unit(vector: Tensor) -> Tensor:
    return vector / vector.norm()


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


@pytest.mark.parametrize("similarity", ["euclidean", "sns"])
def test_protoclr_equals_a_loop_over_images(similarity):
    method = build("protoclr", query=2, similarity=similarity, temperature=0.7)
    batch = episode(method)
    z = [[method.backbone(view[None])[0] for view in views] for views in batch.views]
    terms = [
        cross_entropy([slow_similarity(similarity, q, p[0]) / 0.7 for p in z], i)
        for i, views in enumerate(z)
        for q in views[1:]
    ]
    assert_equal(method.loss(batch).value, torch.stack(terms).mean(), method)


def test_protoclr_is_the_vanilla_method_with_one_split():
    """The first view, which is the image itself, is the support of the only task."""
    protoclr, vanilla = build("protoclr", query=3), build("vanilla", query=3)
    batch = episode(protoclr)
    task = fixed_task(IMAGES, 1, 3)
    embeddings = vanilla.backbone(batch.views.flatten(0, 1))
    same = vanilla.objective(embeddings, task, batch.generator)
    torch.testing.assert_close(protoclr.loss(batch).value, same)


def test_prototransfer_equals_adam_task_by_task():
    generator = torch.Generator().manual_seed(0)
    z = torch.rand((3, 7, DIM), generator=generator, dtype=torch.float64)
    labels = torch.tensor([[0, 0, 1, 1, 1, 2, 2], [2, 1, 0, 1, 0, 1, 2], [0, 1, 2, 0, 1, 2, 2]])
    chosen = {"name": "prototransfer", "epochs": 4, "lr": 0.1}
    fitted = build_classifier(chosen, "euclidean").fit(Support(z, labels, 3))
    for task in range(3):
        of_class = [(labels[task] == n).nonzero()[:, 0].tolist() for n in range(3)]
        means = torch.stack([z[task][members].mean(0) for members in of_class])
        for members, mean in zip(of_class, means, strict=True):
            members.sort(key=lambda i, t=task, m=mean: (z[t][i] - m).norm().item())
        order = [m[turn] for turn in range(3) for m in of_class if turn < len(m)]
        linear = nn.Linear(DIM, 3).double()
        with torch.no_grad():
            linear.weight.copy_(2 * means)
            linear.bias.copy_(-means.square().sum(1))
        adam = torch.optim.Adam(linear.parameters(), lr=0.1)
        for _ in range(4):
            for start in (0, 3, 6):
                some = order[start : start + 3]
                loss = nn.functional.cross_entropy(linear(z[task][some]), labels[task][some])
                adam.zero_grad()
                loss.backward()
                adam.step()
        torch.testing.assert_close(fitted.weight[task], linear.weight.detach())
        torch.testing.assert_close(fitted.bias[task], linear.bias.detach())


@pytest.mark.parametrize("similarity", ["euclidean", "cosine"])
def test_prototransfer_of_no_epochs_is_the_nearest_mean(similarity):
    support = Support.balanced(torch.randn(2, 3, 4, DIM))
    tuned = build_classifier({"name": "prototransfer", "epochs": 0}, similarity).fit(support)
    nearest = build_classifier("prototype", similarity).fit(support)
    assert torch.equal(tuned.weight, nearest.weight)
    assert torch.equal(tuned.bias, nearest.bias)


class Normed(Linear):
    """With BatchNorm, of which MAML takes the batch's own statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(1)

    def forward(self, images: Tensor) -> Tensor:
        return super().forward(self.norm(images)).tanh()


def slow_maml(method: Method, tasks: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Task by task and step by step, on (N·K, ...) and (N·Q, ...) images of each."""
    s, terms = method.settings, []
    for support, query in tasks:
        layer, norm, linear = method.backbone.layer, method.backbone.norm, method.head.layer
        theta = [layer.weight, layer.bias, norm.weight, norm.bias, linear.weight, linear.bias]
        for step in range(s.inner_steps + 1):
            images = support if step < s.inner_steps else query
            mean, deviation = images.mean(), (images.var(correction=0) + norm.eps).sqrt()
            normed = (images - mean) / deviation * theta[2] + theta[3]
            z = (normed.flatten(1) @ theta[0].T + theta[1]).tanh()
            logits = z @ theta[4].T + theta[5]
            each = len(images) // s.way
            cost = torch.stack(
                [cross_entropy(list(row), i // each) for i, row in enumerate(logits)]
            ).mean()
            if step < s.inner_steps:
                gradients = torch.autograd.grad(cost, theta, create_graph=not s.first_order)
                theta = [w - s.inner_lr * g for w, g in zip(theta, gradients, strict=True)]
        terms.append(cost)
    return torch.stack(terms).mean()


def build_learner(name: str, **options: Any) -> Method:
    torch.manual_seed(0)
    method = METHODS[name]
    return method(Normed(), method.Settings(images=IMAGES, way=2, **options)).double()


@pytest.mark.parametrize("first_order", [False, True])
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_umtra_equals_maml_task_by_task(first_order, steps):
    method = build_learner("umtra", inner_steps=steps, first_order=first_order)
    batch = episode(method)
    tasks = [(batch.views[i : i + 2, 0], batch.views[i : i + 2, 1]) for i in (0, 2)]
    assert_equal(method.loss(batch).value, slow_maml(method, tasks), method)


def test_aal_equals_maml_on_images_grouped_at_random():
    method = build_learner("aal", shot=2, inner_steps=2)
    batch = episode(method)  # one task of two classes, of two unrelated images each
    tasks = [(batch.views[:, 0], batch.views[:, 1])]
    assert_equal(method.loss(batch).value, slow_maml(method, tasks), method)


def test_aal_by_prototypes_equals_a_loop():
    method = build_learner("aal", shot=2, learner="prototype")
    batch = episode(method)
    z = method.backbone(batch.views.flatten(0, 1)).unflatten(0, (IMAGES, 2))
    prototypes = [z[:2, 0].mean(0), z[2:, 0].mean(0)]
    terms = [
        cross_entropy([-((z[i, 1] - p) ** 2).sum() for p in prototypes], i // 2)
        for i in range(IMAGES)
    ]
    assert_equal(method.loss(batch).value, torch.stack(terms).mean(), method)


@pytest.mark.parametrize("learner", ["maml", "prototype"])
def test_aal_of_one_shot_is_umtra(learner):
    options = {"learner": learner, "inner_steps": 2}
    umtra, aal = (build_learner(name, **options) for name in ("umtra", "aal"))
    assert torch.equal(umtra.loss(episode(umtra)).value, aal.loss(episode(aal)).value)


def test_without_inner_steps_no_gradient_goes_through_the_support():
    method = build_learner("umtra", inner_steps=0)
    batch = episode(method)
    batch.views.requires_grad_()
    method.loss(batch).value.backward()
    assert not batch.views.grad[:, 0].any()
    assert batch.views.grad[:, 1].any()


def test_the_meta_gradient_of_linear_regression_is_its_closed_form():
    """w' = w - α ∇½|Xw - y|², so that dL(w')/dw = (I - α XᵀX) ∇L(w')."""
    X, Q = torch.rand(2, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y, w = X[:, 0] ** 2, torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64, requires_grad=True)

    def half_squares(inputs: Tensor, weight: Tensor) -> Tensor:
        return (inputs @ weight - y).square().sum() / 2

    for first_order in (False, True):
        moved = descend(lambda w: half_squares(X, w["w"]), {"w": w}, 1, 0.1, first_order)["w"]
        found = torch.autograd.grad(half_squares(Q, moved), w)[0]
        outer = Q.T @ (Q @ moved - y)
        through = torch.eye(3).double() - 0.1 * X.T @ X
        torch.testing.assert_close(found, outer if first_order else through @ outer)


def test_with_a_vanishing_rate_both_orders_agree():
    values = []
    for first_order in (False, True):
        method = build_learner("umtra", inner_lr=1e-12, first_order=first_order)
        loss = method.loss(episode(method)).value
        values.append(torch.autograd.grad(loss, method.backbone.layer.weight)[0])
    torch.testing.assert_close(*values)


def test_inner_steps_leave_running_statistics_alone_and_tasks_can_be_held_in_parts():
    torch.manual_seed(0)
    network = nn.Sequential(Normed(), nn.Linear(DIM, 2)).double().eval()
    support, query = torch.rand(2, 3, 4, 1, SIDE, SIDE, dtype=torch.float64)
    labels = torch.tensor([0, 0, 1, 1])
    whole, parts = (
        adapted_logits(network, support, labels, query, steps=2, lr=0.1, at_once=some)
        for some in (None, 2)
    )
    torch.testing.assert_close(whole, parts)
    assert torch.equal(network[0].norm.running_mean, torch.zeros(1).double())
    assert not network[0].norm.training


@pytest.mark.parametrize(("name", "options"), [("umtra", {}), ("aal", {"shot": 3})])
def test_an_episode_is_made_of_whole_tasks(name, options):
    with pytest.raises(ValueError, match="choose --images as a multiple of"):
        METHODS[name].Settings(images=41, way=5, **options)
