"""Photos of three kinds of tree, as far as a test needs them."""

from pathlib import Path

import numpy as np
from PIL import Image

KINDS = ("ash", "birch", "elm")


def draw_trees(folder: Path, count: int, seed: int = 0) -> None:
    """Noisy images in a subfolder a kind: stripes down, stripes across, no stripes."""
    draw = np.random.default_rng(seed)
    rows, columns = np.mgrid[:30, :24]
    for name, stripes in zip(KINDS, (rows // 3 % 2, columns // 3 % 2, rows * 0), strict=True):
        (folder / name).mkdir(parents=True)
        for index in range(count):
            pixels = 150 * stripes[..., None] + draw.integers(0, 100, (30, 24, 3))
            Image.fromarray(pixels.astype(np.uint8)).save(folder / name / f"{index}.jpg")
