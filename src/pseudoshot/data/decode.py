"""One encoded image of any kind to square RGB bytes."""

from __future__ import annotations

import functools
import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
from PIL import ExifTags, Image, UnidentifiedImageError

from pseudoshot.tools.errors import PseudoshotError

# Pillow tells formats by content, and some that it knows start other programs: these do not.
FORMATS = (
    *("PNG", "JPEG", "MPO", "JPEG2000", "GIF", "WEBP", "AVIF", "BMP", "DIB", "TIFF", "PPM"),
    *("TGA", "PCX", "ICO", "SGI", "HEIF"),
)
# Images too, though not to be read here: they are listed among the skipped, not passed over.
UNREADABLE = frozenset({".dng", ".cr2", ".nef", ".arw", ".psd", ".svg", ".jxl"})
HEIC = frozenset({".heic", ".heif", ".hif"})  # read where the extra heic is installed
_HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")

# A file of a few bytes may declare any number of pixels, and decoding would make room for all.
MOST_PIXELS = 1 << 27
LARGE = 1 << 24  # pixels, above which images are decoded one at a time: memory stays bounded
_one_large_image = threading.Lock()

_Turn = Image.Transpose
_UPRIGHT = {  # by EXIF orientation, how to turn an image so that it stands as it was taken
    2: _Turn.FLIP_LEFT_RIGHT,
    3: _Turn.ROTATE_180,
    4: _Turn.FLIP_TOP_BOTTOM,
    5: _Turn.TRANSPOSE,
    6: _Turn.ROTATE_270,
    7: _Turn.TRANSVERSE,
    8: _Turn.ROTATE_90,
}


@functools.cache
def formats() -> tuple[str, ...]:
    """Those of FORMATS that the installed Pillow can read; HEIF by a library of its own."""
    Image.init()
    try:
        import pillow_heif
    except ImportError:
        Image.OPEN.pop("HEIF", None)
    else:
        pillow_heif.register_heif_opener()
    return tuple(name for name in FORMATS if name in Image.OPEN)


@functools.cache
def extensions() -> frozenset[str]:
    """The file name endings of images, such as '.png', those that may not be read among them."""
    readable, known = formats(), Image.registered_extensions()
    return UNREADABLE | HEIC | {ending for ending, name in known.items() if name in readable}


def decode(file: Path | IO[bytes], size: int, zoom: float = 1.0) -> npt.NDArray[np.uint8]:
    """The image's central square as RGB bytes (size, size, 3).

    The short side is scaled to round(size * zoom) pixels, of which the central `size` are kept.
    Transparency goes on white; of an animation the first frame counts; EXIF rotation is applied.
    A file, the Pillow image of it and the array of that give the same bytes: a JPEG is decoded in
    full and never by its own scaling, which is faster but no resampling that others could repeat.
    Raises PseudoshotError with the reason if the file cannot be read.
    """
    try:
        with Image.open(file, formats=formats()) as image, _turn_of(image):
            return to_square(image, size, size / round(size * zoom))
    except Exception as error:  # a damaged file makes a decoder raise nearly anything
        raise PseudoshotError(_reason(error, file)) from error


def picture(file: Path | IO[bytes], least: int, most_pixels: int) -> Image.Image:
    """The whole image, upright, as L or RGB; raises PseudoshotError as `decode` does.

    JPEG is decoded at a reduced size, neither side below `least`, and may so have four times
    `most_pixels`; unless it is progressive, when all of it is in memory first.
    """
    try:
        with Image.open(file, formats=formats()) as image, _turn_of(image):
            reducible = image.format in ("JPEG", "MPO") and not image.info.get("progressive")
            _refuse_bomb(image, most_pixels * 4 if reducible else most_pixels)
            image.draft(None, (least, least))
            return _to_8_bits(_upright(image))
    except Exception as error:
        raise PseudoshotError(_reason(error, file)) from error


