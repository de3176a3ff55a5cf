"""ProtoCLR, ProtoTransfer, UMTRA and AAL equal their equations in plain loops, and MAML its own."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from pseudoshot.backbones import build_backbone, compiled
from pseudoshot.classifiers import Support, build_classifier
from pseudoshot.methods import METHODS
from pseudoshot.tasks.inner_loop import adapted_logits, descend
from pseudoshot.tasks.tasks import fixed_task
from tests.core.reference import slow_similarity
from tests.core.reference_methods import cross_entropy
from tests.core.rivals import (
    DIM,
    IMAGES,
    SIDE,
    Normed,
    assert_equal,
    build,
    build_learner,
    episode,
    slow_maml,
)


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


@pytest.mark.parametrize("size", [16, 40])
@pytest.mark.parametrize("at_once", [1, None])
def test_networks_that_drop_features_or_blocks_are_adapted_without(size, at_once):
    torch.manual_seed(0)
    network = nn.Sequential(build_backbone("resnet12", 1, size), nn.Linear(640, 2)).train()
    support, query = torch.rand(2, 2, 2, 1, size, size)
    labels = torch.tensor([0, 1])
    with compiled.set_aside():
        first, again = (
            adapted_logits(network, support, labels, query, steps=1, lr=0.01, at_once=at_once)
            for _ in range(2)
        )
        assert torch.equal(first, again)
        assert torch.autograd.grad(first.sum(), network[1].weight)[0].any()
    assert all(part.training for part in network.modules())


@pytest.mark.parametrize("name", ["umtra", "baseline", "hard-task"])
def test_a_task_has_two_classes_or_more(name):
    with pytest.raises(ValueError, match="greater than or equal to 2"):
        METHODS[name].Settings(way=1)


@pytest.mark.parametrize(("name", "options"), [("umtra", {}), ("aal", {"shot": 3})])
def test_an_episode_is_made_of_whole_tasks(name, options):
    with pytest.raises(ValueError, match="choose --images as a multiple of"):
        METHODS[name].Settings(images=41, way=5, **options)
