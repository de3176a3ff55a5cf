"""The map of base and novel classes: what is chosen, and what is drawn."""

import numpy as np
import pytest
import torch

from pseudoshot.data import ImageSet
from pseudoshot.report.embedding_map import CLASSES, IMAGES, choose, map_svg
from pseudoshot.tools.errors import PseudoshotError


def images(classes: int, each: int) -> ImageSet:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(classes), each))
    pixels = np.zeros((len(labels), 2, 2, 1), np.uint8)
    return ImageSet("toy", pixels, labels, tuple(map(str, range(classes))))


@pytest.mark.parametrize(("each", "shown"), [(60, IMAGES), (12, 12)])
def test_as_many_distinct_images_of_five_classes(each, shown):
    toy = images(9, each)
    chosen = choose(toy, seed=0)
    assert len(set(chosen.rows)) == len(chosen.rows) == CLASSES * shown
    of_class = [set(toy.labels[chosen.rows[chosen.classes == n]]) for n in range(CLASSES)]
    assert all(len(labels) == 1 for labels in of_class)
    assert len(set.union(*of_class)) == CLASSES
    assert set(choose(toy, seed=1).rows) != set(chosen.rows)


def test_fewer_classes_are_refused():
    with pytest.raises(PseudoshotError, match="a map shows 5 classes, and 'toy' has 4"):
        choose(images(4, 10), seed=0)


def test_circles_crosses_and_a_star_per_class():
    classes = np.repeat(np.arange(CLASSES), 4)
    table = torch.randn(40, 3, generator=torch.manual_seed(0))
    svg = map_svg(table[:20], classes, table[20:], classes, seed=0).decode()
    assert svg.count("<use ") == 2 * (20 + CLASSES)
    assert svg == map_svg(table[:20], classes, table[20:], classes, seed=0).decode()
