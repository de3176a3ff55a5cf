"""Small image files, as far as a test needs them."""

from pathlib import Path

import numpy as np
from PIL import Image

KINDS = ("ash", "birch", "elm")


def draw_trees(folder: Path, count: int, seed: int = 0) -> None:
    """Noisy photos in a subfolder a kind of tree: stripes down, stripes across, no stripes."""
    draw = np.random.default_rng(seed)
    rows, columns = np.mgrid[:30, :24]
    for name, stripes in zip(KINDS, (rows // 3 % 2, columns // 3 % 2, rows * 0), strict=True):
        (folder / name).mkdir(parents=True)
        for index in range(count):
            pixels = 150 * stripes[..., None] + draw.integers(0, 100, (30, 24, 3))
            Image.fromarray(pixels.astype(np.uint8)).save(folder / name / f"{index}.jpg")


def draw_noise(folder: Path, count: int, side: int, gray: bool = False) -> None:
    """Images of noise in two classes, a and b."""
    pixels = np.random.default_rng(0).integers(0, 256, (count, side, side, 3), dtype=np.uint8)
    for index, image in enumerate(pixels[..., 0] if gray else pixels):
        (folder / "ab"[index % 2]).mkdir(exist_ok=True, parents=True)
        Image.fromarray(image).save(folder / "ab"[index % 2] / f"{index:02d}.png")


def soft_pictures(kinds: int, count: int, side: int) -> np.ndarray:
    """`count` variations of each of a few soft patterns, alike at any size: (n, side, side, 3)."""
    draw = np.random.default_rng(0)
    patterns = draw.integers(40, 216, (kinds, 1, 6, 6, 3))
    rough = (patterns + draw.integers(-40, 40, (kinds, count, 6, 6, 3))).reshape(-1, 6, 6, 3)
    enlarged = [
        Image.fromarray(pixels.astype(np.uint8)).resize((side, side), Image.Resampling.BICUBIC)
        for pixels in rough
    ]
    return np.stack([np.asarray(image) for image in enlarged])
