"""HEIC as phones take it: read where the extra is installed, and named where it is not."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pseudoshot.data import decode as decoding
from pseudoshot.data import load
from pseudoshot.data.decode import decode
from pseudoshot.tools.errors import PseudoshotError

from .conftest import noise, save

HINT = r"pip install 'pseudoshot\[heic\]' reads HEIC"


@pytest.fixture
def heic(tmp_path: Path) -> Path:
    """Brighter to the right."""
    pillow_heif = pytest.importorskip("pillow_heif")
    pillow_heif.register_heif_opener()
    ramp = np.repeat(np.linspace(0, 255, 96, dtype=np.uint8)[None, :, None], 64, 0)
    (tmp_path / "photos").mkdir()
    path = tmp_path / "photos" / "IMG_1.heic"
    Image.fromarray(np.repeat(ramp, 3, 2)).save(path, "HEIF", quality=90)
    return path


@pytest.fixture
def without_the_extra(heic: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    def forget() -> None:
        decoding.formats.cache_clear()
        decoding.extensions.cache_clear()

    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    forget()
    yield heic
    monkeypatch.undo()
    forget()
    decoding.formats()


def test_it_is_read(heic: Path) -> None:
    pixels = decode(heic, 32)
    assert pixels.shape == (32, 32, 3)
    assert (np.diff(pixels[16, ::8, 0].astype(int)) > 20).all()
    np.testing.assert_array_equal(pixels, decode(io.BytesIO(heic.read_bytes()), 32))
    np.testing.assert_array_equal(pixels, decoding.to_square(Image.open(heic), 32))
    assert load(str(heic.parent), size=32).files == ("IMG_1.heic",)


def test_without_the_extra_it_is_named(without_the_extra: Path) -> None:
    heic = without_the_extra
    for file in (heic, io.BytesIO(heic.read_bytes())):
        with pytest.raises(PseudoshotError, match=HINT):
            decode(file, 32)
    (heic.parent / "fake.heic").write_bytes(b"no image at all")
    save(heic.parent / "a.png", noise(1))
    skipped = load(str(heic.parent), size=8).skipped
    assert skipped[0] == "IMG_1.heic: pip install 'pseudoshot[heic]' reads HEIC"
    assert skipped[1] == "fake.heic: not an image"


def test_it_is_read_once_the_extra_is_there(heic: Path) -> None:
    save(heic.parent / "a.png", noise(1))
    decoding.extensions()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(decoding, "formats", lambda: ("PNG",))
        assert load(str(heic.parent), size=8).files == ("a.png",)
    assert load(str(heic.parent), size=8).files == ("IMG_1.heic", "a.png")


def test_a_damaged_one_is_refused(heic: Path) -> None:
    with pytest.raises(PseudoshotError):
        decode(io.BytesIO(heic.read_bytes()[: heic.stat().st_size // 2]), 32)