def to_square(image: Image.Image, size: int, part: float = 1.0) -> npt.NDArray[np.uint8]:
    """An opened image's central square, `part` of its short side, as RGB bytes (size, size, 3)."""
    _refuse_bomb(image, MOST_PIXELS)
    return square_of(_to_8_bits(_upright(image)), size, part)


def square_of(image: Image.Image, size: int, part: float = 1.0) -> npt.NDArray[np.uint8]:
    """The same of one that `picture` made, which is not turned again."""
    return np.asarray(_central_square(image, size, part).convert("RGB"))


def _turn_of(image: Image.Image) -> AbstractContextManager[object]:
    """Large images wait for each other."""
    return _one_large_image if image.width * image.height > LARGE else nullcontext()


def _refuse_bomb(image: Image.Image, most: int) -> None:
    """By its header alone, before there is a pixel."""
    if image.width * image.height > most:
        raise PseudoshotError(f"{image.width} x {image.height} pixels, above the limit of {most:,}")


def _upright(image: Image.Image) -> Image.Image:
    image.load()  # PNG has its EXIF behind the pixels
    turn = _UPRIGHT.get(_orientation(image))
    return image if turn is None else image.transpose(turn)


def _orientation(image: Image.Image) -> int:
    """What EXIF says, 1 where it is damaged: the pixels are none the worse for it."""
    try:
        return int(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # whatever a broken directory leads to
        return 1


def resize_all(images: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    """The central squares of decoded images (n, h, w, 1 or 3) at `size`, as those of files."""
    if images.shape[1:3] == (size, size):
        return images
    gray = images.shape[3] == 1
    opened = (Image.fromarray(image[..., 0] if gray else image) for image in images)
    resized = np.stack([np.asarray(_central_square(image, size)) for image in opened])
    return resized[..., None] if gray else resized


def _central_square(image: Image.Image, size: int, part: float = 1.0) -> Image.Image:
    """The central square whose side is `part` of the short side, antialiased, at `size`."""
    side = min(image.size) * part
    left, top = (image.width - side) / 2, (image.height - side) / 2
    box = (left, top, left + side, top + side)
    return image.resize((size, size), Image.Resampling.BICUBIC, box=box, reducing_gap=3.0)


def _to_8_bits(image: Image.Image) -> Image.Image:
    """Any mode as L or RGB, which can be resized without a further thought."""
    if image.mode in ("L", "RGB") and not image.has_transparency_data:
        return image
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return Image.fromarray(to_bytes(np.asarray(image)))
    if image.has_transparency_data:
        white = Image.new("RGBA", image.size, "white")
        white.alpha_composite(image.convert("RGBA"))
        return white.convert("RGB")
    return image.convert("L" if image.mode == "1" else "RGB")


def to_bytes(values: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """Wide values as 0..255: by the range they seem to be kept in, else by their own extremes."""
    finite = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(finite.min()), float(finite.max())
    tops = (1.0, 255.0, 65535.0) if values.dtype.kind == "f" else (255.0, 65535.0)
    if low >= 0 and high <= tops[-1]:
        top = next(top for top in tops if high <= top)
        return np.rint(finite * (255.0 / top)).astype(np.uint8)
    return np.rint((finite - low) * (255.0 / max(high - low, 1e-12))).astype(np.uint8)


def _reason(error: Exception, file: Path | IO[bytes]) -> str:
    if isinstance(error, UnidentifiedImageError):
        unread = "HEIF" not in formats() and _is_heic(file)
        return "pip install 'pseudoshot[heic]' reads HEIC" if unread else "not an image"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__


def _is_heic(file: Path | IO[bytes]) -> bool:
    """By its first bytes, as Pillow tells formats."""
    if isinstance(file, Path):
        with file.open("rb") as opened:
            return _is_heic(opened)
    file.seek(0)
    start = file.read(12)
    return start[4:8] == b"ftyp" and start[8:12] in _HEIC_BRANDS
