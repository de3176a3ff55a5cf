"""A photo is the same photo as a file, a Pillow image, an array, a tensor or by the ONNX file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from PIL import Image, ImageOps

from pseudoshot.data import ImageSet
from pseudoshot.embedders import Embedder, load
from pseudoshot.embedders.export import export_onnx
from pseudoshot.embedders.pixels import brightness
from pseudoshot.tools.errors import PseudoshotError
from tests.pictures import draw_trees

MODEL, CHARACTERS = "conv4-cifar-fs", "conv4-omniglot"
SHAPES = {"wide": (301, 97), "high": (53, 211), "small": (17, 13), "large": (1501, 1000)}
MODES = ("L", "LA", "RGB", "RGBA", "P", "CMYK", "I;16", "1")


def picture(width: int, height: int, mode: str = "RGB") -> Image.Image:
    draw = np.random.default_rng(width)
    rough = draw.integers(0, 256, (height // 8 + 2, width // 8 + 2, 4), dtype=np.uint8)
    image = Image.fromarray(rough).resize((width, height), Image.Resampling.BICUBIC)
    if mode == "RGBA":
        return image
    if mode == "I;16":
        return Image.fromarray(np.asarray(image.convert("L"), np.uint16) * 251 + 17)
    return image.convert("LA" if mode == "LA" else "RGB").convert(mode)


def stored(folder: Path, image: Image.Image, name: str, kind: str, **options: object) -> Path:
    image.save(folder / f"{name}.{kind}", **options)
    return folder / f"{name}.{kind}"


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Odd shapes, JPEG and PNG; every mode; every way a camera may be held."""
    folder = tmp_path_factory.mktemp("photos")
    found = []
    for name, (width, height) in SHAPES.items():
        found += [stored(folder, picture(width, height), name, k) for k in ("jpg", "png")]
    for mode in MODES:
        kind = "tif" if mode == "CMYK" else "png"
        found.append(stored(folder, picture(150, 61, mode), f"mode {mode}", kind))
    exif = Image.Exif()
    for orientation in range(2, 9):
        exif[0x0112] = orientation
        image = picture(90, 140)
        found.append(stored(folder, image, f"turned {orientation}", "jpg", exif=exif))
    return found


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load(MODEL)


def test_a_file_and_its_pillow_image_are_one(embedder: Embedder, photos: list[Path]) -> None:
    expected = embedder.embed(photos)
    assert torch.equal(embedder.embed([str(photo) for photo in photos]), expected)
    assert torch.equal(embedder.embed([Image.open(photo) for photo in photos]), expected)


@pytest.mark.parametrize("kind", ["bytes", "array of all", "floats", "double", "tensor", "one set"])
def test_a_file_and_its_array_are_one(embedder: Embedder, photos: list[Path], kind: str) -> None:
    for photo in photos:
        image = ImageOps.exif_transpose(Image.open(photo))
        if image.mode in ("1", "LA", "P", "CMYK"):
            continue  # of which an array does not tell what they are
        pixels = np.asarray(image)
        wide = pixels.dtype == np.uint16
        if wide and kind != "bytes":
            continue
        channels_first = torch.tensor(pixels).permute(2, 0, 1) if pixels.ndim == 3 else None
        same = {
            "bytes": [pixels],
            "array of all": pixels[None],
            "floats": [(pixels / np.float32(255)).astype(np.float32)],
            "double": pixels[None] / 255,
            "tensor": channels_first if channels_first is None else channels_first[None] / 255,
            "one set": ImageSet("one", pixels[None]) if pixels.shape[-1] == 3 else None,
        }[kind]
        if same is not None:
            assert torch.equal(embedder.embed(same), embedder.embed([photo])), photo.name


