"""Class sources draw legal indices and an epoch of exemplars visits every image once."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pseudoshot.class_sources import CLASS_SOURCES
from pseudoshot.class_sources.exemplars import Exemplars
from pseudoshot.class_sources.labels import Labels, LabelsSettings
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.registry import PartSettings


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def exemplars(count: int) -> Exemplars:
    return Exemplars(PartSettings(), count, None, seeded())


def of_labels(labels: np.ndarray, seed: int = 0) -> Labels:
    return Labels(LabelsSettings(), len(labels), labels, seeded(seed))


@given(st.integers(1, 40), st.integers(1, 8), st.integers(1, 4))
def test_an_epoch_of_exemplars_visits_every_image_once(count, C, V):
    source = exemplars(count)
    if count < C:
        with pytest.raises(PseudoshotError, match=f"takes {C} images but there are {count}"):
            source.steps_per_epoch(C, V)
        return
    for _ in range(2):
        draws = [source.draw(C, V).rows for _ in range(source.steps_per_epoch(C, V))]
        assert all((rows == rows[:, :1]).all() for rows in draws), "one image V times"
        visited = torch.cat([rows[:, 0] for rows in draws]).tolist()
        assert len(visited) == len(set(visited)) == count // C * C, "the partial batch is dropped"


def test_two_epochs_have_different_orders():
    source = exemplars(50)
    assert not torch.equal(source.draw(50, 1).rows, source.draw(50, 1).rows)


def test_exemplars_continue_where_they_were():
    source = exemplars(10)
    source.draw(4, 2)
    state, random_state = source.state_dict(), source.generator.get_state()
    expected = [source.draw(4, 2).rows for _ in range(3)]
    restored = exemplars(10)
    restored.generator.set_state(random_state)
    restored.load_state_dict(state)
    assert all(torch.equal(rows, restored.draw(4, 2).rows) for rows in expected)


@given(st.lists(st.integers(2, 9), min_size=2, max_size=6), st.integers(0, 50))
def test_labels_draw_distinct_images_of_distinct_classes(counts, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    rows, classes, _ = of_labels(labels, seed).draw(2, 2)
    rows = rows.numpy()
    drawn = labels[rows]
    assert (drawn[:, 0] == classes.numpy()).all()
    assert (drawn == drawn[:, :1]).all()
    assert drawn[0, 0] != drawn[1, 0]
    assert all(len(set(row)) == 2 for row in rows.tolist())


def test_labels_refuse_what_the_set_cannot_give():
    source = of_labels(np.array([0, 0, 0, 1, 1]))
    with pytest.raises(PseudoshotError, match="takes 3 classes but the set has 2"):
        source.steps_per_epoch(3, 2)


def test_a_class_of_fewer_images_gives_each_as_often_as_the_others():
    source = of_labels(np.array([0, 0, 0, 1, 1, 2]))
    assert source.steps_per_epoch(3, 5) == 1
    rows, classes, _ = source.draw(3, 5)
    for drawn, kind in zip(rows.tolist(), classes.tolist(), strict=True):
        members = {0: {0, 1, 2}, 1: {3, 4}, 2: {5}}[kind]
        times = [drawn.count(member) for member in members]
        assert set(drawn) == members
        assert max(times) - min(times) <= 1


@pytest.mark.parametrize("name", CLASS_SOURCES)
def test_every_source_draws_what_it_says_and_goes_on_from_its_state(name):
    labels = np.repeat(np.arange(5), 6)
    kind = CLASS_SOURCES[name]
    fields = kind.Settings.model_fields
    chosen = {"from_run": "some", "partitions": 2, "k1": 5, "min_samples": 2}
    settings = kind.Settings(**{name: value for name, value in chosen.items() if name in fields})
    source, restored = (kind(settings, len(labels), labels, seeded()) for _ in range(2))
    assert kind.__doc__
    assert source.steps_per_epoch(4, 3) >= 1
    centres = 9 * torch.eye(5).repeat_interleave(6, 0)
    source.begin_epoch(lambda run=None: centres + torch.rand(30, 5, generator=seeded()), 4, 3)
    rows, classes, partition = source.draw(4, 3)
    assert rows.shape == (4, 3)
    assert classes.shape == (4,)
    assert int(classes.max()) < source.classes
    assert partition is None or partition.shape == (4,)
    restored.load_state_dict(source.state_dict())
    restored.generator.set_state(source.generator.get_state())
    assert torch.equal(source.draw(4, 3).rows, restored.draw(4, 3).rows)
