"""The Jaccard distance of k-reciprocal neighbours equals its equations in plain loops."""

from __future__ import annotations

import math
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN

from pseudoshot.class_sources import reciprocal
from pseudoshot.class_sources.reciprocal import (
    graph_of,
    memberships,
    nearest_pairs,
    neighbours,
    overlapping_pairs,
    reciprocal_sets,
)
from pseudoshot.class_sources.reciprocal_clusters import (
    ReciprocalClusters,
    ReciprocalClustersSettings,
    usual_rho,
)
from pseudoshot.tools.errors import PseudoshotError

K1, K2 = 6, 3


def points(n: int = 40, seed: int = 0) -> torch.Tensor:
    """Around a few centres, so that sets overlap and some images are near each other both ways."""
    generator = torch.Generator().manual_seed(seed)
    centres = 3 * torch.randn(4, 5, generator=generator, dtype=torch.float64)
    own = torch.arange(n) % 4
    return centres[own] + torch.randn(n, 5, generator=generator, dtype=torch.float64)


@cache
def slow_neighbours(z: torch.Tensor, i: int, k: int) -> list[int]:
    """Itself and its k nearest others."""
    others = [j for j in range(len(z)) if j != i]
    return [i, *sorted(others, key=lambda j: float(((z[i] - z[j]) ** 2).sum()))[:k]]


def slow_reciprocal(z: torch.Tensor, i: int, k: int) -> set[int]:
    return {j for j in slow_neighbours(z, i, k) if i in slow_neighbours(z, j, k)}


def slow_expanded(z: torch.Tensor, i: int, k1: int) -> set[int]:
    own = slow_reciprocal(z, i, k1)
    expanded = set(own)
    for candidate in own:
        theirs = slow_reciprocal(z, candidate, round(k1 / 2))
        if len(theirs & own) > 2 / 3 * len(theirs):
            expanded |= theirs
    return expanded


def slow_own_memberships(z: torch.Tensor, k1: int) -> list[list[float]]:
    n, rows = len(z), []
    for i in range(n):
        squares = [float(((z[i] - z[j]) ** 2).sum()) for j in range(n)]
        near = slow_expanded(z, i, k1)
        weights = [math.exp(-squares[j] / max(squares)) if j in near else 0.0 for j in range(n)]
        rows.append([w / sum(weights) for w in weights])
    return rows


def slow_memberships(z: torch.Tensor, k1: int, k2: int) -> list[list[float]]:
    own, n = slow_own_memberships(z, k1), len(z)
    averaged = []
    for i in range(n):
        near = slow_neighbours(z, i, k1)[:k2]
        averaged.append([sum(own[j][m] for j in near) / k2 for m in range(n)])
    return averaged


def slow_jaccard(V: list[list[float]]) -> np.ndarray:
    n = len(V)
    distances = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            shared = sum(min(V[i][m], V[j][m]) for m in range(n))
            distances[i, j] = 1 - shared / (2 - shared)
    return np.where(distances < 1e-12, 0, distances)


def dense(n: int, V) -> np.ndarray:
    """All distances, from the pairs that share something."""
    distances = np.ones((n, n))
    np.fill_diagonal(distances, 0)
    for rows, columns, values in overlapping_pairs(V):
        distances[rows, columns] = distances[columns, rows] = values
    return distances


@given(
    n=st.integers(12, 200),
    k=st.integers(1, 11),
    copies=st.integers(1, 30),
    at_once=st.sampled_from([1, 1 << 10, 1 << 22]),
    seed=st.integers(0, 99),
)
@settings(deadline=None)
def test_neighbours_are_the_nearest_of_all_whatever_the_blocks(n, k, copies, at_once, seed):
    """Rounded, so that squares and products are exact; copies, so that many are at distance 0."""
    z = points(n, seed).round(decimals=1)[torch.arange(n) // copies] * 10
    with patch.object(reciprocal, "DISTANCES_AT_ONCE", at_once):
        found = neighbours(z, k)
    assert found.nearest[:, 0].tolist() == list(range(n))
    squares = (z[:, None] - z).square().sum(2)
    assert torch.allclose(found.farthest, squares.amax(1))
    ordered = squares.fill_diagonal_(-1).sort().values[:, : k + 1]
    assert torch.allclose(squares.gather(1, found.nearest), ordered)
    assert all(len(set(row)) == k + 1 for row in found.nearest.tolist())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_everything_up_to_the_clusters_equals_a_loop(seed, monkeypatch):
    monkeypatch.setattr(reciprocal, "DISTANCES_AT_ONCE", 120)  # three rows at a time
    monkeypatch.setattr(reciprocal, "PAIRS_AT_ONCE", 50)
    z = points(seed=seed)
    n = len(z)
    found = neighbours(z, K1)
    assert found.nearest.tolist() == [slow_neighbours(z, i, K1) for i in range(n)]
    sets = reciprocal_sets(found.nearest).toarray()
    assert [set(row.nonzero()[0]) for row in sets] == [slow_expanded(z, i, K1) for i in range(n)]
    V, slow = memberships(z, found, K2), slow_memberships(z, K1, K2)
    np.testing.assert_allclose(V.toarray(), slow, rtol=1e-9, atol=1e-12)
    J = slow_jaccard(slow)
    np.testing.assert_allclose(dense(n, V), J, rtol=1e-9, atol=1e-12)
    for rho in (0.01, 0.1, 0.9):
        above = sorted(J[i, j] for i in range(n) for j in range(i + 1, n) if J[i, j] > 0)
        smallest = above[: max(1, round(rho * len(above)))]
        epsilon, pairs = nearest_pairs(V, rho)
        assert epsilon == pytest.approx(sum(smallest) / len(smallest), rel=1e-9)
        graph = graph_of(pairs, n)
        expected = np.where((epsilon >= J) & ~np.eye(n, dtype=bool), J, 0)
        np.testing.assert_allclose(graph.toarray(), expected, rtol=1e-9, atol=1e-12)
        sparse, whole = (
            DBSCAN(eps=epsilon, min_samples=4, metric="precomputed").fit_predict(distances)
            for distances in (graph, dense(n, V))
        )
        assert (sparse == whole).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(8, 40), st.integers(2, 7), st.integers(1, 5), st.integers(0, 99), st.booleans())
