"""Every task is legal, seeded, and drawn as SES says."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pseudoshot.tasks.tasks import exhaustive_tasks, resample_tasks
from pseudoshot.tools.distinct import sample_distinct


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(st.data())
def test_resampled_tasks_are_legal(data):
    C = data.draw(st.integers(1, 12))
    way = data.draw(st.integers(1, C))
    shot, query, count = (data.draw(st.integers(1, 4)) for _ in range(3))
    tasks = resample_tasks(C, way, shot, query, count, seeded(data.draw(st.integers(0, 99))))
    assert tasks.support.shape == (count, way, shot)
    assert tasks.query.shape == (count, way, query)
    V = shot + query
    for support, queries in zip(tasks.support, tasks.query, strict=True):
        rows = torch.cat([support, queries], 1)  # (N, V)
        classes = rows // V
        assert (classes == classes[:, :1]).all(), "a class's members come from one pseudo-class"
        assert len(set(classes[:, 0].tolist())) == way, "the classes of a task differ"
        assert all(sorted((row % V).tolist()) == list(range(V)) for row in rows), "a split of views"


def test_every_class_and_view_is_support_equally_often():
    C, V = 5, 3
    tasks = resample_tasks(C, 2, 1, 2, 30_000, seeded(0))
    counts = torch.bincount(tasks.support.flatten(), minlength=C * V)
    expected = 30_000 * 2 / (C * V)
    assert ((counts - expected).abs() < 5 * expected**0.5).all()


def test_the_split_of_one_class_does_not_tell_that_of_another():
    tasks = resample_tasks(2, 2, 1, 1, 10_000, seeded(0))
    views = tasks.support[:, :, 0] % 2
    same = (views[:, 0] == views[:, 1]).float().mean()
    assert abs(float(same) - 0.5) < 0.03


def test_same_seed_same_tasks():
    draws = [resample_tasks(8, 4, 1, 2, 10, seeded(seed)).support for seed in (0, 0, 1)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


@pytest.mark.parametrize("way", [0, 9])
def test_a_way_that_does_not_fit_is_refused(way):
    with pytest.raises(ValueError, match=r"way \d does not fit an episode of 8 images"):
        resample_tasks(8, way, 1, 1, 1, seeded(0))


def test_exhaustive_tasks_use_each_ordered_pair_of_views_once():
    C, V = 3, 4
    tasks = exhaustive_tasks(C, V)
    for c in range(C):
        pairs = {
            (int(s) % V, int(q) % V)
            for support, query in zip(tasks.support[:, c], tasks.query[:, c], strict=True)
            for s in support
            for q in query
        }
        assert pairs == {(s, q) for s in range(V) for q in range(V) if s != q}
        assert (tasks.support[:, c] // V == c).all()
        assert (tasks.query[:, c] // V == c).all()


@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(0, 99), st.data())
def test_sample_distinct_draws_distinct_members(counts, seed, data):
    k = data.draw(st.integers(1, min(counts)))
    drawn = sample_distinct(torch.tensor(counts), k, seeded(seed))
    for count, row in zip(counts, drawn.tolist(), strict=True):
        assert len(set(row)) == k
        assert all(0 <= member < count for member in row)


def test_sample_distinct_gives_every_ordered_pair_equally_often():
    drawn = sample_distinct(torch.full((40_000,), 4), 2, seeded(0))
    counts = torch.bincount(drawn[:, 0] * 4 + drawn[:, 1], minlength=16).view(4, 4)
    assert (counts.diagonal() == 0).all()
    expected = 40_000 / 12
    off_diagonal = counts[~torch.eye(4, dtype=torch.bool)]
    assert ((off_diagonal - expected).abs() < 5 * expected**0.5).all()


@given(st.integers(2, 4), st.integers(2, 5), st.integers(0, 100))
def test_a_task_takes_its_classes_from_one_partition(partitions, size, seed):
    generator = torch.Generator().manual_seed(seed)
    partition = torch.arange(partitions).repeat_interleave(size)
    partition = partition[torch.randperm(len(partition), generator=generator)]
    tasks = resample_tasks(len(partition), 2, 1, 2, 60, generator, partition)
    of_tasks = partition[tasks.support[:, :, 0] // 3]  # (T, N)
    assert (of_tasks == of_tasks[:, :1]).all()
    assert len(of_tasks.unique()) == partitions, "every partition has its turn"
    with pytest.raises(ValueError, match="does not fit"):
        resample_tasks(len(partition), size + 1, 1, 2, 3, generator, partition)
