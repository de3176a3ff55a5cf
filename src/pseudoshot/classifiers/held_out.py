"""Examples held out in parts, each part told by a classifier fitted to the others."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from pseudoshot.classifiers.base import Classifier, Support

FOLDS = 5


def folds(labels: Tensor, way: int, seed: int) -> Tensor:
    """To which of up to five parts each example (n,) belongs; -1: alone in its class, never held
    out.

    >>> folds(torch.tensor([0, 1, 1]), way=2, seed=0)
    tensor([-1,  1,  0])
    """
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(labels)))
    by_class = order[labels[order].argsort(stable=True)]
    counts = torch.bincount(labels, minlength=way)
    rank = torch.empty_like(labels)
    rank[by_class] = torch.arange(len(labels)) - (counts.cumsum(0) - counts)[labels[by_class]]
    return torch.where(counts[labels] > 1, rank % FOLDS, -1)


def held_out_scores(classifier: Classifier, support: Support, fold: Tensor) -> Tensor:
    """(T, n, N): what is said of each example by those outside its part (n,); 0 where it has none.

    The examples of all tasks have the same labels.
    """
    T, n, _ = support.embeddings.shape
    scores = support.embeddings.new_zeros(T, n, support.way)
    for part in range(int(fold.max()) + 1):
        out = fold == part
        shown = Support(support.embeddings[:, ~out], support.labels[:, ~out], support.way)
        scores[:, out] = classifier.fit(shown).logits(support.embeddings[:, out])
    return scores
