"""The built-in set: its size, its ink, and how hard it is."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from pseudoshot.data import ImageSet, load
from pseudoshot.data.glyphs import TYPEFACES, alphabet, draw, typefaces_with


@pytest.mark.parametrize(
    ("split", "images", "classes", "fewest"), [("train", 7124, 483, 12), ("test", 1452, 121, 12)]
)
def test_its_size(split: str, images: int, classes: int, fewest: int) -> None:
    glyphs = load("glyphs", split=split)
    assert glyphs.images.shape == (images, 28, 28, 1)
    assert len(set(glyphs.classes)) == classes
    assert glyphs.class_counts().min() == fewest
    assert glyphs.class_counts().max() <= len(TYPEFACES) == 16


def test_classes_are_letters_by_name_and_case() -> None:
    names = load("glyphs:test").classes
    assert names[0] == "U+0531 ARMENIAN CAPITAL LETTER AYB"
    assert "U+0561 ARMENIAN SMALL LETTER AYB" in names
    assert not set(alphabet("train")) & set(alphabet("test"))
    assert "é" not in alphabet("train")


def test_ink_is_bright_on_dark_and_in_the_middle() -> None:
    images = load("glyphs:train").images[..., 0].astype(float)
    assert images.max((1, 2)).min() > 100
    assert np.median(images) == 0
    rows, columns = images.max(2) > 64, images.max(1) > 64
    for inked in (rows, columns):
        before, behind = inked.argmax(1), inked[:, ::-1].argmax(1)
        off_centre = np.abs(before - behind)  # in half pixels; the box holds the advance too
        assert np.quantile(off_centre, 0.97) <= 2
        assert off_centre.max() <= 7


def test_the_widest_letters_are_drawn_smaller_not_cut_off() -> None:
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    wide = 0
    for letter in ("Ѿ", "Ѩ", "Ѭ", "Ԙ", "Ǆ", "Щ", "ʩ"):
        for typeface in typefaces_with(letter):
            path = fonts / f"{typeface}.ttf"
            whole = {em: ink(letter, path, em) for em in range(12, 23)}
            em = max(em for em, (_, box) in whole.items() if box <= 28)
            assert draw(letter, path, 28).sum(dtype=float) == whole[em][0], (letter, typeface)
            wide += em < 22
    assert wide > 0


def ink(letter: str, typeface: Path, em: int) -> tuple[float, float]:
    """The ink of a letter with room to spare around its canvas, and the longer side of its box."""
    font = ImageFont.truetype(typeface, em, layout_engine=ImageFont.Layout.BASIC)
    left, top, right, bottom = font.getbbox(letter)
    roomy = Image.new("L", (100, 100))
    corner = (36 + (28 - left - right) / 2, 36 + (28 - top - bottom) / 2)
    ImageDraw.Draw(roomy).text(corner, letter, fill=255, font=font)
    return np.asarray(roomy).sum(dtype=float), max(right - left, bottom - top)


def accuracy(glyphs: ImageSet, way: int, tasks: int) -> float:
    """Of 1-shot tasks by the cosine of raw pixels, in percent."""
    rng = np.random.default_rng(0)
    z = glyphs.images.reshape(len(glyphs), -1).astype(np.float32)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    gram = z @ z.T
    of_class = np.arange(len(glyphs)).reshape(-1, 12)
    correct = []
    for _ in range(tasks):
        chosen = rng.permuted(of_class[rng.choice(len(of_class), way, replace=False)], axis=1)
        nearest = gram[chosen[:, 1:, None], chosen[None, None, :, 0]].argmax(2)
        correct.append(nearest == np.arange(way)[:, None])
    return 100 * float(np.mean(correct))


def test_raw_pixels_recognise_some_but_not_all() -> None:
    novel = load("glyphs:test")
    assert np.array_equal(novel.labels, np.repeat(np.arange(121), 12))
    assert accuracy(novel, way=5, tasks=1000) == pytest.approx(84.8, abs=1.5)
    assert accuracy(novel, way=20, tasks=200) == pytest.approx(68.2, abs=2.0)


def test_another_size() -> None:
    assert load("glyphs:test", size=20).images.shape == (1452, 20, 20, 1)
