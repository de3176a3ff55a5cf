"""glyphs: letters of the typefaces that come with matplotlib, so a set that needs no download."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
import numpy.typing as npt
import PIL
from matplotlib.ft2font import FT2Font
from PIL import Image, ImageDraw, ImageFont

from pseudoshot.data import cache
from pseudoshot.data.image_set import ImageSet
from pseudoshot.data.rows import Rows
from pseudoshot.data.source import Source, SplitCount

DEJAVU = (
    *(f"DejaVuSans{style}" for style in ("", "-Bold", "-Oblique", "-BoldOblique")),
    *(f"DejaVuSansMono{style}" for style in ("", "-Bold", "-Oblique", "-BoldOblique")),
    *(f"DejaVuSerif{style}" for style in ("", "-Bold", "-Italic", "-BoldItalic")),
)
STIX = ("STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic", "STIXGeneralBolIta")
TYPEFACES = (*DEJAVU, *STIX)

SCRIPTS = {"train": ("LATIN", "GREEK", "CYRILLIC"), "test": ("ARMENIAN", "GEORGIAN")}
LETTERS_BELOW = 0x2000  # the alphabets proper; above come symbols and scholars' extensions
FEWEST_TYPEFACES = 12
EM = 22 / 28  # of the canvas: nearly every letter fits, the few wider ones are drawn smaller


class Glyphs(Source):
    name = "glyphs"
    default_size = 28
    splits = ("train", "test")
    views = "typefaces"
    query = 7  # a letter has twelve typefaces
    how_to_get = "matplotlib, whose typefaces it is drawn from"

    def locate(self, roots: Sequence[Path]) -> Path | None:
        return Path(matplotlib.get_data_path()) / "fonts" / "ttf"

    def count(self, place: Path | None, split: str) -> SplitCount:
        letters = alphabet(split)
        images = sum(len(typefaces_with(letter)) for letter in letters)
        return SplitCount(split, len(letters), len(letters), images, published=False)

    def load(self, place: Path, split: str, size: int) -> ImageSet:
        def build(rows: Rows, _: cache.Before | None) -> cache.Contents:
            letters = alphabet(split)
            labels = []
            for label, letter in enumerate(letters):
                for typeface in typefaces_with(letter):
                    rows.append(draw(letter, place / f"{typeface}.ttf", size)[None, :, :, None])
                    labels.append(label)
            names = tuple(f"U+{ord(letter):04X} {unicodedata.name(letter)}" for letter in letters)
            return cache.Contents(np.array(labels, dtype=np.int64), names)

        version = f"{EM} {matplotlib.__version__} {PIL.__version__}"
        return cache.fetch(f"{self.name}:{split}", {"glyphs": split, "size": size}, version, build)


@functools.cache
def alphabet(split: str) -> tuple[str, ...]:
    """The letters of a split in code-point order; base letters are those that do not decompose.

    >>> len(alphabet("train")), len(alphabet("test"))
    (483, 121)
    """
    letters = (
        chr(code)
        for code in range(LETTERS_BELOW)
        if unicodedata.category(chr(code)).startswith("L")
        and unicodedata.name(chr(code)).startswith(SCRIPTS[split])
        and len(typefaces_with(chr(code))) >= FEWEST_TYPEFACES
    )
    if split == "train":  # accented forms decompose, and would be near-copies of their base letter
        letters = (letter for letter in letters if not unicodedata.decomposition(letter))
    return tuple(letters)


def typefaces_with(letter: str) -> list[str]:
    return [typeface for typeface in TYPEFACES if ord(letter) in _code_points(typeface)]


@functools.cache
def _code_points(typeface: str) -> frozenset[int]:
    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{typeface}.ttf"
    return frozenset(FT2Font(str(path)).get_charmap())


def draw(letter: str, typeface: Path, size: int) -> npt.NDArray[np.uint8]:
    """A letter in white on black, (size, size), its box of ink and advance in the middle."""
    em = round(EM * size)
    font = _font(typeface, em)
    left, top, right, bottom = font.getbbox(letter)
    while em > 1 and max(right - left, bottom - top) > size:
        em -= 1
        font = _font(typeface, em)
        left, top, right, bottom = font.getbbox(letter)
    # Pillow cuts ink off where a coordinate is negative and not whole, hence the margin.
    canvas = Image.new("L", (3 * size, 3 * size))
    corner = (size + (size - left - right) / 2, size + (size - top - bottom) / 2)
    ImageDraw.Draw(canvas).text(corner, letter, fill=255, font=font)
    return np.asarray(canvas)[size : 2 * size, size : 2 * size]


@functools.cache
def _font(typeface: Path, em: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(typeface, em, layout_engine=ImageFont.Layout.BASIC)
