"""Partitions by k-means, and what is drawn from them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pseudoshot.class_sources import partitions as module
from pseudoshot.class_sources.clusters import Clusters, ClustersSettings
from pseudoshot.class_sources.distinct_clusters import DistinctClusters
from pseudoshot.class_sources.partitions import partitions, whitened
from pseudoshot.tools.errors import PseudoshotError


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def blobs(groups: int, each: int, d: int = 6) -> torch.Tensor:
    """Groups that nobody could take for one another, one after another."""
    centres = 20 * torch.randn(groups, d, generator=seeded(1))
    return centres.repeat_interleave(each, 0) + torch.randn(groups * each, d, generator=seeded(2))


def build(kind, embeddings: torch.Tensor, C: int, V: int, seed: int = 0, **options: object):
    chosen = ClustersSettings(**{"from_run": "some", "partitions": 3, **options})
    source = kind(chosen, len(embeddings), None, seeded(seed))
    assert source.steps_per_epoch(C, V) >= 1
    source.begin_epoch(lambda run=None: embeddings, C, V)
    return source


def test_whitening_equals_its_equations():
    z = torch.randn(30, 4, generator=seeded(), dtype=torch.float64) @ torch.randn(
        4, 4, generator=seeded(1), dtype=torch.float64
    )
    centred = z - z.mean(0)
    values, vectors = np.linalg.eigh((centred.T @ centred / 29).numpy())
    white = (centred.numpy() @ vectors / np.sqrt(values))[:, ::-1]
    expected = white[:, :3] / np.linalg.norm(white[:, :3], axis=1, keepdims=True)
    np.testing.assert_allclose(whitened(z, 3).abs().numpy(), np.abs(expected), rtol=1e-6)


def test_what_never_varies_is_left_out():
    z = torch.randn(30, 4, generator=seeded())
    silent = torch.cat((z, torch.zeros(30, 2), z[:, :1]), 1)
    assert whitened(silent, 256).shape == (30, 4)
    assert whitened(silent, 256).isfinite().all()


def test_embeddings_that_are_all_the_same_are_refused():
    with pytest.raises(PseudoshotError, match="all images have the same embedding"):
        whitened(torch.ones(30, 4), 256)


def test_groups_far_apart_are_the_clusters_of_every_partition(monkeypatch):
    for most in (module.MOST_AT_ONCE, 10):  # all at once, and in parts
        monkeypatch.setattr(module, "MOST_AT_ONCE", most)
        of = partitions(blobs(4, 15), torch.ones(2, 6), 4, seeded())
        for one in of.view(2, 4, 15):
            assert (one == one[:, :1]).all()
            assert len(one[:, 0].unique()) == 4


def test_the_first_partition_is_of_embeddings_as_they_are_and_the_others_scaled(monkeypatch):
    seen = []
    real = module.partitions
    monkeypatch.setattr(
        "pseudoshot.class_sources.clusters.partitions",
        lambda z, scales, k, g: seen.append(scales.clone()) or real(z, scales, k, g),
    )
    build(Clusters, blobs(4, 15), 2, 3, clusters=4)
    assert (seen[0][0] == 1).all()
    assert ((seen[0][1:] > 0) & (seen[0][1:] < 1)).all()
    assert len(seen[0].unique(dim=0)) == 3


def test_the_same_bits_on_any_number_of_threads():
    z = torch.randn(600, 8, generator=seeded())
    before, found = torch.get_num_threads(), []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(build(Clusters, z, 4, 3, partitions=4).of)
    torch.set_num_threads(before)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 20))
def test_a_draw_is_of_distinct_images_of_distinct_clusters_of_one_partition(C, V, seed):
    z = torch.randn(60, 5, generator=seeded(seed))
    source = build(Clusters, z, C, V, clusters=6, partitions=2)
    single = build(DistinctClusters, z, C, V, clusters=6, partitions=2)
    for _ in range(3):
        rows, classes, partition = source.draw(C, V)
        assert rows.shape == (C, V)
        assert len(set(classes.tolist())) == C
        assert len(set(partition.tolist())) == 1
        assert len(set(rows.flatten().tolist())) == C * V, "clusters of a partition are disjoint"
        own = source.of[partition[0]]
        assert (own[rows] == own[rows[:, :1]]).all()
        assert (own[rows[:, 0]] + source.most * partition == classes).all()
        assert int(classes.max()) < source.classes
        one = single.draw(C, V)
        assert (one.rows == one.rows[:, :1]).all()
        assert len(set(one.rows[:, 0].tolist())) == len(set(one.classes.tolist())) == C


def test_clusters_and_images_are_drawn_alike_often():
    source = build(Clusters, blobs(5, 8), 2, 3, clusters=5, partitions=2)
    classes, rows, parts = Counter(), Counter(), Counter()
    for _ in range(1500):
        drawn = source.draw(2, 3)
        classes.update(drawn.classes.tolist())
        rows.update(drawn.rows.flatten().tolist())
        parts.update(drawn.partition[:1].tolist())
    assert set(classes) == {*range(5), *range(source.most, source.most + 5)}
    for counter, expected in ((classes, 300), (rows, 225), (parts, 750)):
        assert all(abs(n - expected) < 5 * expected**0.5 for n in counter.values())


@pytest.mark.parametrize("V", [1, 3])
def test_with_every_image_a_cluster_of_its_own_clusters_are_exemplars(V):
    z = blobs(20, 1)
    source = build(DistinctClusters, z, 6, V, clusters=20, partitions=1)
    assert source.steps_per_epoch(6, V) == 20 // 6
    visited = set()
    for _ in range(50):
        rows = source.draw(6, V).rows
        assert (rows == rows[:, :1]).all()
        assert len(set(rows[:, 0].tolist())) == 6
        visited |= set(rows[:, 0].tolist())
    assert visited == set(range(20))
    if V == 1:  # of clusters, whose members are images and not views, the same
        rows = build(Clusters, z, 6, 1, clusters=20, partitions=1).draw(20, 1).rows
        assert sorted(rows[:, 0].tolist()) == list(range(20))


def test_clusters_that_are_too_small_are_left_out():
    z = torch.cat((blobs(4, 12), blobs(9, 1)[-2:] + 500))
    source = build(Clusters, z, 3, 5, clusters=6)
    counts = source.groups.counts
    assert counts[counts > 0].min() >= 5
    assert (source.of == -1).any()


def test_the_embeddings_of_the_run_are_asked_for_once():
    chosen, asked = ClustersSettings(from_run="that/run", partitions=2, clusters=4), []
    source = Clusters(chosen, 60, None, seeded())
    for _ in range(3):
        source.begin_epoch(lambda run=None: asked.append(run) or blobs(4, 15), 2, 3)
    assert asked == ["that/run"]


@pytest.mark.parametrize(
    ("options", "C", "V", "words"),
    [
        ({"clusters": 70}, 2, 1, "--clusters 70 is above the 60 images to train on"),
        ({"clusters": 3}, 4, 1, "takes 4 clusters of 1 images but 60 images are put into 3"),
        ({}, 11, 3, "takes 11 clusters of 3 images but 60 images are put into 10"),
        ({"clusters": 20}, 15, 5, r"of 20 clusters only \d+ have as many: lower --images or"),
    ],
)
def test_too_few_clusters_are_one_sentence(options, C, V, words):
    with pytest.raises(PseudoshotError, match=words):
        build(Clusters, torch.randn(60, 5, generator=seeded()), C, V, **options)


def test_the_first_partition_is_of_embeddings_as_they_are_however_often_it_is_made(monkeypatch):
    """The first time, all images are put into one cluster."""
    seen = []

    def at_second_try(embeddings, scales, clusters, generator):
        seen.append(scales.clone())
        images = torch.arange(len(embeddings), dtype=torch.int32)
        return (images % clusters if len(seen) > 1 else 0 * images).repeat(len(scales), 1)

    monkeypatch.setattr("pseudoshot.class_sources.clusters.partitions", at_second_try)
    build(Clusters, torch.randn(60, 5, generator=seeded()), 4, 3, clusters=6, partitions=3)
    assert len(seen) == 2
    assert all((scales[0] == 1).all() and (scales[1:] < 1).any() for scales in seen)


def test_the_usual_number_of_clusters_leaves_enough_images_in_each():
    for count, V, clusters in ((38_400, 6, 500), (6_768, 16, 211), (60, 3, 10), (3, 6, 1)):
        source = Clusters(ClustersSettings(from_run="some"), count, None, seeded())
        assert source.clusters(V) == clusters
