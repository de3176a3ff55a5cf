"""How sure a figure or a difference is, over the seeds of the training and the choice of tasks.

A run of seed s is measured on T tasks that are drawn with the same seed s, the same ones for every
method. What two methods differ in on task t of seed s is

    d[s, t] = δ + a[s] + e[s, t],

a[s] for the two trainings of this seed, of variance α², and e[s, t] for the task, of variance ε²,
in which what is hard for both methods has cancelled. Tasks are drawn anew for each seed, so the
means m[s] over tasks are independent, each of variance α² + ε²/T: their spread holds both sources
at once, in the very proportion in which the mean over seeds has them. With S seeds

    mean(m) ± t(S - 1) · std(m) / √S

therefore covers δ in 95 % of all repetitions, whatever the two variances are, if a[s] is normal
(the mean of thousands of e[s, t] is, by itself). Were the tasks the same for all seeds, their part
would be common to all m[s] and be missed by it. It does not cover the choice of images and classes
that make the test set, nor the data, budget and backbone: of those the studies say nothing.

>>> over_seeds([1.0, 2.0, 3.0])
Estimate(value=2.0, interval=2.484..., seeds=3)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and the half-width of its 95 % interval: infinite with one seed."""

    value: float
    interval: float
    seeds: int

    @property
    def low(self) -> float:
        return self.value - self.interval

    @property
    def high(self) -> float:
        return self.value + self.interval


def half_widths(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Of the interval of each mean over the last axis, (..., S) to (...)."""
    from scipy.special import stdtrit  # takes a while to import

    seeds = values.shape[-1]
    quantile = stdtrit(seeds - 1, (1 + CONFIDENCE) / 2)
    return np.asarray(quantile * values.std(-1, ddof=1) / math.sqrt(seeds))


def over_seeds(values: Sequence[float]) -> Estimate:
    """From what each seed gave."""
    found = np.array(values, np.float64)
    interval = float(half_widths(found)) if len(found) > 1 else math.inf
    return Estimate(float(found.mean()), interval, len(found))
