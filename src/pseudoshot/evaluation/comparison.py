"""Two evaluations on the same tasks: how much they differ, task by task.

Tasks differ more in difficulty than embeddings do in quality. What is hard for both falls out of
the difference, so its interval is narrower than those of the two accuracies suggest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from pseudoshot.evaluation.few_shot import Evaluation, mean_and_interval
from pseudoshot.tools.errors import PseudoshotError


@dataclass(frozen=True)
class Difference:
    """In percentage points; `interval` is the half-width of the 95 % confidence interval."""

    shot: int
    difference: float
    interval: float
    excludes_zero: bool  # more than the choice of tasks explains


def paired_difference(
    first: npt.NDArray[np.float32], other: npt.NDArray[np.float32]
) -> tuple[float, float]:
    """How much better `other` is than `first` and the half-width of the 95 % interval, from the
    accuracy of every task (T,) of each.

    >>> paired_difference(np.array([40, 80], np.float32), np.array([50, 86], np.float32))
    (8.0, 2.7718585822512662)
    """
    if first.shape != other.shape or first.ndim != 1 or len(first) < 2:
        raise PseudoshotError(
            f"a paired difference needs the accuracies of the same two or more tasks, not arrays "
            f"of shape {first.shape} and {other.shape}"
        )
    return mean_and_interval(torch.from_numpy(np.subtract(other, first, dtype=np.float64)))


def differences(first: Evaluation, other: Evaluation) -> tuple[Difference, ...]:
    """Of each shot, what `other` has more than `first`; the tasks must have been the same."""
    if _tasks_of(first) != _tasks_of(other):
        raise PseudoshotError(
            f"the two evaluations on '{first.data}' and '{other.data}' are not of the same tasks: "
            f"compare those of the same images, way, shots, queries, tasks and seed"
        )
    compared = []
    for result, before, after in zip(other.results, first.scores, other.scores, strict=True):
        mean, interval = paired_difference(before, after)
        compared.append(Difference(result.shot, mean, interval, abs(mean) > interval))
    return tuple(compared)


def _tasks_of(evaluation: Evaluation) -> tuple[object, ...]:
    """All that the draw of tasks depends on, and what was drawn from; not the images' size."""
    shots = tuple(result.shot for result in evaluation.results)
    numbers = (evaluation.way, evaluation.query, evaluation.tasks, evaluation.seed)
    return (evaluation.data, evaluation.note, evaluation.labelling, shots, *numbers)
