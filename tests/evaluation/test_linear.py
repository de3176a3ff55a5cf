"""Linear evaluation: folds, the choice of the penalty, and what is refused."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from pseudoshot.data import ImageSet
from pseudoshot.evaluation.linear import FOLDS, evaluate_linear
from pseudoshot.tools.errors import PseudoshotError


def images(counts: tuple[int, ...]) -> ImageSet:
    labels = np.repeat(np.arange(len(counts)), counts)
    pixels = np.zeros((len(labels), 2, 2, 1), np.uint8)
    return ImageSet("toy", pixels, labels, tuple(f"class{n}" for n in range(len(counts))))


def embeddings(labels: np.ndarray, apart: float, noise: int = 0) -> torch.Tensor:
    rng = np.random.default_rng(0)
    centres = apart * np.eye(labels.max() + 1)
    rows = centres[labels] + rng.normal(size=(len(labels), labels.max() + 1))
    return torch.from_numpy(np.hstack((rows, rng.normal(size=(len(labels), noise))))).float()


def test_classes_far_apart_are_told_and_noise_is_not():
    toy = images((20, 20, 20, 20))
    far = evaluate_linear(embeddings(toy.labels, 30), toy, "sns")
    assert far.results[0].accuracy == 100
    random = evaluate_linear(torch.randn(80, 5, generator=torch.manual_seed(0)), toy, "sns")
    assert random.results[0].accuracy < 50


def test_it_is_a_record_of_ten_tasks_of_all_classes():
    toy = images((20, 31, 20))
    result = evaluate_linear(embeddings(toy.labels, 3), toy, "sns", seed=3)
    assert (result.way, result.tasks, result.query) == (3, FOLDS, 2)
    assert result.results[0].shot == 18
    assert result.scores.shape == (1, FOLDS)
    assert result.scores.mean() == pytest.approx(result.results[0].accuracy, rel=1e-6)
    spread = 1.96 * result.scores.std() / FOLDS**0.5
    assert result.results[0].interval == pytest.approx(spread, rel=1e-5)
    assert result.classifier == "linear"
    assert "linear evaluation" in result.note


def test_the_penalty_is_chosen_within_the_nine_folds():
    """Few images and many useless numbers: the weakest penalty fits the noise."""
    toy = images((30, 30))
    table = embeddings(toy.labels, 2, noise=60)
    chosen = evaluate_linear(table, toy, "sns").results[0].accuracy
    rows, labels = table.double().numpy(), toy.labels
    order = np.random.default_rng(0).permutation(60)
    right = []
    for fold in np.array_split(order, FOLDS):
        others = np.setdiff1d(order, fold)
        weak = LogisticRegression(C=1e4, max_iter=1000).fit(rows[others], labels[others])
        right.append(weak.score(rows[fold], labels[fold]))
    assert chosen > 100 * np.mean(right)


def test_the_seed_draws_the_folds():
    toy = images((20, 20))
    table = embeddings(toy.labels, 1)
    first, again, other = (evaluate_linear(table, toy, "sns", seed=s).scores for s in (0, 0, 1))
    assert (first == again).all()
    assert (first != other).any()


def test_the_number_of_threads_changes_no_bit():
    toy, threads = images((20, 20, 20)), torch.get_num_threads()
    table = embeddings(toy.labels, 1)
    try:
        found = []
        for number in (1, 2):
            torch.set_num_threads(number)
            found.append(evaluate_linear(table, toy, "sns").scores)
    finally:
        torch.set_num_threads(threads)
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("counts", [(20, 9), (30,)])
def test_too_few_images_or_classes_are_refused(counts):
    toy = images(counts)
    with pytest.raises(PseudoshotError, match="a linear evaluation needs"):
        evaluate_linear(torch.zeros(len(toy), 2), toy, "sns")
