"""Class sources draw legal indices and an epoch of exemplars visits every image once."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pseudoshot.class_sources import Exemplars, Labels
from pseudoshot.tools.errors import PseudoshotError


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(st.integers(1, 40), st.integers(1, 8), st.integers(1, 4))
def test_an_epoch_of_exemplars_visits_every_image_once(count, C, V):
    source = Exemplars(count, seeded())
    if count < C:
        with pytest.raises(PseudoshotError, match=f"takes {C} images but there are {count}"):
            source.steps_per_epoch(C, V)
        return
    for _ in range(2):
        draws = [source.draw(C, V) for _ in range(source.steps_per_epoch(C, V))]
        assert all((rows == rows[:, :1]).all() for rows in draws), "one image V times"
        visited = torch.cat([rows[:, 0] for rows in draws]).tolist()
        assert len(visited) == len(set(visited)) == count // C * C, "the partial batch is dropped"


def test_two_epochs_have_different_orders():
    source = Exemplars(50, seeded())
    assert not torch.equal(source.draw(50, 1), source.draw(50, 1))


def test_exemplars_continue_where_they_were():
    generator = seeded()
    source = Exemplars(10, generator)
    source.draw(4, 2)
    state, random_state = source.state_dict(), generator.get_state()
    expected = [source.draw(4, 2) for _ in range(3)]
    restored = Exemplars(10, torch.Generator())
    restored.generator.set_state(random_state)
    restored.load_state_dict(state)
    assert all(torch.equal(rows, restored.draw(4, 2)) for rows in expected)


@given(st.lists(st.integers(2, 9), min_size=2, max_size=6), st.integers(0, 50))
def test_labels_draw_distinct_images_of_distinct_classes(counts, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    rows = Labels(labels, seeded(seed)).draw(2, 2).numpy()
    drawn = labels[rows]
    assert (drawn == drawn[:, :1]).all()
    assert drawn[0, 0] != drawn[1, 0]
    assert all(len(set(row)) == 2 for row in rows.tolist())


def test_labels_refuse_what_the_set_cannot_give():
    source = Labels(np.array([0, 0, 0, 1, 1]), seeded())
    with pytest.raises(PseudoshotError, match="takes 3 classes but the set has 2"):
        source.steps_per_epoch(3, 2)
    with pytest.raises(PseudoshotError, match="smallest class has 2"):
        source.steps_per_epoch(2, 3)
