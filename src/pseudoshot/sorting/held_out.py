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

from pseudoshot.classifiers import Classifier, Fitted, Support
from pseudoshot.sorting.inputs import Floats

Labels = npt.NDArray[np.int64]

FOLDS = 5
GOOD = 0.8  # of the examples right: below, it is said which classes are mixed up
_TWO_SIDED = 1.96  # deviations of a 95 % interval


@dataclass(frozen=True)
class HeldOut:
    """Examples and what the others say of them; those alone in their class are never held out.

    >>> HeldOut(np.array([0, 0, 1]), np.eye(2)[[0, 1, 1]]).in_words(["cat", "dog"])
    '2 of 3 examples right when held out: 67 % (21 to 94); cat taken for dog once: ...'
    """

    labels: Labels  # (n,), the true ones
    scores: Floats  # (n, classes)

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

    def in_words(self, classes: Sequence[Any]) -> str:
        """One line for a person; where it is poor, what to do."""
        n = len(self.labels)
        if n == 0:
            return "two examples of a class or more, and it can be told how good this is"
        low, high = self.interval
        told = f"{self.right} of {n} examples right when held out: "
        told += f"{self.right / n:.0%} ({100 * low:.0f} to {100 * high:.0f})".replace("%", " %")
        if self.right / n >= GOOD:
            return told
        pairs = zip(self.labels.tolist(), self.scores.argmax(1).tolist(), strict=True)
        mixed = Counter((label, other) for label, other in pairs if label != other)
        (label, other), count = mixed.most_common(1)[0]
        times = "once" if count == 1 else f"{count} times"
        return (
            f"{told}; {classes[label]} taken for {classes[other]} {times}: more examples of both "
            f"would help most, or a model trained on such images"
        )


def hold_out(classifier: Classifier, support: Support, seed: int) -> HeldOut:
    """In up to five parts, of which each is told by a classifier fitted to the others."""
    features, labels = support.embeddings[0].numpy(), support.labels[0].numpy()
    fold = folds(labels, support.way, seed)
    scores = np.zeros((len(labels), support.way))
    for part in range(fold.max() + 1):
        out = fold == part
        shown = support_of(features[~out], labels[~out], support.way)
        scores[out] = scores_of(classifier.fit(shown), features[out])
    return HeldOut(labels[fold >= 0], scores[fold >= 0])


def folds(labels: Labels, way: int, seed: int) -> Labels:
    """To which of up to five parts each example belongs; -1: never held out, alone in its class."""
    order = np.random.default_rng(seed).permutation(len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    counts = np.bincount(labels, minlength=way)
    rank = np.empty_like(labels)
    rank[by_class] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.where(counts[labels] > 1, rank % FOLDS, -1)


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
