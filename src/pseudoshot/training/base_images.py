"""Which images of a set are trained on, and which are kept to tell what that is worth."""

from __future__ import annotations

import re

import numpy as np
import torch
from torch import Tensor

from pseudoshot.class_sources import CLASS_SOURCES, Draw
from pseudoshot.class_sources.labels import Labels
from pseudoshot.data import ImageSet
from pseudoshot.embedders import Embedder, load
from pseudoshot.readings import PLAIN
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.registry import PartSettings
from pseudoshot.training.processes import Team

FEWEST_HELD_OUT = 2  # a task has two classes at least
HELD_OUT = 256  # images kept from training at most
ONE_IN, ONE_LABELLED_IN = 20, 5  # of all: labels, where they are trained on, may be few


class BaseImages:
    """A set as a training sees it; every draw comes from the generator it was given."""

    def __init__(
        self, images: ImageSet, class_source: PartSettings, generator: torch.Generator
    ) -> None:
        self.images = images
        source = CLASS_SOURCES[class_source.name]
        if source.needs_labels:
            images.class_counts()  # refuses a set without labels
        held_out, self.rows = _hold_out(images, source.needs_labels, generator)
        self.held_out = images.take(held_out.numpy())
        labels = None if images.labels is None else images.labels[self.rows.numpy()]
        self.source = source(class_source, len(self.rows), labels, generator)

    def labelled(self, most: int) -> tuple[ImageSet, ImageSet]:
        """Images trained on, so many of a class at most, and as large a part of those held out as
        there are labels of each class: no other label is looked at."""
        assert isinstance(self.source, Labels)
        shown = self.rows[self.source.first_of_each(most)]
        count = max(FEWEST_HELD_OUT, round(self.source.settings.labels * len(self.held_out)))
        return self.images.take(shown.numpy()), self.held_out.take(
            np.arange(len(self.held_out))[:count]
        )

    def begin_epoch(self, embedder: Embedder, C: int, V: int, team: Team) -> None:
        """Let the class source look at the images trained on, through the network as it is now;
        what it sees is the backbone's output, however the run is read at test."""

        def embed(run: str | None = None) -> Tensor:
            network = embedder if run is None else trained_on_the_same(run, self.images)
            read = network.read_as(PLAIN).to(embedder.device)
            return team.agreed(read.embed(self.images, bar=False)[self.rows])

        self.source.begin_epoch(embed, C, V)

    def draw(self, C: int, V: int) -> Draw:
        """The next pseudo-classes, as indices into the image set."""
        drawn = self.source.draw(C, V)
        return drawn._replace(rows=self.rows[drawn.rows])


def trained_on_the_same(run: str, images: ImageSet) -> Embedder:
    """The embedding of a run of the same images, refused where they are others."""
    network = load(run)
    card = network.card
    if card.unfinished:
        raise PseudoshotError(
            f"the training of --from '{run}' has not finished, it is at {card.unfinished}: "
            f"continue it with --resume before its embeddings are clustered"
        )
    for what, theirs, ours in (
        ("channels", card.channels, images.channels),
        ("pixels a side", card.size, images.size),
    ):
        if theirs != ours:
            raise PseudoshotError(
                f"--from '{run}' was trained on images of {theirs} {what}, those of "
                f"'{images.name}' have {ours}: give a run of the same, or --pre-learn simclr"
            )
    last = re.split("; then |; a head beside it ", card.trained_on)[-1]
    if trained_on(images) not in (last, last.partition(" labels of ")[2]):
        raise PseudoshotError(
            f"--from '{run}' was trained on '{last}' and not on '{trained_on(images)}': give a run "
            f"of the same images, or train one first by --pre-learn simclr"
        )
    return network


def trained_on(images: ImageSet) -> str:
    """As a card says it."""
    return ", ".join(filter(None, (images.name, images.note)))


def held_out_of(count: int, labelled: bool = False) -> int:
    return min(HELD_OUT, count // (ONE_LABELLED_IN if labelled else ONE_IN))


def _hold_out(
    images: ImageSet, labelled: bool, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Rows kept from training, and rows to train on; where labels are trained on, one of every
    class at least."""
    order = torch.randperm(len(images), generator=generator)
    spare = torch.ones(len(images), dtype=torch.bool)
    if labelled:
        assert images.labels is not None
        spare = ~_last_of_each(torch.from_numpy(images.labels)[order])
    chosen = spare.nonzero()[:, 0][: held_out_of(len(images), labelled)]
    kept = torch.ones(len(images), dtype=torch.bool)
    kept[chosen] = False
    return order[chosen], order[kept].sort().values


def _last_of_each(labels: Tensor) -> Tensor:
    """Which positions are the last of their label.

    >>> _last_of_each(torch.tensor([0, 1, 1, 0]))
    tensor([False, False,  True,  True])
    """
    last = torch.zeros(int(labels.max()) + 1, dtype=torch.long)
    last.scatter_reduce_(0, labels, torch.arange(len(labels)), "amax")
    return last[labels] == torch.arange(len(labels))
