"""What must be done to pixels before a network sees them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from pseudoshot.embedders.card import ModelCard

LUMA = (0.299, 0.587, 0.114)


def to_form(images: npt.NDArray[np.uint8], card: ModelCard) -> Tensor:
    """uint8 (B, h, w, c) to (B, channels, size, size) in [0, 1], as the card has them.

    Images of another size are resized by the card's interpolation, antialiased. Files and
    Pillow images come here at the model's size, by Pillow's bicubic, whatever the card says.
    """
    pixels = torch.tensor(images).permute(0, 3, 1, 2).float() / 255
    if pixels.shape[1] > card.channels:
        pixels = (pixels * pixels.new_tensor(LUMA).view(3, 1, 1)).sum(1, keepdim=True)
    elif pixels.shape[1] < card.channels:
        pixels = pixels.expand(-1, card.channels, -1, -1)
    if pixels.shape[-2:] != (card.size, card.size):
        side = (card.size, card.size)
        pixels = F.interpolate(pixels, side, mode=card.interpolation, antialias=True)
        if card.interpolation == "bicubic":
            pixels = pixels.clamp(0, 1)  # it overshoots; Pillow cuts that off as well
    return pixels.contiguous(memory_format=torch.channels_last)


def inked(images: Tensor, card: ModelCard) -> Tensor:
    """Characters (B, c, h, w) light on dark, or dark on light, as those that were trained on."""
    if not card.characters:
        return images
    light = images.mean((1, 2, 3), keepdim=True) > 0.5  # paper is most of an image
    as_trained = light == (sum(card.mean) > 0.5 * len(card.mean))
    return torch.where(as_trained, images, 1 - images)
