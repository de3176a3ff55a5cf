"""The real image sets, where PSEUDOSHOT_DATA has them: sizes, and that a second load is quick."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pseudoshot.data import SOURCES, describe, load
from pseudoshot.data.source import data_roots

pytestmark = pytest.mark.real_data


@pytest.mark.parametrize(
    ("data", "classes", "shape"),
    [
        ("cifar-fs:test", 20, (12_000, 32, 32, 3)),
        ("fc100:val", 20, (12_000, 32, 32, 3)),
        ("omniglot:val", 172, (3_440, 28, 28, 1)),
        ("tiny-imagenet:test", 45, None),
        ("cub:test", 50, None),
    ],
)
def test_its_size(real_data: Path, data: str, classes: int, shape: tuple[int, ...] | None) -> None:
    name, split = data.split(":")
    source = SOURCES[name]
    place = source.locate(data_roots(real_data))
    if place is None:
        pytest.skip(f"{real_data} does not hold {data}")
    image_set = load(data, root=real_data)
    assert len(image_set.classes) == classes
    assert image_set.skipped == ()
    assert len(image_set) == source.count(place, split).images
    if shape is None:
        assert image_set.images.shape[1:] == (source.default_size, source.default_size, 3)
        assert image_set.class_counts().min() >= 40
    else:
        assert image_set.images.shape == shape
        assert len(np.unique(image_set.class_counts())) == 1
    assert np.array_equal(load(data, root=real_data).labels, image_set.labels)


def test_describe_finds_it(real_data: Path) -> None:
    rows = describe(real_data)
    assert any(row.place for row in rows if row.name != "glyphs")
