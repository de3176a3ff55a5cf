"""How good a classifier is, by its own examples: each is held out once and told by the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pseudoshot.classifiers import (
    FOLDS,
    Auto,
    Classifier,
    Fitted,
    Support,
    folds,
    held_out_scores,
)
from pseudoshot.sorting.inputs import Floats

Labels = npt.NDArray[np.int64]

GOOD = 0.8  # of the examples right: below, it is said what would help
PAIRS = 3  # of classes that are mixed up, at most, to name
GROWTH = 0.5  # odds of being right, beyond chance, as a power of the number of examples
MOST_LABELS = 50  # per class, that a person would give
ANOTHER_MODEL = "a model trained on such images (pseudoshot train FOLDER)"
_TWO_SIDED = 1.96  # deviations of a 95 % interval


@dataclass(frozen=True)
class HeldOut:
    """Examples and what the others say of them; those alone in their class are never held out.

    >>> HeldOut(np.array([0, 0, 1]), np.eye(2)[[0, 1, 1]]).in_words(["cat", "dog"])
    '2 of 3 examples right when held out: 67 % (21 to 94); cat taken for dog once; ...'
    """

    labels: Labels  # (n,), the true ones
    scores: Floats  # (n, classes)
    parts: int = FOLDS  # in which they were held out

    @property
    def right(self) -> int:
        return int((self.scores.argmax(1) == self.labels).sum())

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share that is right (Wilson 1927)."""
        n, share = len(self.labels), self.right / len(self.labels)
        weight = _TWO_SIDED**2 / n
        middle = (share + weight / 2) / (1 + weight)
        reach = _TWO_SIDED * np.sqrt(share * (1 - share) / n + weight / (4 * n)) / (1 + weight)
        return max(0.0, float(middle - reach)), min(1.0, float(middle + reach))

    @property
    def confused(self) -> list[tuple[int, int, int]]:
        """Pairs of classes that are mixed up, most often first: label, what it was taken for, how
        often."""
        pairs = zip(self.labels.tolist(), self.scores.argmax(1).tolist(), strict=True)
        mixed = Counter((label, other) for label, other in pairs if label != other)
        return [(label, other, count) for (label, other), count in mixed.most_common()]

    @property
    def labels_needed(self) -> int | None:
        """Examples per class at which about GOOD of all would be right, by how accuracy grew with
        them on validation classes; None where more than a person would give."""
        n, way = self.scores.shape
        gain = odds_beyond_chance(GOOD, way) / odds_beyond_chance(self.right / n, way)
        now = n / way
        needed = now * gain ** (1 / GROWTH)
        return int(np.ceil(max(needed, now + 1))) if needed <= MOST_LABELS else None

    def in_words(self, classes: Sequence[Any], another_model: str = ANOTHER_MODEL) -> str:
        """One line for a person; where it is poor, what is mixed up and what would help."""
        n = len(self.labels)
        if n == 0:
            return "two examples of a class or more, and it can be told how good this is"
        low, high = self.interval
        told = f"{self.right} of {n} examples right when held out: "
        told += f"{percent(self.right / n)} ({100 * low:.0f} to {100 * high:.0f})"
        if self.right / n >= GOOD:
            return told
        mixed = [
            f"{classes[label]} taken for {classes[other]} {times(count)}"
            for label, other, count in self.confused[:PAIRS]
        ]
        return f"{told}; {', '.join(mixed)}; {self._advice(another_model)}"

    def _advice(self, another_model: str) -> str:
        needed = self.labels_needed
        if needed is None:
            return (
                f"more examples alone would hardly bring it to {percent(GOOD)}: what would help "
                f"is {another_model}"
            )
        return (
            f"about {needed} examples per class could bring it to {percent(GOOD)}, of the classes "
            f"mixed up first; so could {another_model}"
        )


@dataclass(frozen=True)
class Settled:
    """Which classifier it is to be, what it is worth, and why it was chosen."""

    classifier: Classifier
    held_out: HeldOut
    in_words: str


def settle(classifier: Classifier, support: Support, seed: int) -> Settled:
    """The classifier itself, or the one that `auto` chooses for these examples.

    The share that is right is not flattered by the choice: each example is counted by what the
    others would have chosen.
    """
    if not isinstance(classifier, Auto):
        told = f"told apart by {classifier.called}"
        return Settled(classifier, hold_out(classifier, support, seed), told)
    trial = classifier.trial(support, seed)
    if trial is None:
        own = classifier.own
        return Settled(own, hold_out(own, support, seed), f"told apart by {own.called}")
    best = int(trial.best()[0])
    shares = trial.right[:, 0].double().mean(1).tolist()
    others = " and ".join(
        f"{percent(share)} of {candidate.called}"
        for place, (candidate, share) in enumerate(zip(classifier.candidates, shares, strict=True))
        if place != best
    )
    chosen = classifier.candidates[best]
    told = (
        f"told apart by {chosen.called}, chosen on the examples: {percent(shares[best])} right "
        f"when held out against {others}"
    )
    parts = int(trial.fold.max()) + 1
    found = HeldOut(trial.labels.numpy(), trial.unbiased()[0].double().numpy(), parts)
    return Settled(chosen, found, told)


def hold_out(classifier: Classifier, support: Support, seed: int) -> HeldOut:
    """In up to five parts, of which each is told by a classifier fitted to the others."""
    fold = folds(support.labels[0], support.way, seed)
    scores, held = held_out_scores(classifier, support, fold)[0], fold >= 0
    parts = max(1, int(fold.max()) + 1)
    return HeldOut(support.labels[0][held].numpy(), scores[held].numpy(), parts)


def odds_beyond_chance(share: float, way: int) -> float:
    """Of a share that is right among so many classes.

    >>> round(odds_beyond_chance(0.6, way=5), 3)  # half of what chance leaves over
    1.0
    """
    beyond = float(np.clip((share - 1 / way) / (1 - 1 / way), 1e-3, 1 - 1e-3))
    return beyond / (1 - beyond)


def percent(share: float) -> str:
    """
    >>> percent(0.79)
    '79 %'
    """
    return f"{100 * share:.0f} %"


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def support_of(features: Floats, labels: Labels, way: int) -> Support:
    """One person's examples: a batch of one task, in double precision."""
    return Support(_tensor(features)[None], _tensor(labels)[None], way)


def scores_of(fitted: Fitted, features: Floats) -> Floats:
    """(n, d) to (n, N)."""
    scores: Floats = fitted.logits(_tensor(features)[None])[0].numpy()
    return scores


def _tensor(array: npt.NDArray[Any]) -> Tensor:
    """Without a copy, but of what may not be written: torch warns of such arrays."""
    return torch.from_numpy(array if array.flags.writeable else array.copy())
