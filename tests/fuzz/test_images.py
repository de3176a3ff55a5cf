"""Folders of images, most of them damaged: the others keep their labels and pixels."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, features

from pseudoshot.data import ImageSet, load
from pseudoshot.data.decode import MOST_PIXELS, decode
from pseudoshot.tools.errors import PseudoshotError

from .damage import damaged, one_sentence

pytestmark = pytest.mark.filterwarnings("ignore")  # Pillow speaks of much that it can read

SIDE = 16
CLASSES = ("ant", "bee", "cat")


def pixels(seed: int, side: int = SIDE) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)


def stored(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def with_orientation(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def victims() -> dict[str, bytes]:
    """One small file of every kind, by the name it is stored under."""
    colour, other = (Image.fromarray(pixels(seed)) for seed in (0, 1))
    gray = colour.convert("L")
    wide = Image.fromarray(np.arange(SIDE * SIDE, dtype=np.uint16).reshape(SIDE, SIDE) * 250)
    animation = {"save_all": True, "append_images": [other]}
    files = {
        "plain.png": stored(colour, "PNG"),
        "gray.png": stored(gray, "PNG"),
        "wide.png": stored(wide, "PNG"),
        "palette.png": stored(colour.quantize(8), "PNG", transparency=1),
        "alpha.png": stored(colour.convert("RGBA"), "PNG"),
        "exif.png": stored(colour, "PNG", exif=with_orientation(6)),
        "moving.png": stored(colour, "PNG", **animation),
        "moving.gif": stored(colour, "GIF", **animation),
        "plain.jpg": stored(colour, "JPEG"),
        "progressive.jpg": stored(colour, "JPEG", progressive=True),
        "four-inks.jpg": stored(colour.convert("CMYK"), "JPEG"),
        "exif.jpg": stored(colour, "JPEG", exif=with_orientation(8)),
        "plain.bmp": stored(colour, "BMP"),
        "plain.tif": stored(colour, "TIFF"),
        "wide.tif": stored(wide, "TIFF"),
        "float.tif": stored(gray.convert("F"), "TIFF"),
        "plain.ppm": stored(colour, "PPM"),
        "plain.tga": stored(colour, "TGA", compression="tga_rle"),
        "plain.pcx": stored(colour, "PCX"),
        "plain.ico": stored(colour, "ICO"),
        "plain.sgi": stored(colour, "SGI"),
    }
    if features.check("libtiff"):
        files["packed.tif"] = stored(colour, "TIFF", compression="tiff_lzw")
    if features.check("webp"):
        files["plain.webp"] = stored(colour, "WEBP", lossless=True)
        files["moving.webp"] = stored(colour, "WEBP", lossless=True, **animation)
    if features.check("jpg_2000"):
        files["plain.jp2"] = stored(colour, "JPEG2000")
    if features.check("avif"):
        files["plain.avif"] = stored(colour, "AVIF")
    return files


VICTIMS = victims()


def write(folder: Path, contents: Iterable[tuple[str, bytes]]) -> None:
    """Witnesses in every class, the contents among them in turn."""
    for seed, name in enumerate(CLASSES):
        (folder / name).mkdir(parents=True)
        witness = stored(Image.fromarray(pixels(100 + seed)), "PNG")
        for position in ("0000", "5000", "9999"):
            (folder / name / f"{position} witness.png").write_bytes(witness)
    for number, (name, content) in enumerate(contents):
        (folder / CLASSES[number % 3] / f"{number:05d} {name}").write_bytes(content)


def loaded(folder: Path) -> ImageSet:
    """The set, after checking all that must hold whatever the files are."""
    image_set = load(folder, size=SIDE)
    assert image_set.classes == CLASSES
    assert image_set.labels is not None
    for file, label in zip(image_set.files, image_set.labels, strict=True):
        assert file.partition("/")[0] == CLASSES[label]
        if "witness" in file:
            row = image_set.files.index(file)
            assert np.array_equal(image_set.images[row], pixels(100 + label))
    assert sum("witness" in file for file in image_set.files) == 9
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    read = set(image_set.files)
    assert len(read) == len(image_set)
    reasons = [line for line in image_set.skipped if line.rpartition(": ")[2].strip()]
    assert len(reasons) == len(there) - len(read), "what is skipped is listed, with a reason"
    assert all(any(line.startswith(f"{name}: ") for name in there - read) for line in reasons)
    return image_set


def test_whole_files_of_every_kind_are_read(tmp_path: Path) -> None:
    write(tmp_path / "photos", VICTIMS.items())
    assert loaded(tmp_path / "photos").skipped == ()


def damage_every_kind(folder: Path, times: int, seed: int) -> None:
    contents = (
        (name, content)
        for name, whole in VICTIMS.items()
        for content in damaged(whole, times, seed)
    )
    write(folder, contents)
    loaded(folder)


def test_damaged_files_of_every_kind(tmp_path: Path) -> None:
    damage_every_kind(tmp_path / "photos", times=96, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_damaged_files_by_the_thousand(tmp_path: Path, seed: int) -> None:
    damage_every_kind(tmp_path / "photos", times=400, seed=seed)


def cut_everywhere(folder: Path, step: int) -> ImageSet:
    contents = (
        (name, whole[:end])
        for name, whole in VICTIMS.items()
        for end in range(0, len(whole), max(1, len(whole) // 24) if step > 1 else 1)
    )
    write(folder, contents)
    return loaded(folder)


def test_files_cut_off_all_over(tmp_path: Path) -> None:
    image_set = cut_everywhere(tmp_path / "photos", step=24)
    assert len(image_set.skipped) > len(VICTIMS)


@pytest.mark.slow
def test_files_cut_off_at_every_byte(tmp_path: Path) -> None:
    cut_everywhere(tmp_path / "photos", step=1)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.sampled_from(sorted(VICTIMS)), st.integers(0, 40))
def test_any_bytes_behind_any_beginning(content: bytes, name: str, kept: int) -> None:
    try:
        image = decode(io.BytesIO(VICTIMS[name][:kept] + content), SIDE)
    except PseudoshotError as error:
        one_sentence(error)
    else:
        assert (image.shape, image.dtype) == ((SIDE, SIDE, 3), np.uint8)


def test_the_content_decides_not_the_ending(tmp_path: Path) -> None:
    whole = VICTIMS["plain.png"]
    endings = ("jpg", "gif", "tiff", "bmp", "webp", "heic", "JPEG")
    write(tmp_path / "photos", [(f"really png.{ending}", whole) for ending in endings])
    image_set = loaded(tmp_path / "photos")
    shown = [row for row, file in enumerate(image_set.files) if "really" in file]
    assert len(shown) == len(endings)
    assert all(np.array_equal(image_set.images[row], pixels(0)) for row in shown)


@pytest.mark.parametrize("shape", [(1, 1), (1, 30_000), (30_000, 1), (2, 3), (1, 2)])
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "TIFF"])
def test_extreme_shapes_are_images_too(shape: tuple[int, int], kind: str) -> None:
    image = decode(io.BytesIO(stored(Image.new("RGB", shape, (200, 200, 200)), kind)), SIDE)
    assert image.shape == (SIDE, SIDE, 3)
    assert np.abs(image.astype(int) - 200).max() <= 1


BROKEN_EXIF = {
    "nothing": b"",
    "noise": b"\x00\x01noise of no kind",
    "no such orientation": b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x63\0\0\0\0\0\0",
    "orientation as text": b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x02\0\0\0\x03abc\0\0\0\0\0",
    "cut off": b"II*\0\x08\0\0\0\xff\xff\x12\x01",
    "a directory that is its own next": b"II*\0\x08\0\0\0\0\0\x08\0\0\0",
    "a directory far outside": b"II*\0\xff\xff\xff\xff",
}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("about", BROKEN_EXIF)
def test_broken_exif_does_not_cost_the_image(about: str, kind: str) -> None:
    if kind == "WEBP" and not features.check("webp"):
        pytest.skip("this Pillow reads no WebP")
    image = Image.fromarray(pixels(0))
    options = {"lossless": True} if kind == "WEBP" else {}
    clean = decode(io.BytesIO(stored(image, kind, **options)), SIDE)
    broken = stored(image, kind, exif=b"Exif\0\0" + BROKEN_EXIF[about], **options)
    assert np.array_equal(decode(io.BytesIO(broken), SIDE), clean)


def test_an_app1_that_is_longer_than_its_file() -> None:
    whole = stored(Image.fromarray(pixels(0)), "JPEG", exif=with_orientation(6))
    start = whole.index(b"\xff\xe1")
    longer = whole[: start + 2] + b"\xff\xff" + whole[start + 4 :]
    with pytest.raises(PseudoshotError, match=r"\S"):
        decode(io.BytesIO(longer), SIDE)


def chunk(kind: bytes, content: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + checksum


def png_bomb(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    content = chunk(b"IDAT", zlib.compress(bytes(100_000)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + content + chunk(b"IEND", b"")


def gif_bomb(width: int, height: int) -> bytes:
    size = struct.pack("<HH", width, height)
    frame = b"\x2c" + bytes(4) + size + b"\0\x02\x02\x4c\x01\0;"
    return b"GIF89a" + size + b"\x80\0\0" + bytes(6) + frame


def tiff_bomb(width: int, height: int) -> bytes:
    tags = (
        *((256, 4, width), (257, 4, height), (258, 3, 8), (259, 3, 1), (262, 3, 1)),
        *((273, 4, 8), (277, 3, 1), (278, 4, height), (279, 4, 1)),
    )
    entries = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags)
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4)


def bmp_bomb(width: int, height: int) -> bytes:
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + info


BOMBS = {
    "enormous.png": png_bomb(50_000, 50_000),
    "largest.png": png_bomb(2**31 - 1, 2**31 - 1),
    "long.png": png_bomb(1, 2**31 - 1),
    "above the limit.png": png_bomb(12_000, 12_000),
    "enormous.gif": gif_bomb(50_000, 50_000),
    "above the limit.gif": gif_bomb(12_000, 12_000),
    "enormous.tif": tiff_bomb(50_000, 50_000),
    "above the limit.tif": tiff_bomb(12_000, 12_000),
    "enormous.bmp": bmp_bomb(50_000, 50_000),
    "enormous.ppm": b"P6 50000 50000 255\n" + bytes(1000),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_by_its_pixels_and_the_limit_is_told(name: str) -> None:
    with pytest.raises(PseudoshotError, match=r"limit of [\d,]{9,}"):
        decode(io.BytesIO(BOMBS[name]), SIDE)


def test_the_limit_is_that_of_the_reason() -> None:
    with pytest.raises(PseudoshotError, match=f"12000 x 12000 pixels, .* {MOST_PIXELS:,}"):
        decode(io.BytesIO(BOMBS["above the limit.png"]), SIDE)


CHILD = """
import resource, sys
from pathlib import Path
from pseudoshot.data import load
from pseudoshot.data.decode import extensions
extensions()
held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (192 << 20),) * 2)
image_set = load(sys.argv[1], size=16)
print(len(image_set), len(image_set.skipped))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="measures itself by /proc")
def test_bombs_take_no_memory(tmp_path: Path) -> None:
    write(tmp_path / "photos", BOMBS.items())
    shown = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path / "photos")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"},
    )
    assert shown.stdout.split() == ["9", str(len(BOMBS))], shown.stderr


