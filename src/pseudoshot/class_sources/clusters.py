"""Clusters: the images of one cluster of a run's embeddings are "the same"."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field, PositiveInt
from torch import Tensor

from pseudoshot.class_sources.base import ClassSource, Draw, Embed
from pseudoshot.class_sources.groups import Groups
from pseudoshot.class_sources.partitions import partitions, scalings, whitened
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.registry import PartSettings

USUAL_CLUSTERS = 500
TRIES = 4  # at a partition with enough clusters


class ClustersSettings(PartSettings):
    from_run: str | None = None
    """the run whose embeddings are clustered, trained on the same images: a folder or a bundled
    model; --from on the command line"""
    partitions: PositiveInt = Field(default=50, le=10_000)
    """P, partitions of all images: the first of embeddings as they are, each other one after every
    dimension was multiplied by a number drawn from U(0, 1)"""
    clusters: PositiveInt | None = None
    """k, clusters per partition: where not given 500, or fewer, so that the mean cluster has twice
    the images that an episode takes of one"""
    whitened: PositiveInt = 256
    """principal components of an embedding at most that are clustered, each of variance 1, all
    together of length 1"""


class Clusters(ClassSource):
    """C clusters of one partition of a run's embeddings, V distinct images of each.

    CACTUs (Hsu et al. 2018): k-means of whitened embeddings, in P scalings, before the first step;
    each from one start, as the authors' for MAML, who restart it ten times where P is 1. Of more
    than 10,000 images, k-means takes a part in each step, where theirs takes all. Clusters with
    fewer than V images are left out; a partition that is left with fewer than C is made again.
    Every draw takes another partition at random, so that all tasks of an episode have one, where
    the authors' draw one each.
    """

    Settings = ClustersSettings
    looks = True
    needs_run = True

    def __init__(
        self,
        settings: ClustersSettings,
        count: int,
        labels: npt.NDArray[np.int64] | None,
        generator: torch.Generator,
    ) -> None:
        super().__init__(settings, count, labels, generator)
        self._hold(torch.empty(0, count, dtype=torch.int32))

    def _hold(self, of: Tensor) -> None:
        """The cluster of every image in each partition, (P, n), or -1."""
        self.of = of
        first = self.most * torch.arange(len(of))[:, None]
        self.groups = Groups(torch.where(of >= 0, of + first, -1).flatten())

    @property
    def most(self) -> int:
        """Clusters per partition, large enough or not."""
        return self.settings.clusters or USUAL_CLUSTERS

    @property
    def classes(self) -> int:
        return int(self.settings.partitions * self.most)

    def clusters(self, V: int) -> int:
        """How many k-means is asked for."""
        return self.settings.clusters or min(USUAL_CLUSTERS, max(1, self.count // (2 * V)))

    def steps_per_epoch(self, C: int, V: int) -> int:
        clusters = self.clusters(V)
        if clusters > self.count:
            raise PseudoshotError(
                f"--clusters {clusters} is above the {self.count} images to train on: lower it"
            )
        if clusters < C:
            raise PseudoshotError(
                f"an episode takes {C} clusters of {V} images but {self.count} images are put into "
                f"{clusters}: lower --images, or give --clusters"
            )
        return max(1, self.count // (C * V))

    def begin_epoch(self, embed: Embed, C: int, V: int) -> None:
        if len(self.of) == 0:
            embeddings = whitened(embed(self.settings.from_run), self.settings.whitened)
            self._hold(self._partitions(embeddings, C, V))

    def _partitions(self, embeddings: Tensor, C: int, V: int) -> Tensor:
        clusters, dimensions = self.clusters(V), embeddings.shape[1]
        scales = scalings(self.settings.partitions, dimensions, self.generator)
        scales[0] = 1
        of = partitions(embeddings, scales, clusters, self.generator)
        for _ in range(TRIES - 1):
            again = (_large_enough(of, clusters, V) < C).nonzero()[:, 0]
            if len(again) == 0:
                break
            scales[again] = scalings(len(again), dimensions, self.generator)
            scales[0] = 1
            of[again] = partitions(embeddings, scales[again], clusters, self.generator)
        fewest = int(_large_enough(of, clusters, V).min())
        if fewest < C:
            raise PseudoshotError(
                f"an episode takes {C} clusters of {V} images, and of {clusters} clusters only "
                f"{fewest} have as many: lower --images or --clusters"
            )
        sizes = _sizes(of, clusters).gather(1, of.long())
        return torch.where(sizes >= V, of, -1)

    def draw(self, C: int, V: int) -> Draw:
        partition = torch.randint(len(self.of), (1,), generator=self.generator)
        first = self.most * int(partition)
        present = self.groups.counts[first : first + self.most].nonzero()[:, 0]
        chosen = torch.randperm(len(present), generator=self.generator)[:C]
        classes = first + present[chosen]
        rows = self.groups.draw(classes, V, self.generator) % self.count
        return Draw(rows, classes, partition.expand(C))

    def state_dict(self) -> dict[str, Any]:
        return {"of": self.of}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._hold(state["of"])


def _sizes(of: Tensor, clusters: int) -> Tensor:
    """Of the clusters of each partition, (P, k), from (P, n)."""
    return torch.stack([torch.bincount(one, minlength=clusters) for one in of])


def _large_enough(of: Tensor, clusters: int, V: int) -> Tensor:
    """How many clusters of each partition have V images or more: (P,)."""
    return (_sizes(of, clusters) >= V).sum(1)
