"""The protocol equals a plain loop, intervals the formula; impossible tasks are refused."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pseudoshot.classifiers import build_classifier
from pseudoshot.data import ImageSet
from pseudoshot.evaluation import check_tasks, evaluate_embeddings, few_shot
from pseudoshot.evaluation.few_shot import NovelTasks, TaskSampler, score_tasks
from pseudoshot.tasks.similarity import SIMILARITIES
from pseudoshot.tools.errors import PseudoshotError
from tests.core.reference import slow_similarity


def labelled(counts: list[int], seed: int = 0) -> ImageSet:
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    images = np.zeros((len(labels), 4, 4, 1), np.uint8)
    return ImageSet("toy", images, labels, tuple(f"class {c}" for c in range(len(counts))))


@given(st.lists(st.integers(3, 9), min_size=2, max_size=6), st.integers(0, 99))
def test_tasks_are_of_distinct_classes_and_images(counts, seed):
    images = labelled(counts, seed)
    tasks = TaskSampler(images).draw(2, 1, 2, 20, torch.Generator().manual_seed(seed))
    rows = torch.cat([tasks.support, tasks.query], 2).numpy()  # (T, N, K+Q)
    labels = images.labels[rows]
    assert (labels == labels[..., :1]).all()
    assert (labels[:, 0, 0] != labels[:, 1, 0]).all()
    assert all(len(set(members)) == 3 for task in rows.tolist() for members in task)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_scores_equal_a_plain_loop(similarity, monkeypatch):
    monkeypatch.setattr(few_shot, "_FLOATS_A_BATCH", 100)  # several batches
    images = labelled([8, 9, 10, 11])
    z = torch.rand(len(images), 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    tasks = TaskSampler(images).draw(3, 2, 4, 13, torch.Generator().manual_seed(1))
    expected = []
    for support, query in zip(tasks.support, tasks.query, strict=True):
        prototypes = [z[rows].mean(0) for rows in support]
        right = []
        for label, rows in enumerate(query):
            for row in rows:
                logits = [slow_similarity(similarity, z[row], p) for p in prototypes]
                right.append(float(int(torch.stack(logits).argmax()) == label))
        expected.append(sum(right) / len(right))
    scores = score_tasks(z, tasks, build_classifier("prototype", similarity))
    torch.testing.assert_close(scores, torch.tensor(expected, dtype=torch.float64))


def test_mean_and_interval_are_those_of_the_protocol():
    images = labelled([30] * 6)
    z = torch.rand(len(images), 3, generator=torch.Generator().manual_seed(0))
    result = evaluate_embeddings(
        z, images, build_classifier("prototype"), way=5, shots=(1, 5), query=15, tasks=400, seed=3
    )
    tasks = TaskSampler(images).draw(5, 5, 15, 400, torch.Generator().manual_seed(3))
    scores = 100 * score_tasks(z, tasks, build_classifier("prototype")).numpy()
    five = result.results[1]
    assert five.shot == 5
    assert five.accuracy == pytest.approx(scores.mean())
    assert five.interval == pytest.approx(1.96 * scores.std() / 20)
    assert 10 < five.accuracy < 30, "random embeddings are at chance"


def test_a_perfect_embedding_scores_100():
    images = labelled([20] * 5)
    z = torch.eye(5)[torch.from_numpy(images.labels)]
    classifier = build_classifier("prototype", "euclidean")
    (result,) = evaluate_embeddings(z, images, classifier, shots=(5,), tasks=50).results
    assert result == few_shot.Accuracy(5, 100.0, 0.0)


def test_the_seed_decides_the_tasks():
    sampler = TaskSampler(labelled([20] * 5))
    first, same, other = (
        sampler.draw(5, 1, 5, 30, torch.Generator().manual_seed(seed)).query for seed in (0, 0, 1)
    )
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_default_shots_are_those_the_set_allows():
    assert check_tasks(labelled([20, 21, 22, 23, 24]), 5, None, 15, 1, 0) == (1, 5)
    assert check_tasks(labelled([65] * 5), 5, None, 15, 1, 0) == (1, 5, 20, 50)


@pytest.mark.parametrize(
    ("way", "shots", "query", "message"),
    [
        (6, (1,), 5, "6-way tasks need 6 classes but 'toy' has 5: lower --way to 5"),
        (5, (10, 1), 5, "10 shots and 5 queries need 15 images .* class 'class 2' of 'toy' has 12"),
        (5, None, 15, "1 shots and 15 queries need 16 images .* has 12"),
        (0, (1,), 5, "--way must be at least 1, not 0"),
        (5, (0,), 5, "--shot must be at least 1, not 0"),
    ],
)
def test_impossible_tasks_are_refused_with_their_numbers(way, shots, query, message):
    with pytest.raises(PseudoshotError, match=message):
        check_tasks(labelled([14, 15, 12, 20, 14]), way, shots, query, 10, 0)


@pytest.mark.parametrize(
    ("tasks", "seed", "message"),
    [
        (0, 0, "--tasks must be at least 1, not 0"),
        (1, -1, "--seed must be between 0 and .*, not -1"),
    ],
)
def test_impossible_draws_are_refused(tasks, seed, message):
    with pytest.raises(PseudoshotError, match=message):
        check_tasks(labelled([5, 5]), 2, (1,), 1, tasks, seed)


def test_a_set_without_labels_is_refused():
    images = labelled([5, 5]).without_labels()
    with pytest.raises(PseudoshotError, match="'toy' has no labels: put the images of each class"):
        check_tasks(images, 2, (1,), 1, 1, 0)


def test_tasks_keep_support_and_query_apart():
    tasks = TaskSampler(labelled([6, 6])).draw(2, 3, 3, 10, torch.Generator().manual_seed(0))
    assert isinstance(tasks, NovelTasks)
    for support, query in zip(tasks.support, tasks.query, strict=True):
        assert not set(support.flatten().tolist()) & set(query.flatten().tolist())
