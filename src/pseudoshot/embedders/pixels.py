"""What must be done to pixels before a network sees them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pseudoshot.data.decode import resize_all
from pseudoshot.embedders.card import ModelCard

LUMA = (19595, 38470, 7471)  # of 65536, as Pillow's: gray stays as gray as it is


def to_form(images: npt.NDArray[np.uint8], card: ModelCard) -> Tensor:
    """uint8 (B, h, w, c) to (B, channels, size, size) in [0, 1], as the card has them.

    Images of another size are treated as files are: the central square, by Pillow's bicubic.
    """
    pixels = resize_all(images, card.size)
    if pixels.shape[3] > card.channels:
        pixels = brightness(pixels)
    found = torch.tensor(pixels).permute(0, 3, 1, 2).float() / 255
    return found.expand(-1, card.channels, -1, -1).contiguous(memory_format=torch.channels_last)


def brightness(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """(..., 3) to (..., 1), the bytes of Pillow's convert("L")."""
    summed = pixels.astype(np.int32) @ np.array(LUMA, np.int32)
    return ((summed + 0x8000) >> 16).astype(np.uint8)[..., None]


def inked(images: Tensor, card: ModelCard) -> Tensor:
    """Characters (B, c, h, w) light on dark, or dark on light, as those that were trained on."""
    if not card.characters:
        return images
    light = images.mean((1, 2, 3), keepdim=True) > 0.5  # paper is most of an image
    as_trained = light == (sum(card.mean) > 0.5 * len(card.mean))
    return torch.where(as_trained, images, 1 - images)
