"""Wide ResNet 28-10: 28 layers, ten times the width, pre-activation blocks, dropout 0.5."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from pseudoshot.backbones.base import Backbone, initialise_convolutions

WIDTHS = (160, 320, 640)
BLOCKS_A_STAGE = 4  # (28 - 4) / 6
DROP_RATE = 0.5


class Block(nn.Module):
    """BN - ReLU - conv - BN - ReLU - dropout - conv, added to its (projected) input."""

    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels_in)
        self.convolution1 = nn.Conv2d(
            channels_in, channels_out, 3, stride=stride, padding=1, bias=False
        )
        self.norm2 = nn.BatchNorm2d(channels_out)
        self.drop = nn.Dropout(DROP_RATE)
        self.convolution2 = nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False)
        changes_shape = stride != 1 or channels_in != channels_out
        self.shortcut = (
            nn.Conv2d(channels_in, channels_out, 1, stride=stride, bias=False)
            if changes_shape
            else None
        )

    def forward(self, x: Tensor) -> Tensor:
        activated = F.relu(self.norm1(x))
        out: Tensor = self.convolution1(activated)
        out = self.convolution2(self.drop(F.relu(self.norm2(out))))
        shortcut: Tensor = x if self.shortcut is None else self.shortcut(activated)
        return shortcut + out


class WRN28x10(Backbone):
    """Three stages of four blocks and global average pooling: d = 640, 36.5 million parameters."""

    dim = WIDTHS[-1]
    floats_a_pixel = 820

    def __init__(self, channels: int, size: int) -> None:
        super().__init__(channels, size)
        self.stem = nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        self.blocks = nn.Sequential()
        inputs = 16
        for stage, width in enumerate(WIDTHS):
            for block in range(BLOCKS_A_STAGE):
                stride = 2 if stage > 0 and block == 0 else 1
                self.blocks.append(Block(inputs, width, stride))
                inputs = width
        self.norm = nn.BatchNorm2d(inputs)
        initialise_convolutions(self)

    def forward(self, images: Tensor) -> Tensor:
        features: Tensor = self.norm(self.blocks(self.stem(images)))
        return F.relu(features).mean((2, 3))