@pytest.mark.parametrize("model", [MODEL, CHARACTERS])
def test_what_the_onnx_file_says_is_done_to_an_image_is_all_that_is(
    model: str, photos: list[Path], tmp_path: Path
) -> None:
    """The Python that is printed, run as it stands: Pillow, NumPy and onnxruntime alone."""
    export_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    told: dict[str, object] = {}
    code = session.get_modelmeta().custom_metadata_map["preprocessing_in_python"]
    exec(code, told)
    own = load(model)
    for photo in photos:
        prepared = told["prepare"](photo)
        assert prepared.dtype == np.float32
        (found,) = session.run(None, {"images": prepared})
        with torch.inference_mode():
            ours = own(torch.from_numpy(prepared))
        expected = own.embed([photo])
        assert torch.equal(ours, expected), photo.name
        np.testing.assert_allclose(found, expected, atol=1e-4 * float(expected.abs().max()))
    again = load(tmp_path / "model.onnx")
    np.testing.assert_allclose(again.embed(photos), own.embed(photos), atol=1e-3)


def test_brightness_is_pillows() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 30, 3), dtype=np.uint8)
    np.testing.assert_array_equal(
        brightness(pixels)[..., 0], np.asarray(Image.fromarray(pixels).convert("L"))
    )
    gray = np.repeat(pixels[..., :1], 3, 2)
    np.testing.assert_array_equal(brightness(gray), pixels[..., :1])


def test_a_folder_a_set_and_a_list_of_paths_are_one(tmp_path: Path, embedder: Embedder) -> None:
    draw_trees(tmp_path / "trees", 2)
    files = sorted((tmp_path / "trees").rglob("*.jpg"))
    expected = embedder.embed(files)
    for same in (tmp_path / "trees", str(tmp_path / "trees"), iter(files), np.array(files, str)):
        assert torch.equal(embedder.embed(same), expected)


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (Image.new("L", (3, 3)), "not one image: put it in a list"),
        (np.zeros((8, 8, 3), np.uint8), r"not \(8, 8, 3\): put one image in a list"),
        (np.zeros((2, 3, 8, 8), np.uint8), "1, 3 or 4 channels, the last of its axes"),
        (np.zeros((2, 8), np.uint8), r"not \(2, 8\)"),
        (np.zeros((0, 8, 8, 3), np.uint8), "no images"),
        ([], "no images"),
        (np.full((1, 8, 8, 3), -0.5), "the array of images .* float64 go from -0.5 to -0.5"),
        (np.linspace(0, 2, 192).reshape(1, 8, 8, 3), "go from 0 to 2: give bytes, or floats in"),
        (np.full((1, 8, 8, 3), np.nan), "not finite"),
        ([np.full((8, 8), np.inf, np.float32)], "image 0 .* not finite"),
        (np.full((1, 8, 8), 70_000), "go from 70000"),
        (np.zeros((1, 8, 8), bool), "it holds bool"),
        (torch.randn(2, 3, 8, 8), "float32 go from -"),
        (torch.zeros(2, 8, 8, 3), r"\(n, channels, h, w\), with 1, 3 or 4 channels, not \(2, 8, 8"),
        (torch.zeros(2, 64), r"not \(2, 64\)"),
        ([torch.zeros(8, 8)], r"image 0 .* \(channels, h, w\)"),
        ([b"bytes"], "image 0 is a bytes: give paths, Pillow images, arrays or tensors"),
        (["nowhere.png"], "'nowhere.png' cannot be read"),
        ("nowhere", "'nowhere' is not a folder"),
    ],
)
def test_what_is_no_image_is_refused_by_name(embedder: Embedder, images, words: str) -> None:
    with pytest.raises(PseudoshotError, match=words):
        embedder.embed(images)


def test_whole_numbers_are_bytes_or_of_sixteen_bits(embedder: Embedder) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (2, 40, 40, 3), dtype=np.uint8)
    expected = embedder.embed(pixels)
    for same in (pixels.astype(np.int64), pixels.astype(np.float32), pixels.astype(np.int32) * 257):
        assert torch.equal(embedder.embed(same), expected)
    first = torch.tensor(pixels).permute(0, 3, 1, 2)
    for tensors in (first, [*first], first.float() / 255, (first.double() / 255).requires_grad_()):
        assert torch.equal(embedder.embed(tensors), expected)


def test_a_card_that_says_how_arrays_were_resized_is_still_read() -> None:
    card = load(MODEL).card
    told = card.model_dump()
    assert "interpolation" not in told
    assert type(card).model_validate({**told, "interpolation": "bilinear"}) == card
    with pytest.raises(ValueError, match="interpolation"):
        type(card).model_validate({**told, "interpolation": "best"})
