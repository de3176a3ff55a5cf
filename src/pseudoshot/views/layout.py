"""From stored images to the planes the kernels work on, and from those to views."""

from __future__ import annotations

import torch
from torch import Tensor


def as_planes(images: Tensor) -> Tensor:
    """uint8 (C, V, h, w, c) to float (C * V, c, h, w) in [0, 1], each channel contiguous."""
    planes = images.flatten(0, 1).permute(0, 3, 1, 2)
    return planes.to(torch.float32, memory_format=torch.contiguous_format).div_(255)


def as_views(planes: Tensor, classes: int) -> Tensor:
    """(C * V, c, h, w) to (C, V, c, h, w), in the channels-last order that backbones want."""
    _, c, h, w = planes.shape
    return planes.contiguous(memory_format=torch.channels_last).view(classes, -1, c, h, w)
