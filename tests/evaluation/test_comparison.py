"""Differences of two evaluations equal a plain loop over tasks, and find what is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pseudoshot.classifiers import build_classifier
from pseudoshot.data import ImageSet
from pseudoshot.evaluation import evaluate_embeddings
from pseudoshot.evaluation.comparison import differences, paired_difference
from pseudoshot.tools.errors import PseudoshotError

PERCENT = st.floats(0, 100, width=32)


@given(st.lists(st.tuples(PERCENT, PERCENT), min_size=2, max_size=30))
def test_the_difference_equals_a_plain_loop(pairs):
    apart = [other - first for first, other in pairs]
    mean = sum(apart) / len(apart)
    variance = sum((d - mean) ** 2 for d in apart) / len(apart)
    first, other = np.array(pairs, np.float32).T
    assert paired_difference(first, other) == pytest.approx(
        (mean, 1.96 * math.sqrt(variance) / math.sqrt(len(apart))), abs=1e-4
    )


def simulated(gain: float, seed: int, tasks: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Tasks of very different difficulty, and a second embedding better by `gain` points."""
    chance = np.random.default_rng(seed)
    difficulty = chance.normal(60, 12, tasks)
    first = difficulty + chance.normal(0, 3, tasks)
    other = difficulty + gain + chance.normal(0, 3, tasks)
    return first.astype(np.float32), other.astype(np.float32)


def test_a_known_difference_lies_in_its_interval_nineteen_times_of_twenty():
    inside = 0
    for seed in range(400):
        mean, interval = paired_difference(*simulated(1.0, seed, tasks=300))
        inside += abs(mean - 1.0) < interval
    assert 0.92 < inside / 400 < 0.98


def test_a_difference_that_two_intervals_hide_is_found():
    first, other = simulated(0.6, seed=0)
    mean, interval = paired_difference(first, other)
    alone = [1.96 * scores.std() / math.sqrt(len(scores)) for scores in (first, other)]
    assert abs(other.mean() - first.mean()) < alone[0] + alone[1]
    assert mean > interval
    assert interval < math.hypot(*alone) / 3


def evaluated(of: int, size: int = 4, **protocol):
    labels = np.repeat(np.arange(6), 20)
    images = ImageSet("toy", np.zeros((120, size, size, 1), np.uint8), labels, tuple("abcdef"))
    embeddings = torch.randn(120, 3, generator=torch.Generator().manual_seed(of))
    embeddings[:, 0] += torch.from_numpy(labels)
    options = {"shots": (1, 5), "query": 5, "tasks": 50, **protocol}
    return evaluate_embeddings(
        embeddings, images, build_classifier("prototype", "euclidean"), **options
    )


def test_evaluations_are_compared_at_every_shot_whatever_the_images_size():
    first, other = evaluated(0), evaluated(1, size=8)
    found = differences(first, other)
    assert [difference.shot for difference in found] == [1, 5]
    for number, difference in enumerate(found):
        gap = other.results[number].accuracy - first.results[number].accuracy
        assert difference.difference == pytest.approx(gap, abs=1e-4)
        assert difference.excludes_zero == (abs(difference.difference) > difference.interval)


def test_an_evaluation_does_not_differ_from_itself():
    assert not any(d.excludes_zero or d.difference for d in differences(*[evaluated(0)] * 2))


@pytest.mark.parametrize(
    "other",
    [
        *({"seed": 1}, {"way": 3}, {"query": 6}, {"tasks": 51}),
        *({"shots": (1, 4)}, {"shots": (1,)}),
    ],
)
def test_other_tasks_are_refused(other):
    with pytest.raises(PseudoshotError, match="not of the same tasks"):
        differences(evaluated(0), evaluated(0, **other))


def test_other_labels_are_refused():
    first = evaluated(0)
    with pytest.raises(PseudoshotError, match="not of the same tasks"):
        differences(first, replace(first, labelling="another"))


def test_one_task_tells_nothing_of_a_difference():
    with pytest.raises(PseudoshotError, match="two or more tasks, not arrays of shape"):
        paired_difference(np.ones(1, np.float32), np.ones(1, np.float32))
