"""From indices to views: the one place where pixels leave an image set for training."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from pseudoshot.data import ImageSet
from pseudoshot.views import Policy


def draw_views(
    images: ImageSet, rows: Tensor, policy: Policy, generator: torch.Generator
) -> Tensor:
    """Views of the images that the indices (C, V) name: (C, V, c, h, w) in [0, 1]."""
    pixels = images.images[rows.numpy()]  # a copy, also of a memory map
    return policy(torch.from_numpy(np.asarray(pixels)), generator)
