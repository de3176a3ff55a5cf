"""Confidence that means what it says: a temperature for a classifier's scores (Guo et al., 2017).

Where there are images without labels, it is the one at which their mean confidence is the share of
them that is expected to be right. Two things tell that share:

- Examples that were held out. They were told by fewer examples than there are, and one alone in its
  class cannot be held out at all.
- The images themselves. Each example is replaced by a random image that was given its label; what
  is fitted to these should say of the other images what was said before. Were the labels right,
  that agreement would be the accuracy of so many examples. Where images lie in groups about the
  examples it is high; where they do not, one example of a class says other things than the next,
  and both it and the accuracy are low. Mistakes that both make are not seen, the more so the more
  examples there are: three numbers take that into account, the same for all models and images.
  Groups that are not the classes are agreed upon as well: birds by their background, photos by a
  model of characters. From one example it is then too sure, as nothing tells; so the agreement
  counts for little as soon as examples can be held out.

Without such images the temperature is the likeliest by the examples held out, drawn towards one
that suited other tasks, in units of the scores' own spread.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax, softmax

from pseudoshot.classifiers import Classifier, Fitted, Support
from pseudoshot.sorting.held_out import GROWTH, HeldOut, Labels, odds_beyond_chance, scores_of
from pseudoshot.sorting.inputs import Floats

WIDEST = np.log(100.0)  # of the search, to both sides of the usual temperature
# Chosen on CIFAR-FS validation tasks of 5 and 10 classes, 1 to 20 examples: prototype, logistic
# and ridge.
USUAL = 0.8  # of the scores' spread
PRIOR = 5.0  # weight of the squared logarithm of the ratio to it

LOOKED_AT = 1_000  # images without labels, at most
FEWEST = 20  # of them, to say anything
DRAWS = 10  # times that examples are replaced
MOST_FLOATS = 1 << 24  # of embeddings in all draws: 128 MB
# Of odds of being right beyond chance. Fitted to tasks of 2, 5 and 15 classes with 1 to 5 examples
# of the validation splits of CIFAR-FS, FC100, Tiny ImageNet and Omniglot, four models.
FACTOR, POWER = 1.7, 1.5  # from agreement to accuracy
AS_GOOD_AS = 10  # so many examples held out weigh as much as the agreement
ENOUGH = 100  # examples held out, from which the agreement is not asked for


def choose_temperature(
    classifier: Classifier,
    fitted: Fitted,
    support: Support,
    held_out: HeldOut,
    images: Floats | None = None,
) -> float:
    """What `fitted`, to all examples, has its scores divided by; `images` (m, d) have no labels."""
    if images is not None and classifier.setting == "inductive":
        others = without(images, support.embeddings[0].numpy())
        if len(others) >= FEWEST:
            return _by_images(classifier, fitted, support, held_out, others)
    return _by_examples(fitted, support, held_out)


def some_rows(count: int, seed: int) -> npt.NDArray[np.int64]:
    """Of so many images, those that are looked at."""
    if count <= LOOKED_AT:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, LOOKED_AT, replace=False))


def without(images: Floats, examples: Floats) -> Floats:
    """The images that are not among the examples: of these nothing is to be told."""
    probe = np.random.default_rng(0).normal(size=images.shape[1])  # no two images share its sum
    return images[~np.isin((images * probe).sum(1), (examples * probe).sum(1))]


def _by_examples(fitted: Fitted, support: Support, held_out: HeldOut) -> float:
    """The likeliest, drawn towards the usual one."""
    usual = USUAL * _spread(scores_of(fitted, support.embeddings[0].numpy()))
    scores, labels = held_out.scores, held_out.labels
    if len(labels) == 0:
        return usual

    def cost(log_ratio: float) -> float:
        logs = log_softmax(scores / (usual * np.exp(log_ratio)), axis=1)
        surprise = -logs[np.arange(len(labels)), labels].sum()
        return float(surprise + PRIOR * log_ratio**2)

    best = minimize_scalar(cost, bounds=(-WIDEST, WIDEST), method="bounded")
    return usual * float(np.exp(best.x))


def _by_images(
    classifier: Classifier, fitted: Fitted, support: Support, held_out: HeldOut, images: Floats
) -> float:
    """The one at which images are as sure on average as they are expected to be right."""
    scores = scores_of(fitted, images)
    wanted = expected_accuracy(classifier, scores, support, held_out, images)
    spread = _spread(scores)

    def excess(log_ratio: float) -> float:
        confidences = softmax(scores / (spread * np.exp(log_ratio)), axis=1).max(1)
        return float(confidences.mean()) - wanted

    if excess(WIDEST) >= 0:  # less sure than this they cannot be
        return spread * float(np.exp(WIDEST))
    if excess(-WIDEST) <= 0:
        return spread * float(np.exp(-WIDEST))
    return spread * float(np.exp(brentq(excess, -WIDEST, WIDEST, xtol=1e-3)))


def expected_accuracy(
    classifier: Classifier, scores: Floats, support: Support, held_out: HeldOut, images: Floats
) -> float:
    """The share of images expected to be right, where these are their scores (m, N)."""
    if support.way == 1:
        return 1.0
    agreed = None
    if len(held_out.labels) < ENOUGH:
        agreed = agreement(classifier, scores.argmax(1), support, images)
    return expected_share(held_out, agreed, support.way, support.labels.shape[1])


def expected_share(held_out: HeldOut, agreed: float | None, way: int, shown: int) -> float:
    """The share expected to be right of what `shown` examples tell, by both that can be known."""
    count, weighed = len(held_out.labels), []
    if count:
        fewer = shown - count / held_out.parts  # examples that told a part of them
        right = (held_out.right + 0.5) / (count + 1)
        weighed.append((count, _raised(right, way, (shown / fewer) ** GROWTH)))
    if agreed is not None:
        factor = FACTOR / (shown / way) ** GROWTH
        weighed.append((AS_GOOD_AS, _raised(agreed, way, factor, POWER)))
    weights, shares = zip(*weighed, strict=True)
    return float(np.average(shares, weights=weights))


def agreement(classifier: Classifier, found: Labels, support: Support, images: Floats) -> float:
    """How often images are given the same labels (m,) by others in place of the examples."""
    n, d = support.embeddings.shape[1:]
    draws = max(1, min(DRAWS, MOST_FLOATS // (n * d)))
    labels, seen = torch.from_numpy(found), torch.from_numpy(images)
    by_label = labels.argsort(stable=True)
    counts = torch.bincount(labels, minlength=support.way)
    of_example = counts[support.labels[0]]  # images that it may be replaced by
    first = (counts.cumsum(0) - counts)[support.labels[0]]
    generator = torch.Generator().manual_seed(0)
    places = first + (torch.rand(draws, n, generator=generator) * of_example).long()
    rows = by_label[places.clamp_max(len(labels) - 1)]  # (draws, n)
    replaced = torch.where(of_example[:, None] > 0, seen[rows], support.embeddings)
    again = classifier.fit(Support(replaced, support.labels.expand(draws, -1), support.way))
    same = again.logits(seen.expand(draws, -1, -1)).argmax(2) == labels
    others = torch.ones_like(same).scatter_(1, rows, False)
    return float((same & others).sum() / others.sum().clamp_min(1))


def _raised(share: float, way: int, factor: float, power: float = 1.0) -> float:
    """A share that is right, its odds beyond chance to a power and times a factor."""
    odds = factor * odds_beyond_chance(share, way) ** power
    return float(1 / way + (1 - 1 / way) * odds / (1 + odds))


def _spread(scores: Floats) -> float:
    """The root mean square by which scores of an image differ from their mean; 1 for none."""
    spread = float(np.sqrt(np.square(scores - scores.mean(1, keepdims=True)).mean()))
    return spread or 1.0
