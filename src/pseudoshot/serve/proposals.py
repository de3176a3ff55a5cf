"""Groups of alike images, each of which may be a class nobody has named yet."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.cluster import MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning

from pseudoshot.serve.embeddings import TINY, Singles

SHOWN = 60  # images of a group, at most
FARTHEST = 0.25  # the part of all images that counts as unlike every example
SEED = 0


@dataclass(frozen=True)
class Group:
    images: list[int]  # the most typical first
    size: int


def propose(rows: Singles, numbers: npt.NDArray[np.int64], count: int) -> list[Group]:
    """The images of `numbers` in up to `count` groups by the direction of their embeddings."""
    if not len(numbers):
        return []
    chosen = rows[numbers]
    directions = chosen / np.linalg.norm(chosen, axis=1, keepdims=True).clip(TINY)
    groups = MiniBatchKMeans(min(count, len(numbers)), n_init=3, random_state=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of images that are the same
        groups.fit(directions)
    distances = np.linalg.norm(directions - groups.cluster_centers_[groups.labels_], axis=1)
    found = []
    for label in np.unique(groups.labels_):
        members = np.flatnonzero(groups.labels_ == label)
        typical = members[np.argsort(distances[members], kind="stable")][:SHOWN]
        found.append(Group(numbers[typical].tolist(), len(members)))
    return sorted(found, key=lambda group: -group.size)


def unlike_every_example(
    likeness: Singles, candidates: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The farthest quarter of the candidates, by the distance to the nearest class."""
    order = np.argsort(likeness[candidates], kind="stable")
    return np.sort(candidates[order[: int(np.ceil(FARTHEST * len(candidates)))]])
