"""Base and novel classes on one map, by t-SNE: Figure "T-SNE visualization" of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pseudoshot.data import ImageSet
from pseudoshot.report.markup import image, section, short_name, text
from pseudoshot.report.pictures import data_uri
from pseudoshot.report.plots import as_svg, colour, new_plot
from pseudoshot.tools.distinct import sample_distinct
from pseudoshot.tools.errors import PseudoshotError

CLASSES, IMAGES = 5, 40  # of each kind, and of each class at most


@dataclass(frozen=True)
class Chosen:
    """Some images of some classes: rows of a set, and the position of each one's class."""

    rows: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]


def choose(images: ImageSet, seed: int) -> Chosen:
    """Five classes at random, forty images of each, or as many as there are."""
    counts = torch.from_numpy(images.class_counts())
    possible = (counts > 0).nonzero()[:, 0]
    if len(possible) < CLASSES:
        raise PseudoshotError(
            f"a map shows {CLASSES} classes, and '{images.name}' has {len(possible)}"
        )
    generator = torch.Generator().manual_seed(seed)
    classes = possible[sample_distinct(torch.tensor(len(possible)), CLASSES, generator)]
    each = min(IMAGES, int(counts[classes].min()))
    assert images.labels is not None
    by_class = np.argsort(images.labels, kind="stable")
    members = sample_distinct(counts[classes], each, generator)
    rows = by_class[((counts.cumsum(0) - counts)[classes][:, None] + members).numpy()]
    return Chosen(rows.ravel(), np.repeat(np.arange(CLASSES), each))


def map_svg(
    base: Tensor,
    base_classes: npt.NDArray[np.int64],
    novel: Tensor,
    novel_classes: npt.NDArray[np.int64],
    seed: int,
) -> bytes:
    """One joint map of the embeddings: circles of base classes, crosses of novel ones, and a star
    at the mean of each class on the map."""
    from sklearn.manifold import TSNE

    joint = torch.cat((base, novel)).numpy()
    perplexity = min(30.0, (len(joint) - 1) / 3)
    places = TSNE(perplexity=perplexity, random_state=seed % 2**32).fit_transform(joint)
    plot, axes = new_plot(5.2, 4.4)
    kinds = (
        ("o", places[: len(base)], base_classes, 0),
        ("x", places[len(base) :], novel_classes, CLASSES),
    )
    for marker, points, classes, shift in kinds:
        for position in range(CLASSES):
            own, its_colour = points[classes == position], colour(position + shift)
            axes.scatter(*own.T, s=14, marker=marker, color=its_colour, linewidths=1, alpha=0.8)
            axes.scatter(
                *own.mean(0), s=190, marker="*", color=its_colour, edgecolors="black", zorder=3
            )
    axes.set(xticks=[], yticks=[])
    axes.spines[["left", "bottom"]].set_visible(False)
    return as_svg(plot)


def map_section(svg: bytes, base: str, novel: str) -> str:
    """For a run's page."""
    lead = (
        f"Circles are images of {CLASSES} classes of {text(short_name(base))}, which the network "
        f"was trained on, crosses of {CLASSES} classes of {text(short_name(novel))}, which it "
        f"never saw; a colour is a class, a star its centre. Near on the map (t-SNE) is near in "
        f"the embedding. Classes and images were drawn at random, not picked."
    )
    return section("A map of old and new classes", lead, map_picture(svg))


def map_picture(svg: bytes) -> str:
    return image(data_uri("image/svg+xml", svg), "t-SNE map of embeddings", "map")
