"""The classifier that the examples themselves speak for."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from pseudoshot.classifiers.base import Classifier, ClassifierSettings, Linear, Support
from pseudoshot.classifiers.held_out import folds, held_out_scores
from pseudoshot.classifiers.prototype import Prototype, PrototypeSettings
from pseudoshot.classifiers.ridge import Ridge, RidgeSettings
from pseudoshot.heads import Head
from pseudoshot.tasks.similarity import Similarity

FEWEST = 3  # examples of every class, to choose by


class AutoSettings(ClassifierSettings):
    name: str = "auto"
    """which classifier"""


class Auto(Classifier):
    """The nearest mean or ridge regression, whichever is right about more examples held out.

    What the model is made for is kept where a class has fewer than three examples, and where no
    other is ahead by more than a standard error. Below three it was the better one on validation
    classes: ridge by 0.2 to 2.4 points of models made for it, the nearest mean by 0.6 or more of
    conv4-cifar-fs from one example. Logistic regression and SVM are no candidates: they cost more,
    and are ahead of ridge nowhere but in few dimensions (docs/sorting.md).
    """

    Settings = AutoSettings
    called = "what the examples speak for"
    rule = (
        "Every other image is classified by the nearest class mean or by a ridge regression, "
        "whichever is right about more of the examples when they are held out."
    )

    def __init__(
        self,
        settings: ClassifierSettings,
        similarity: Similarity = "sns",
        head: Head | None = None,
        own: Classifier | None = None,
    ) -> None:
        super().__init__(settings, similarity, head)
        self.own = own or Prototype(PrototypeSettings(), similarity)
        usual = (Prototype(PrototypeSettings(), similarity), Ridge(RidgeSettings(), similarity))
        self.candidates = (self.own, *(c for c in usual if c.name != self.own.name))

    def fit(self, support: Support) -> Linear:
        if (support.labels != support.labels[:1]).any():  # then their parts differ too
            tasks = zip(support.embeddings[:, None], support.labels[:, None], strict=True)
            return joined([self.fit(Support(*task, support.way)) for task in tasks])
        trial = self.trial(support)
        if trial is None:
            return linear(self.own, support)
        fits = [linear(candidate, support) for candidate in self.candidates]
        best, tasks_ = trial.best(), torch.arange(len(support.labels))
        return Linear(
            torch.stack([fitted.weight for fitted in fits])[best, tasks_],
            torch.stack([fitted.bias for fitted in fits])[best, tasks_],
        )

    def trial(self, support: Support, seed: int = 0) -> Trial | None:
        """Every candidate on examples held out; None where they are too few to choose by.

        The examples of all tasks have the same labels.
        """
        labels = support.labels[0]
        if torch.bincount(labels, minlength=support.way).min() < FEWEST:
            return None
        fold = folds(labels, support.way, seed)
        scores = [held_out_scores(candidate, support, fold) for candidate in self.candidates]
        return Trial(torch.stack(scores), labels, fold)

    def floats_a_task(self, members: int, dim: int) -> int:
        return 2 * sum(candidate.floats_a_task(members, dim) for candidate in self.candidates)


@dataclass(frozen=True)
class Trial:
    """What each candidate says of the examples held out, in T tasks of the same labels."""

    scores: Tensor  # (candidates, T, n, N)
    labels: Tensor  # (n,)
    fold: Tensor  # (n,): the part that each was held out with

    @property
    def right(self) -> Tensor:
        """(candidates, T, n)."""
        return self.scores.argmax(3) == self.labels

    def best(self, among: Tensor | None = None) -> Tensor:
        """(T,): the candidate ahead of the first by most, and by more than a standard error of the
        difference; the first where none is. `among` (n,) says which examples count."""
        right = self.right if among is None else self.right[..., among]
        wins = (right & ~right[:1]).sum(2).double()
        losses = (~right & right[:1]).sum(2).double()
        return (wins - losses - (wins + losses).sqrt()).argmax(0)

    def unbiased(self) -> Tensor:
        """(T, n, N): of each part, the scores of the candidate that the other parts speak for, so
        that no example has a say in what it is counted by."""
        scores = torch.empty_like(self.scores[0])
        tasks = torch.arange(scores.shape[0])
        for part in range(int(self.fold.max()) + 1):
            out = self.fold == part
            scores[:, out] = self.scores[:, :, out][self.best(~out), tasks]
        return scores


def linear(classifier: Classifier, support: Support) -> Linear:
    fitted = classifier.fit(support)
    assert isinstance(fitted, Linear)
    return fitted


def joined(fits: list[Linear]) -> Linear:
    """Many tasks of one each."""
    return Linear(torch.cat([f.weight for f in fits]), torch.cat([f.bias for f in fits]))
