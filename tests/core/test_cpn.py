"""CPN equals its equations in plain loops, values and gradients, in double precision."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from pseudoshot.methods.cpn import distance_to_uniform
from pseudoshot.tasks.gram import gram_matrix, task_loss
from pseudoshot.tasks.tasks import exhaustive_tasks
from tests.core.reference_methods import cross_entropy
from tests.core.rivals import DIM, IMAGES, assert_equal, build, episode, unit


def slow_distance_to_uniform(told: Tensor, cost: Tensor) -> Tensor:
    """Step by step and plan by plan."""
    C, terms = len(cost), []
    for p in told:
        kernel = [[(-cost[j, k] / 0.5).exp() for k in range(C)] for j in range(C)]
        v = [torch.ones((), dtype=torch.float64)] * C
        for _ in range(5):
            u = [(p[j] + 1e-12) / sum(kernel[j][k] * v[k] for k in range(C)) for j in range(C)]
            v = [1 / C / sum(kernel[j][k] * u[j] for j in range(C)) for k in range(C)]
        terms.append(
            sum(u[j] * kernel[j][k] * v[k] * cost[j, k] for j in range(C) for k in range(C))
        )
    return torch.stack(terms).mean()


@pytest.mark.parametrize("penalty", [0.0, 0.6])
def test_cpn_equals_a_loop_over_pairs_of_views(penalty):
    method = build("cpn", views_per_class=3, temperature=2.0, penalty=penalty, cost_scale=3.0)
    batch = episode(method)
    z = [[method.backbone(view[None])[0] for view in views] for views in batch.views]
    terms, told = [], []
    for i, views in enumerate(z):
        for q in views:
            for b in range(3):
                similar = [-((q - others[b]) ** 2).sum() for others in z]
                terms.append(cross_entropy([s / 2.0 for s in similar], i))
                told.append((torch.stack(similar) / DIM**0.5).softmax(0))
    slow = torch.stack(terms).mean()
    if penalty:
        means = [unit(torch.stack(views).mean(0).detach()) for views in z]
        rows = []
        for i, mean in enumerate(means):
            apart = [1 - mean @ other for other in means]
            low, high = min(apart), max(apart)
            row = [3.0 * (a - low) / (high - low) + (i == j) for j, a in enumerate(apart)]
            rows.append(torch.stack(row))
        slow = slow + penalty * slow_distance_to_uniform(torch.stack(told), torch.stack(rows))
    assert_equal(method.loss(batch).value, slow, method)


def test_cpn_without_its_penalty_is_every_one_shot_task_and_a_view_told_by_itself():
    """Mean over V² pairs: V(V - 1) of them are those of exhaustive tasks."""
    cpn = build("cpn", views_per_class=3, temperature=5.0, penalty=0)
    batch = episode(cpn)
    z = cpn.backbone(batch.views.flatten(0, 1))
    exhaustive = task_loss(gram_matrix(z), exhaustive_tasks(IMAGES, 3), "euclidean", 5.0)
    itself = [
        cross_entropy([-((q[v] - p[v]) ** 2).sum() / 5.0 for p in z.view(IMAGES, 3, DIM)], i)
        for i, q in enumerate(z.view(IMAGES, 3, DIM))
        for v in range(3)
    ]
    expected = (6 * exhaustive + 3 * torch.stack(itself).mean()) / 9
    torch.testing.assert_close(cpn.loss(batch).value, expected)


def test_being_sure_costs_more_than_saying_nothing():
    cost = 8 * (1 - torch.eye(4)) + torch.eye(4)
    sure, unsure = torch.eye(4), torch.full((4, 4), 0.25)
    assert distance_to_uniform(sure, cost) > 5 * distance_to_uniform(unsure, cost)
