"""Optimal transport of prototypes equals plain loops, and is transductive wherever it is met."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from pseudoshot.classifiers import Support, build_classifier
from pseudoshot.classifiers.opta import STEPS
from pseudoshot.embedders import load
from pseudoshot.evaluation import evaluate
from pseudoshot.sorting import FewShotClassifier, save_classifier
from pseudoshot.tasks.transport import transport_plan
from pseudoshot.tools.errors import PseudoshotError
from tests.evaluation.test_few_shot import labelled

TASKS, WAY, QUERIES, DIM = 2, 3, 9, 4


def tasks(shot: int) -> tuple[Support, Tensor]:
    generator = torch.Generator().manual_seed(shot)
    z = torch.randn(TASKS, WAY, shot + 3, DIM, generator=generator, dtype=torch.float64)
    z += 2 * torch.eye(DIM, dtype=torch.float64)[:WAY, None]
    return Support.balanced(z[:, :, :shot]), z[:, :, shot:].flatten(1, 2)


def slow_plan(cost: list[list[float]], entropy: float) -> list[list[float]]:
    n, m = len(cost), len(cost[0])
    kernel = [[math.exp(-c / entropy) for c in row] for row in cost]
    u, v = [1.0] * n, [1.0] * m
    for _ in range(STEPS):
        v = [1 / m / sum(kernel[i][j] * u[i] for i in range(n)) for j in range(m)]
        u = [1 / n / sum(kernel[i][j] * v[j] for j in range(m)) for i in range(n)]
    return [[u[i] * kernel[i][j] * v[j] for j in range(m)] for i in range(n)]


@pytest.mark.parametrize(("shot", "passes", "blend"), [(1, 5, 1.0), (3, 1, 0.7)])
def test_it_equals_a_loop_over_tasks_prototypes_and_queries(shot, passes, blend):
    support, queries = tasks(shot)
    found = build_classifier("opta", "sns").fit(support).logits(queries)
    for t in range(TASKS):
        asked = [q / q.norm() for q in queries[t]]
        members = [support.embeddings[t][support.labels[t] == n] for n in range(WAY)]
        prototypes = [sum(z / z.norm() for z in some) for some in members]
        prototypes = [p / p.norm() for p in prototypes]
        for _ in range(passes):
            cost = [[float((p - q).square().sum()) for q in asked] for p in prototypes]
            plan = slow_plan(cost, 0.05)
            arrived = [
                sum(w * q for w, q in zip(row, asked, strict=True)) / sum(row) for row in plan
            ]
            pairs = zip(arrived, prototypes, strict=True)
            prototypes = [blend * a + (1 - blend) * p for a, p in pairs]
            prototypes = [p / p.norm() for p in prototypes]
        expected = torch.stack([torch.stack([q @ p for p in prototypes]) for q in asked])
        torch.testing.assert_close(found[t], expected, rtol=1e-8, atol=1e-10)


def test_masses_leave_and_arrive_in_equal_parts():
    cost = 4 * torch.rand(5, 3, 7, generator=torch.Generator().manual_seed(0)).double()
    plan = transport_plan(cost, 0.05, 2000)
    assert (plan >= 0).all()
    torch.testing.assert_close(plan.sum(2), torch.full((5, 3), 1 / 3).double())
    torch.testing.assert_close(plan.sum(1), torch.full((5, 7), 1 / 7).double(), rtol=1e-5, atol=0)
    cheaper = transport_plan(cost.float(), 0.001, 2000)  # exp(-4000) is no number but in logarithms
    assert cheaper.isfinite().all()
    assert (cheaper * cost).sum() < (plan * cost).sum() + 1e-4


def test_without_a_blend_it_is_the_nearest_mean_of_directions():
    support, queries = tasks(3)
    still = build_classifier({"name": "opta", "blend": 0}).fit(support).logits(queries)
    units = Support(
        support.embeddings / support.embeddings.norm(dim=2, keepdim=True), support.labels, WAY
    )
    nearest = build_classifier("prototype", "cosine").fit(units).logits(queries)
    assert torch.equal(still.argmax(2), nearest.argmax(2))


def test_one_query_alone_is_no_cloud():
    """As where examples are held out one by one to tell how good a classifier is."""
    examples, query = tasks(1)[0], tasks(1)[1][:, :1]
    nearest = build_classifier("prototype", "cosine").fit(examples).logits(query)
    moved = build_classifier("opta", "cosine").fit(examples).logits(query)
    assert torch.equal(moved.argmax(2), nearest.argmax(2))
    assert moved.std(2).min() > 0


def test_queries_help_where_one_example_is_off_its_class():
    generator = torch.Generator().manual_seed(0)
    centres = torch.eye(8, dtype=torch.float64)[:5]
    shown = centres + 0.5 * torch.randn(200, 5, 8, generator=generator).double()
    asked = centres.repeat_interleave(15, 0) + 0.3 * torch.randn(200, 75, 8, generator=generator)
    truth = torch.arange(5).repeat_interleave(15)
    right = {
        name: (
            build_classifier(name, "cosine").fit(Support.balanced(shown[:, :, None])).logits(asked)
            .argmax(2) == truth
        ).double().mean()
        for name in ("prototype", "opta")
    }  # fmt: skip
    assert right["opta"] > right["prototype"] + 0.05


def test_it_is_marked_transductive_and_refused_where_it_cannot_be(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(30, 6))
    estimator = FewShotClassifier(classifier="opta").fit(vectors[:6], [0, 0, 1, 1, 2, 2])
    assert estimator.predict_proba(vectors).shape == (30, 3)
    with pytest.raises(PseudoshotError, match="'opta' looks at all images together and cannot be"):
        save_classifier(estimator, tmp_path / "c.safetensors")
    with pytest.raises(PseudoshotError, match="one alone says nothing: give it more images"):
        estimator.predict(vectors[:1])


def test_evaluations_say_that_it_is_transductive():
    tasks = {"way": 3, "shots": (1, 2), "query": 3, "tasks": 5}
    result = evaluate(load("conv4-cifar-fs"), labelled([8, 9, 10, 11]), classifier="opta", **tasks)
    assert (result.classifier, result.setting) == ("opta", "transductive")
