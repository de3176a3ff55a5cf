"""One image, of every kind that Pillow reads, and of every kind that it does not."""

from __future__ import annotations

import io
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile

from pseudoshot.data import decode as decoding
from pseudoshot.data.decode import decode, extensions, resize_all
from pseudoshot.tools.errors import PseudoshotError

SIDE = 16
RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def stored(image: Image.Image, kind: str, **options: object) -> io.BytesIO:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    buffer.seek(0)
    return buffer


def halves(left: tuple[int, ...], right: tuple[int, ...], mode: str = "RGB") -> Image.Image:
    image = Image.new(mode, (SIDE, SIDE), left)
    image.paste(right, (SIDE // 2, 0, SIDE, SIDE))
    return image


def sides(pixels: np.ndarray) -> tuple[list[int], list[int]]:
    """The colours of the far left and the far right."""
    return pixels[SIDE // 2, 0].tolist(), pixels[SIDE // 2, -1].tolist()


def wide(values: tuple[float, float], dtype: str) -> Image.Image:
    pixels = np.full((SIDE, SIDE), values[0], dtype)
    pixels[:, SIDE // 2 :] = values[1]
    return Image.fromarray(pixels)


def palette(**options: object) -> io.BytesIO:
    return stored(halves(RED, BLUE).quantize(4), "PNG", **options)


def transparent_index() -> io.BytesIO:
    image = halves(RED, BLUE).quantize(4)
    return stored(image, "PNG", transparency=image.getpixel((SIDE - 1, 0)))


WHITE = (255, 255, 255)
MODES = {
    "RGB": (stored(halves(RED, BLUE), "PNG"), RED, BLUE),
    "L": (stored(halves((10,), (200,), "L"), "PNG"), (10,) * 3, (200,) * 3),
    "1": (stored(halves((0,), (255,), "1"), "PNG"), (0,) * 3, WHITE),
    "P": (palette(), RED, BLUE),
    "P transparent": (transparent_index(), RED, WHITE),
    "L transparent": (
        stored(halves((10,), (200,), "L"), "PNG", transparency=200),
        (10,) * 3,
        WHITE,
    ),
    "LA": (stored(halves((10, 255), (10, 0), "LA"), "PNG"), (10,) * 3, WHITE),
    "RGBA": (stored(halves((*RED, 255), (*RED, 0), "RGBA"), "PNG"), RED, WHITE),
    "RGBA half": (
        stored(halves((0, 0, 0, 255), (0, 0, 0, 128), "RGBA"), "PNG"),
        (0, 0, 0),
        (127,) * 3,
    ),
    "CMYK": (stored(halves((0, 255, 255, 0), (255, 255, 0, 0), "CMYK"), "TIFF"), RED, BLUE),
    "I;16": (stored(wide((256, 51455), "uint16"), "PNG"), (1,) * 3, (200,) * 3),
    "I;16B": (stored(wide((256, 51455), ">u2"), "TIFF"), (1,) * 3, (200,) * 3),
    "I, 8 bits": (stored(wide((10, 200), "int32"), "TIFF"), (10,) * 3, (200,) * 3),
    "I, 16 bits": (stored(wide((257, 51400), "int32"), "TIFF"), (1,) * 3, (200,) * 3),
    "I, negative": (stored(wide((-500, 500), "int32"), "TIFF"), (0,) * 3, WHITE),
    "F, unit": (stored(wide((0.0, 0.2), "float32"), "TIFF"), (0,) * 3, (51,) * 3),
    "F, 8 bits": (stored(wide((10.0, 200.0), "float32"), "TIFF"), (10,) * 3, (200,) * 3),
    "F, not a number": (stored(wide((np.nan, 1.0), "float32"), "TIFF"), (0,) * 3, WHITE),
}


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_becomes_the_rgb_a_person_sees(mode: str) -> None:
    file, left, right = MODES[mode]
    file.seek(0)
    pixels = decode(file, SIDE)
    assert pixels.shape == (SIDE, SIDE, 3)
    assert pixels.dtype == np.uint8
    assert sides(pixels) == (list(left), list(right))


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_of_an_animation_the_first_frame_counts(kind: str) -> None:
    frames = [Image.new("RGB", (SIDE, SIDE), colour) for colour in (RED, GREEN, BLUE)]
    options = {"lossless": True} if kind == "WEBP" else {}
    file = stored(frames[0], kind, save_all=True, append_images=frames[1:], **options)
    assert sides(decode(file, SIDE)) == (list(RED), list(RED))


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "JPEG"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_rotation_is_applied(kind: str, orientation: int) -> None:
    upright = Image.new("L", (24, 16), 0)
    upright.paste(255, (0, 0, 12, 8))  # the upper left quarter is bright
    turned = {
        1: upright,
        2: upright.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
        3: upright.transpose(Image.Transpose.ROTATE_180),
        4: upright.transpose(Image.Transpose.FLIP_TOP_BOTTOM),
        5: upright.transpose(Image.Transpose.TRANSPOSE),
        6: upright.transpose(Image.Transpose.ROTATE_90),
        7: upright.transpose(Image.Transpose.TRANSVERSE),
        8: upright.transpose(Image.Transpose.ROTATE_270),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    pixels = decode(stored(turned, kind, exif=exif), 16)[..., 0]
    assert pixels[1, 1] > 200
    assert max(pixels[1, -2], pixels[-2, 1], pixels[-2, -2]) < 50


@pytest.mark.parametrize("zoom", [1.0, 92 / 84])
@pytest.mark.parametrize(("width", "height"), [(168, 168), (504, 168), (168, 336)])
def test_it_is_the_short_side_resized_and_the_centre_cropped(
    width: int, height: int, zoom: float
) -> None:
    rng = np.random.default_rng(0)
    rough = Image.fromarray(rng.integers(0, 256, (height // 12, width // 12, 3), dtype=np.uint8))
    image = rough.resize((width, height), Image.Resampling.BICUBIC)
    short = round(84 * zoom)
    scaled = image.resize((width * short // 168, height * short // 168), Image.Resampling.BICUBIC)
    left, top = (scaled.width - 84) // 2, (scaled.height - 84) // 2
    expected = np.asarray(scaled.crop((left, top, left + 84, top + 84)))
    difference = decode(stored(image, "PNG"), 84, zoom).astype(int) - expected
    assert np.abs(difference).max() <= 1


def test_large_images_are_averaged_not_sampled() -> None:
    checks = np.indices((512, 512)).sum(axis=0) % 2 * 255
    pixels = decode(stored(Image.fromarray(checks.astype(np.uint8)), "PNG"), 8)
    assert np.abs(pixels.astype(int) - 127).max() < 5


def test_a_very_long_image_costs_no_more_than_its_own_pixels() -> None:
    assert decode(stored(Image.new("L", (60_000, 1), 7), "PNG"), 256).max() == 7


def broken(kind: str) -> bytes:
    whole = stored(Image.fromarray(np.arange(64 * 64 * 3, dtype=np.uint8).reshape(64, 64, 3)), kind)
    return whole.getvalue()[: len(whole.getvalue()) // 2]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not an image"),
        (b"a letter to a friend", "not an image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not an image"),
        (broken("PNG"), "truncated"),
        (broken("JPEG"), "truncated"),
        (stored(halves(RED, BLUE), "PNG").getvalue()[:20], "Truncated"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(content: bytes, reason: str) -> None:
    with pytest.raises(PseudoshotError, match=reason):
        decode(io.BytesIO(content), SIDE)


def test_a_decompression_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(PseudoshotError, match="decompression bomb"):
        decode(stored(halves(RED, BLUE), "PNG"), SIDE)


def test_an_image_above_the_limit_is_refused_before_a_pixel_is_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decoding, "MOST_PIXELS", SIDE * SIDE)
    decode(stored(halves(RED, BLUE), "PNG"), SIDE)  # one of the limit itself is read
    above = stored(Image.new("RGB", (SIDE, SIDE + 1)), "PNG")
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda _: pytest.fail("it was decoded"))
    with pytest.raises(PseudoshotError, match=r"16 x 17 pixels, above the limit of 256"):
        decode(above, SIDE)
    with pytest.raises(PseudoshotError, match=r"16 x 17 pixels, above the limit of 256"):
        decoding.to_square(Image.open(above), SIDE)


@pytest.mark.parametrize(("width", "together"), [(4096, True), (4097, False)])
def test_images_of_more_than_16_million_pixels_are_decoded_one_at_a_time(
    width: int, together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = stored(Image.new("1", (width, 4096)), "PNG").getvalue()
    at_work, most, counting = 0, 0, threading.Lock()

    def slow_to_square(*_: object) -> None:
        nonlocal at_work, most
        with counting:
            at_work += 1
            most = max(most, at_work)
        time.sleep(0.1)
        with counting:
            at_work -= 1

    monkeypatch.setattr(decoding, "to_square", slow_to_square)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: decode(io.BytesIO(content), SIDE), range(4)))
    assert (most > 1) == together


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PseudoshotError, match="No such file"):
        decode(tmp_path / "none.png", SIDE)


def test_the_endings_are_of_images_only() -> None:
    assert {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".ppm", ".pgm"} < extensions()
    assert not {".pdf", ".eps", ".txt", ".mpg"} & extensions()


def test_resize_all_leaves_images_of_the_size_alone() -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 8, 8, 3), dtype=np.uint8)
    assert resize_all(images, 8) is images
    halved = resize_all(np.repeat(np.repeat(images, 4, 1), 4, 2), 16)
    assert halved.shape == (3, 16, 16, 3)
    assert np.abs(halved.mean((1, 2)) - images.mean((1, 2))).max() < 3
