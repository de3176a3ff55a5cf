"""What a classifier is worth by its own examples, against holding each out by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.stats import binomtest

from pseudoshot.classifiers import build_classifier
from pseudoshot.sorting import FewShotClassifier
from pseudoshot.sorting.held_out import HeldOut, hold_out, support_of


@pytest.mark.parametrize("name", ["prototype", "ridge"])
def test_every_example_is_told_by_others_alone(name: str) -> None:
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 2)  # two of each: one is held out, one stays
    features = np.eye(3)[labels] + 0.3 * draw.normal(size=(6, 3))
    found = hold_out(build_classifier(name), support_of(features, labels, 3), seed=4)
    order = np.argsort(labels, kind="stable")
    assert found.labels.tolist() == labels[order].tolist()
    seen = []
    for part in (0, 1):
        for flipped in range(8):  # which of the two of each class: one of these was drawn
            chosen = [2 * c + ((flipped >> c & 1) ^ part) for c in range(3)]
            rest = [i for i in range(6) if i not in chosen]
            fitted = FewShotClassifier(classifier=name).fit(features[rest], labels[rest])
            weight = fitted.fitted_.weight[0].numpy()
            seen.append(features[chosen] @ weight.T + fitted.fitted_.bias[0].numpy())
    for row, label in zip(found.scores, found.labels, strict=True):
        assert any(np.allclose(row, scores[label]) for scores in seen)


@pytest.mark.parametrize(("right", "count"), [(0, 3), (2, 3), (9, 10), (10, 10), (31, 60)])
def test_the_interval_is_wilsons(right: int, count: int) -> None:
    scores = np.eye(2)[(np.arange(count) >= right).astype(int)]
    found = HeldOut(np.zeros(count, np.int64), scores)
    expected = binomtest(right, count).proportion_ci(method="wilson")
    assert found.right == right
    assert found.interval == pytest.approx((expected.low, expected.high), abs=1e-4)


def test_words_say_how_good_it_is_and_what_to_do_where_it_is_not() -> None:
    labels = np.array([0, 0, 0, 1, 1, 1])
    good = HeldOut(labels, np.eye(2)[labels])
    assert good.in_words(["cat", "dog"]) == "6 of 6 examples right when held out: 100 % (61 to 100)"
    poor = HeldOut(labels, np.eye(2)[[1, 1, 0, 1, 1, 0]]).in_words(["cat", "dog"], "a better one")
    assert "3 of 6 examples" in poor
    assert "cat taken for dog 2 times, dog taken for cat once" in poor
    assert "more examples alone would hardly bring it to 80 %: what would help is a better" in poor
    near = HeldOut(np.repeat(labels, 5), np.eye(2)[[0] * 23 + [1] * 7]).in_words(["cat", "dog"])
    assert re.search(r"about \d+ examples per class could bring it to 80 %.*pseudoshot train", near)
    none = HeldOut(labels[:0], np.empty((0, 2)))
    assert none.in_words(["cat", "dog"]).startswith("two examples of a class or more")


def test_one_example_of_each_class_can_not_be_held_out() -> None:
    fitted = FewShotClassifier().fit(np.eye(3), ["a", "b", "c"])
    assert len(fitted.held_out_.labels) == 0


def test_the_fewer_are_right_the_more_labels_are_needed() -> None:
    labels = np.repeat(np.arange(5), 4)
    wrong = [HeldOut(labels, np.eye(5)[(labels + (np.arange(20) < n)) % 5]) for n in (5, 6, 7)]
    needed = [found.labels_needed for found in wrong]
    assert 4 < needed[0] < needed[1] < needed[2]
    assert HeldOut(labels, np.eye(5)[(labels + 1) % 5]).labels_needed is None, "at chance"
