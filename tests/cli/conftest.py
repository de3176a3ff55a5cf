"""Images and examples of three kinds of trees."""

from __future__ import annotations

import pytest

from tests.pictures import draw_trees


@pytest.fixture(scope="module")
def support(tmp_path_factory):
    """Two examples per class."""
    folder = tmp_path_factory.mktemp("support")
    draw_trees(folder, 2, seed=1)
    return folder


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Five images per class, in folders of their names, one that is no image."""
    folder = tmp_path_factory.mktemp("images")
    draw_trees(folder, 5, seed=2)
    (folder / "broken.jpg").write_bytes(b"no image at all")
    return folder
