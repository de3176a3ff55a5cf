"""Adapting a trained network to images of one's own, so that it does not get worse."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pseudoshot.class_sources import CLASS_SOURCES
from pseudoshot.classifiers import Support, build_classifier
from pseudoshot.data import ImageSet
from pseudoshot.embedders import Embedder
from pseudoshot.evaluation.few_shot import mean_and_interval
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tasks.similarity import Similarity
from pseudoshot.tools.registry import Settings

LOOKED_AT = 500  # images whose neighbours are compared, at most
NEIGHBOURS = 10  # of each of them
SHOWN_PER_CLASS = 20  # labelled images that tell those held out, at most
# Percent of them that must stay. Strict: with 85 and 86 a network had lost two points (results).
SAME = 95.0


def adapts(settings: RunSettings) -> bool:
    """Whether a trained network goes on without labels."""
    labelled = CLASS_SOURCES[settings.class_source.name].needs_labels
    goes_on = settings.start_from is not None and not settings.method.network_stays
    return goes_on and not labelled


class FixedBatchNorm(nn.BatchNorm2d):
    """Statistics stay as they are, in training too; scale and shift are learnt."""

    def train(self, mode: bool = True) -> FixedBatchNorm:
        super().train(False)
        return self


def fix_statistics(module: nn.Module) -> None:
    """Of every BatchNorm2d inside; weights and names stay as they are.

    Those of views, which are smaller and of stronger colours, are not those of images at test.
    """
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.__class__ = FixedBatchNorm
            part.train()


def weights_digest(embedder: Embedder) -> str:
    """Of all that is learnt: whether a start is still what it was."""
    digest = hashlib.sha256()
    for name, value in sorted(embedder.weights().items()):
        digest.update(name.encode())
        digest.update(value.cpu().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def same_neighbours(start: Tensor, end: Tensor) -> float:
    """Percent of the nearest neighbours of each image, by its embedding in (n, d), that stay."""
    near = [_nearest(embeddings) for embeddings in (start, end)]
    same = near[0][:, :, None] == near[1][:, None, :]
    return 100 * float(same.any(2).double().mean())


def _nearest(embeddings: Tensor) -> Tensor:
    """(n, NEIGHBOURS) rows: by the cosine about the mean of all."""
    directions = F.normalize(embeddings, dim=1)
    directions = F.normalize(directions - directions.mean(0), dim=1)
    likeness = (directions @ directions.T).fill_diagonal_(-2)
    return likeness.topk(min(NEIGHBOURS, len(embeddings) - 1)).indices


class Verdict(Settings):
    """Which of start and end is the run's model, and by which figures."""

    kept: Literal["start", "end"]
    start: float  # percent right at tasks made of views of the images held out
    end: float
    gain: float  # of the end, in points
    interval: float  # half-width of its 95 % interval over those images
    neighbours_kept: float | None = None  # percent that stay; asked of a start that knows more
    by_labels: bool = False  # right: told by the images trained on, as their labels say

    @property
    def in_words(self) -> str:
        told_by = "told by those trained on" if self.by_labels else "no labels"
        scores = (
            f"validation accuracy (held-out images, {told_by}) {self.start:.1f} % at the start, "
            f"{self.end:.1f} % at the end, a gain of {self.gain:.1f} ± {self.interval:.1f}"
        )
        if self.neighbours_kept is not None:
            scores += f"; {self.neighbours_kept:.0f} % of nearest neighbours stay, {SAME:.0f} must"
        if self.kept == "end":
            return f"kept: the {'fine-tuned' if self.by_labels else 'adapted'} network ({scores})"
        what = "fine-tuning" if self.by_labels else "adapting"
        return f"kept: the start as it was, {what} did not {self._surely}help ({scores})"

    @property
    def _surely(self) -> str:
        return "surely " if self.by_labels or self.neighbours_kept is not None else ""


def told_by_labels(
    embed: Callable[[ImageSet], Tensor], shown: ImageSet, queries: ImageSet, similarity: Similarity
) -> Tensor:
    """Percent right of each query (n,), by the nearest mean of the images shown of each class."""
    assert shown.labels is not None
    assert queries.labels is not None
    classes, labels = np.unique(shown.labels, return_inverse=True)
    support = Support(embed(shown)[None], torch.from_numpy(labels)[None], len(classes))
    nearest = build_classifier("prototype", similarity).fit(support)
    found = classes[nearest.logits(embed(queries)[None])[0].argmax(1).numpy()]
    return 100 * torch.from_numpy(found == queries.labels).double()


def judge(start: Tensor, end: Tensor, neighbours: float | None, by_labels: bool = False) -> Verdict:
    """From the accuracy of each held-out image, (n,), before and after.

    Of a network that learnt to tell views apart, then and now, the better one is kept. One that
    knows more can become better at that while it forgets what images of one kind have in common:
    the end must be better by more than chance explains, and `neighbours` must stay too. So it must
    with labels, of which few may be held out: of 20, a gain of 5 points was a loss on other images.
    """
    gain, interval = mean_and_interval(end - start)
    least = interval if by_labels or neighbours is not None else 0.0
    better = gain > least and (neighbours is None or neighbours >= SAME)
    return Verdict(
        kept="end" if better else "start",
        start=float(start.mean()),
        end=float(end.mean()),
        gain=gain,
        interval=interval,
        neighbours_kept=neighbours,
        by_labels=by_labels,
    )