def test_memberships_are_distributions_and_distances_are_distances(n, k1, k2, seed, twins):
    z = points(n, seed).float()
    if twins:  # the same image twice, as photos may be
        z[1] = z[0]
    found = neighbours(z, k1)
    assert (found.nearest[:, 0] == torch.arange(n)).all()
    for averaged in (1, k2, k1 + 5):
        V = memberships(z, found, averaged)
        np.testing.assert_allclose(V.sum(1), 1)
        assert V.data.min() > 0
        J = dense(n, V)
        assert (J == J.T).all()
        assert (np.diag(J) == 0).all()
        assert J.min() >= 0
        assert J.max() <= 1


def test_copies_of_an_image_are_at_distance_zero_and_in_one_cluster():
    z = points(24).repeat_interleave(4, 0)
    V = memberships(z, neighbours(z, 8), 4)
    _, pairs = nearest_pairs(V, 0.05)
    together = {(i, j) for i, j in zip(pairs.rows, pairs.columns, strict=True)}
    assert {(i, j) for i in range(96) for j in range(i + 1, 96) if i // 4 == j // 4} <= together


def test_blocks_never_hold_all_pairs(monkeypatch):
    """What a block meets is bounded, unless one image alone meets more."""
    V = memberships(points(300), neighbours(points(300), 12), 6)
    whole = sum(len(block.rows) for block in overlapping_pairs(V))
    monkeypatch.setattr(reciprocal, "PAIRS_AT_ONCE", 3000)
    sizes = [len(block.rows) for block in overlapping_pairs(V)]
    assert sum(sizes) == whole
    assert len(sizes) > 3
    assert max(sizes) <= 3000


def source(n: int, **options: object) -> ReciprocalClusters:
    generator = torch.Generator().manual_seed(0)
    return ReciprocalClusters(ReciprocalClustersSettings(**options), n, None, generator)


def test_clusters_are_found_anew_every_round():
    made, seen = source(80, k1=10, round_epochs=2), []
    for epoch in range(4):
        made.begin_epoch(lambda run=None, e=epoch: seen.append(e) or points(80, e).float(), 4, 3)
        assert made.scalars["round"] == epoch // 2 + 1
    assert seen == [0, 2]
    assert made.scalars["clusters"] == len(made.groups.counts)


def test_an_episode_shrinks_to_the_clusters_there_are():
    made = source(80, k1=10)
    made.begin_epoch(lambda run=None: points(80).float(), 60, 3)
    found = made.of.unique()
    found = found[found >= 0].tolist()
    rows, classes, partition = made.draw(60, 3)
    assert 2 <= len(found) < 60
    assert sorted(classes.tolist()) == found
    assert partition is None
    assert all(len(set(row)) == 3 for row in rows.tolist())
    assert (made.of[rows] == classes[:, None]).all()


def test_too_few_clusters_and_too_few_images_are_one_sentence():
    with pytest.raises(PseudoshotError, match=r"of 80 images .* clusters .* give another --rho"):
        source(80, k1=10, rho=1e-6).begin_epoch(lambda run=None: points(80).float(), 4, 6)
    with pytest.raises(PseudoshotError, match="20 images are too few to train on by their 20"):
        source(20).steps_per_epoch(4, 6)


def test_a_rho_that_keeps_more_pairs_than_memory_holds_is_refused():
    assert source(10**6).steps_per_epoch(4, 6)
    with pytest.raises(PseudoshotError, match=r"--rho 0.001 of 1,000,000 images are 500,000,000"):
        source(10**6, rho=1e-3).steps_per_epoch(4, 6)


def test_the_usual_rho_is_the_authors_and_beyond_as_many_pairs_per_image():
    for count, rho in ((2_000, 1.7e-3), (6_000, 1.7e-3), (16_000, 7e-4), (16_001, 5e-4)):
        assert usual_rho(count) == rho
    assert usual_rho(10**6) * 10**6 == pytest.approx(usual_rho(24_000) * 24_000)
    assert usual_rho(500) * 500 == pytest.approx(usual_rho(2_000) * 2_000)
