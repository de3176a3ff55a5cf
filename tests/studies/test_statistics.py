"""Intervals that cover what they say, over seeds and tasks."""

import math

import numpy as np
import pytest
from scipy import stats

from pseudoshot.studies.statistics import half_widths, over_seeds

SIMULATIONS, TASKS = 2_000, 50


def simulated(seeds: int, of_seed: float, of_task: float, difference: float) -> np.ndarray:
    """Accuracies of two methods by seed and task, (2, simulations, S, T).

    What is hard in a task is hard for both; each training and each query has a luck of its own.
    """
    rng = np.random.default_rng(0)
    hard = rng.normal(50, 10, (SIMULATIONS, seeds, TASKS))  # tasks are drawn anew for every seed
    luck = rng.normal(0, of_seed / math.sqrt(2), (2, SIMULATIONS, seeds, 1))
    noise = rng.normal(0, of_task / math.sqrt(2), (2, SIMULATIONS, seeds, TASKS))
    shift = np.array([0.0, difference])[:, None, None, None]
    return hard + luck + noise + shift


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize(
    ("of_seed", "of_task"),
    [(1.0, 0.0), (1.0, 7.0), (0.2, 7.0), (0.0, 7.0)],
    ids=["trainings alone", "both alike", "tasks mostly", "tasks alone"],
)
def test_the_interval_covers_a_known_difference(seeds, of_seed, of_task):
    first, other = simulated(seeds, of_seed, of_task, difference=1.5)
    by_seed = (other - first).mean(-1)  # (simulations, S)
    missed = np.abs(by_seed.mean(-1) - 1.5) > half_widths(by_seed)
    assert 100 * (1 - missed.mean()) == pytest.approx(95, abs=2)


def test_an_interval_over_tasks_alone_would_not_cover_it():
    first, other = simulated(3, of_seed=1.0, of_task=7.0, difference=1.5)
    pooled = (other - first).reshape(SIMULATIONS, -1)
    width = 1.96 * pooled.std(-1) / math.sqrt(pooled.shape[1])
    assert (np.abs(pooled.mean(-1) - 1.5) > width).mean() > 0.1


def test_tasks_that_are_the_same_for_all_seeds_would_not_be_covered():
    """Why every seed has tasks of its own."""
    rng = np.random.default_rng(0)
    common = rng.normal(0, 7, (SIMULATIONS, 1, TASKS))
    by_seed = (1.5 + common + rng.normal(0, 1, (SIMULATIONS, 3, TASKS))).mean(-1)
    assert (np.abs(by_seed.mean(-1) - 1.5) > half_widths(by_seed)).mean() > 0.1


def test_it_is_students_interval():
    values = [3.0, 4.5, 2.0, 7.0]
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert (over_seeds(values).low, over_seeds(values).high) == pytest.approx((low, high))


def test_of_one_seed_nothing_is_known():
    assert over_seeds([50.0]).interval == math.inf
