"""Small image sets in the layouts of the real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pseudoshot.data import decode
from pseudoshot.data.source import class_list


@pytest.fixture(autouse=True)
def _no_data_root(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "real_data" not in request.fixturenames:
        monkeypatch.delenv("PSEUDOSHOT_DATA", raising=False)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The files that have been decoded since the test began."""
    seen: list[object] = []
    original = decode.decode

    def spy(file: object, size: int, zoom: float = 1.0) -> np.ndarray:
        seen.append(file)
        return original(file, size, zoom)

    monkeypatch.setattr(decode, "decode", spy)
    return seen


def noise(seed: int, side: int = 12, channels: int = 3) -> np.ndarray:
    shape = (side, side, channels) if channels > 1 else (side, side)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def save(path: Path, pixels: np.ndarray, **options: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)
    return path


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Two classes of three colour images each."""
    for number in range(6):
        save(tmp_path / "photos" / ("cat", "dog")[number // 3] / f"{number}.png", noise(number))
    return tmp_path / "photos"


@pytest.fixture
def omniglot_folder(tmp_path: Path) -> Path:
    """Every character of the set, by one drawer: black ink on white, 1 bit, as the originals."""
    place = tmp_path / "folders" / "omniglot"
    names = [name for split in ("train", "val", "test") for name in class_list("omniglot", split)]
    rng = np.random.default_rng(0)
    for number, name in enumerate(names):
        part = "images_evaluation" if name.startswith(("Angelic", "ULOG")) else "images_background"
        save(place / part / name / f"{number:04d}_01.png", rng.random((9, 9)) < 0.9)
    return place