ODD_NAMES = (
    *("a\nb.png", "tab\there.png", " .png", "-rf.png", "%s %d {}.png", "[red]x[bold].png"),
    *("quote'\".png", "back\\slash.png", "x" * 240 + ".png", "ends.in.png.png", "é\u0301🦊.png"),
    *("\u202egnp.exe.png", "UPPER.PNG", "a: b.png", "nul\x01\x7f.png"),
)


@pytest.mark.skipif(os.name == "nt", reason="few of these names are possible there")
@pytest.mark.parametrize("good", [True, False])
def test_names_with_odd_characters(tmp_path: Path, good: bool) -> None:
    content = VICTIMS["plain.png"] if good else b"\x89PNG\r\n\x1a\n"
    names = [*ODD_NAMES, os.fsdecode(b"\xff\xfe.png")]
    write(tmp_path / "photos", ())
    for name in names:
        (tmp_path / "photos" / "bee" / name).write_bytes(content)
    image_set = loaded(tmp_path / "photos")
    found = image_set.files if good else [line.rpartition(": ")[0] for line in image_set.skipped]
    assert {f"bee/{name}" for name in names} <= set(found)


@pytest.mark.skipif(os.name == "nt", reason="links and pipes")
def test_entries_that_are_no_files(tmp_path: Path) -> None:
    write(tmp_path / "photos", ())
    folder = tmp_path / "photos" / "cat"
    (folder / "itself.png").symlink_to(folder / "itself.png")
    (folder / "nowhere.png").symlink_to(folder / "not there")
    (folder / "folder.png").mkdir()
    os.mkfifo(folder / "pipe.png")
    assert len(loaded(tmp_path / "photos")) == 9
