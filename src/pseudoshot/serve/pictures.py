"""Pictures for a person: small squares, the whole image, and uploads decoded once for all uses."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from pseudoshot.data.decode import MOST_PIXELS, decode, picture, square_of
from pseudoshot.tools.errors import PseudoshotError

THUMBNAIL = 160  # pixels a side
LARGE = 1280  # pixels of the longer side
MOST_UPLOADED_PIXELS = 1 << 25  # of an uploaded image: what it takes to decode is bounded


@dataclass(frozen=True)
class Decoded:
    """An uploaded image in every form it is used in."""

    pixels: npt.NDArray[np.uint8]  # (size, size, 3), for the model
    thumbnail: bytes
    large: bytes


def decode_upload(name: str, data: bytes, size: int) -> Decoded:
    """All of them from one decoding; an error names the file."""
    image = _upload(name, data, max(LARGE, 2 * size))
    return Decoded(square_of(image, size), _jpeg(square_of(image, THUMBNAIL)), _reduced(image))


def upload_pixels(name: str, data: bytes, size: int) -> npt.NDArray[np.uint8]:
    """What the model sees of an uploaded image, (size, size, 3)."""
    return square_of(_upload(name, data, 2 * size), size)


def thumbnail(file: Path) -> bytes:
    """A JPEG of the image's central square, as the model sees it but finer."""
    return _jpeg(decode(file, THUMBNAIL))


def large(file: Path) -> bytes:
    """A JPEG of the whole image."""
    return _reduced(picture(file, LARGE, MOST_PIXELS))


def _upload(name: str, data: bytes, least: int) -> Image.Image:
    try:
        return picture(io.BytesIO(data), least, MOST_UPLOADED_PIXELS)
    except PseudoshotError as error:
        raise PseudoshotError(f"'{name}' cannot be read: {error}") from error


def _reduced(image: Image.Image) -> bytes:
    shown = image.copy()
    shown.thumbnail((LARGE, LARGE), reducing_gap=3.0)
    return _jpeg(np.asarray(shown))


def _jpeg(pixels: npt.NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=88)
    return file.getvalue()
