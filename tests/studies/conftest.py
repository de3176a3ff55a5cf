"""The small studies, ready to be run and as they come out."""

from pathlib import Path

import pytest

from tests.studies.small import FIRST, SECOND, pictures, run


@pytest.fixture(scope="session", autouse=True)
def one_machine():
    """It takes seconds to measure how fast it is, in every new folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pseudoshot.studies.machines._yardstick_seconds_here", lambda: 0.1)
        yield


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Path:
    """Two studies that share a run, images to train on, and others to measure on."""
    folder = tmp_path_factory.mktemp("studies")
    (folder / "first.toml").write_text(FIRST)
    (folder / "second.toml").write_text(SECOND)
    pictures(folder / "train", 5, 12, seed=0)
    pictures(folder / "test", 5, 20, seed=1)
    return folder


@pytest.fixture(scope="session")
def finished(place) -> Path:
    run(place, "finished", "first", "second", seeds=2)
    return place / "finished"
