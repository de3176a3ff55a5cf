"""Clusters of images that are near each other both ways, found anew every few epochs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field, PositiveInt
from sklearn.cluster import DBSCAN
from torch import Tensor

from pseudoshot.class_sources.base import ClassSource, Draw, Embed
from pseudoshot.class_sources.groups import Groups
from pseudoshot.class_sources.reciprocal import graph_of, memberships, nearest_pairs, neighbours
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.registry import PartSettings

# The authors' ρ for up to so many images; below the first and above the last, as many pairs per
# image as there.
_RHO = {
    **{2_000: 1.7e-3, 6_000: 1.7e-3, 8_000: 1.5e-3, 10_000: 1.3e-3},
    **{12_000: 1.1e-3, 14_000: 9e-4, 16_000: 7e-4, 24_000: 5e-4},
}
FEWEST = 2  # clusters: an image must be told from some other
MOST_PAIRS = 1 << 27  # that are kept: 3 GB, 20 times what a million images take by default


class ReciprocalClustersSettings(PartSettings):
    round_epochs: PositiveInt = Field(default=5, le=10**9)
    """epochs after which clusters are found anew: a hundred make the authors' twenty rounds"""
    k1: int = Field(default=20, ge=2, le=1000)
    """nearest images among which reciprocal neighbours are looked for"""
    k2: PositiveInt = Field(default=6, le=1000)
    """nearest images, itself the first, over which an image's neighbourhood is averaged"""
    rho: float | None = Field(default=None, gt=0, le=1)
    """the part of all pairs, the nearest, whose mean distance is DBSCAN's radius: where not given
    the authors', from 0.0017 below 6,000 images to 0.0005 above 16,000; below 2,000 more and above
    24,000 less, so that it is as many pairs per image"""
    min_samples: PositiveInt = Field(default=4, le=10**6)
    """images within that radius, itself one, that make an image the core of a cluster"""


class ReciprocalClusters(ClassSource):
    """C clusters of images near each other both ways, V distinct images of each; in rounds.

    UFLST (Ji et al. 2019): every round, DBSCAN of the Jaccard distance of the k-reciprocal
    neighbours, in the embedding as it is then. Noise and clusters with fewer than V images are left
    out; where fewer than C are left, an episode has as many. Clusters are drawn at random, where
    the authors' epoch takes each once.
    """

    Settings = ReciprocalClustersSettings
    looks = True

    def __init__(
        self,
        settings: ReciprocalClustersSettings,
        count: int,
        labels: npt.NDArray[np.int64] | None,
        generator: torch.Generator,
    ) -> None:
        super().__init__(settings, count, labels, generator)
        self.epochs = 0  # begun
        self._hold(torch.full((count,), -1))

    def _hold(self, of: Tensor) -> None:
        """The cluster of every image, (n,), or -1."""
        self.of, self.groups = of, Groups(of)

    @property
    def classes(self) -> int:
        """At most: each has two images or more."""
        return self.count // 2

    @property
    def scalars(self) -> dict[str, float]:
        return {
            "round": -(-self.epochs // self.settings.round_epochs),
            "clusters": len(self.groups.counts),
            "clustered": len(self.groups.members) / self.count,
        }

    def steps_per_epoch(self, C: int, V: int) -> int:
        pairs = (self.settings.rho or 0.0) * self.count**2 / 2
        if pairs > MOST_PAIRS:
            raise PseudoshotError(
                f"--rho {self.settings.rho} of {self.count:,} images are {pairs:,.0f} pairs, above "
                f"the limit of {MOST_PAIRS:,}: lower it, or leave it out"
            )
        if self.count < max(self.settings.k1 + 1, FEWEST * V):
            raise PseudoshotError(
                f"{self.count} images are too few to train on by their {self.settings.k1} nearest, "
                f"in clusters of {V}: add images, or lower --k1"
            )
        return max(1, self.count // (C * V))

    def begin_epoch(self, embed: Embed, C: int, V: int) -> None:
        if self.epochs % self.settings.round_epochs == 0:
            self._hold(self._clusters(embed(), V))
        self.epochs += 1

    def _clusters(self, embeddings: Tensor, V: int) -> Tensor:
        settings = self.settings
        near = memberships(embeddings, neighbours(embeddings, settings.k1), settings.k2)
        epsilon, pairs = nearest_pairs(near, settings.rho or usual_rho(self.count))
        dbscan = DBSCAN(eps=epsilon, min_samples=settings.min_samples, metric="precomputed")
        of = torch.from_numpy(dbscan.fit_predict(graph_of(pairs, self.count)))
        large = torch.bincount(of[of >= 0]) >= V
        if int(large.sum()) < FEWEST:
            raise PseudoshotError(
                f"of {self.count} images {len(large)} clusters were made, {int(large.sum())} of "
                f"them with the {V} images that an episode takes of each: give another --rho than "
                f"{settings.rho or usual_rho(self.count):.2g}, or take fewer images of each"
            )
        numbers = torch.where(large, large.cumsum(0) - 1, -1)
        return torch.where(of >= 0, numbers[of], -1)

    def draw(self, C: int, V: int) -> Draw:
        classes = torch.randperm(len(self.groups.counts), generator=self.generator)[:C]
        return Draw(self.groups.draw(classes, V, self.generator), classes)

    def state_dict(self) -> dict[str, Any]:
        return {"of": self.of, "epochs": self.epochs}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._hold(state["of"])
        self.epochs = state["epochs"]


def round_epochs(settings: PartSettings) -> int | None:
    """Epochs after which a class source finds clusters anew; None: never."""
    return settings.round_epochs if isinstance(settings, ReciprocalClustersSettings) else None


def usual_rho(count: int) -> float:
    """The part of the pairs of so many images.

    >>> usual_rho(1_000), usual_rho(7_000), usual_rho(48_000)
    (0.0034, 0.0015, 0.00025)
    """
    least, most = min(_RHO), max(_RHO)
    nearest = next(bound for bound in _RHO if bound >= min(count, most))
    return _RHO[nearest] * max(1.0, least / count) * min(1.0, most / count)
