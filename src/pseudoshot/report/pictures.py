"""Pixels as text: images inlined into the page."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from pseudoshot.data import ImageSet
from pseudoshot.views import POLICIES, ViewSettings

_SMALL = 48  # pixels a side: those below are much enlarged
_LARGEST = 72  # pixels a side: what the page shows, and what keeps it near a megabyte


@dataclass(frozen=True)
class Painter:
    """Turns images into PNGs for the page.

    >>> Painter().png(np.zeros((8, 8, 1), dtype=np.uint8))[:22]
    'data:image/png;base64,'
    """

    inverted: bool = False
    pixels: bool = False  # show them as squares: blurred, a small drawing is hard to read

    @classmethod
    def of(cls, images: ImageSet, views: ViewSettings) -> Painter:
        """Characters stored light on dark are shown as ink on paper; a dark gray photograph, an
        X-ray say, is not: only views made for them tell that images are of characters."""
        characters = POLICIES[views.name].of_characters and images.channels == 1
        dark = characters and bool(np.median(images.images[:64]) < 128)
        return cls(inverted=dark, pixels=images.size < _SMALL)

    def frame(self, content: str, style: str) -> str:
        """A block of images, enlarged as they are drawn."""
        return f'<div class="{style}{" pixels" if self.pixels else ""}">{content}</div>'

    @property
    def remark(self) -> str:
        return " Shown as dark ink on white." if self.inverted else ""

    def png(self, pixels: npt.NDArray[np.uint8], largest: int = _LARGEST) -> str:
        """A data URI of one image, uint8 (h, w, c), shrunk where it is larger than shown."""
        if self.inverted:
            pixels = 255 - pixels
        picture = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
        picture.thumbnail((largest, largest), Image.Resampling.LANCZOS)
        stream = io.BytesIO()
        picture.save(stream, format="PNG", optimize=True)
        return data_uri("image/png", stream.getvalue())


def data_uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
