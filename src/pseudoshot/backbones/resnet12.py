"""ResNet-12 of the few-shot literature: widths 64-160-320-640, DropBlock in the last two blocks."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pseudoshot.backbones.base import BlockBackbone, initialise_convolutions
from pseudoshot.backbones.convolution import Convolution3x3

LEAK = 0.1
DROP_RATE = 0.1
DROP_BLOCK_SIDE = 5
DROP_BLOCK_RAMP = 40_000  # training forwards until the full rate
SMALL_IMAGE = 32  # up to this side feature maps are too small for DropBlock: dropout everywhere


class DropBlock(nn.Module):
    """Zeroes random squares of the feature map; the rate rises linearly over training forwards."""

    forwards: Tensor

    def __init__(self, rate: float, side: int) -> None:
        super().__init__()
        self.rate, self.side = rate, side
        self.register_buffer("forwards", torch.zeros((), dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        self.forwards += 1
        rate = self.rate * min(1.0, int(self.forwards) / DROP_BLOCK_RAMP)
        h, w = x.shape[-2:]
        side = min(self.side, h, w)
        # the chance of a square's corner, such that `rate` of all positions is dropped on average
        seed_rate = rate * h * w / side**2 / ((h - side + 1) * (w - side + 1))
        corners = torch.rand(*x.shape[:2], h - side + 1, w - side + 1, device=x.device) < seed_rate
        padded = F.pad(corners.to(x.dtype), [side - 1] * 4)
        kept = 1 - F.max_pool2d(padded, side, stride=1)
        return x * kept * (kept.numel() / kept.sum().clamp_min(1))


class Block(nn.Module):
    """Three 3x3 convolutions beside a 1x1 one, added, then LeakyReLU, maxpool2 and a dropout."""

    def __init__(self, channels_in: int, channels_out: int, drop: nn.Module) -> None:
        super().__init__()

        def normalised(convolution: nn.Conv2d) -> nn.Sequential:
            return nn.Sequential(convolution, nn.BatchNorm2d(channels_out))

        self.residual = nn.Sequential(
            normalised(Convolution3x3(channels_in, channels_out)),
            nn.LeakyReLU(LEAK, inplace=True),
            normalised(Convolution3x3(channels_out, channels_out)),
            nn.LeakyReLU(LEAK, inplace=True),
            normalised(Convolution3x3(channels_out, channels_out)),
        )
        self.shortcut = normalised(nn.Conv2d(channels_in, channels_out, 1, bias=False))
        self.drop = drop

    def forward(self, x: Tensor) -> Tensor:
        x = self.residual(x) + self.shortcut(x)
        if min(x.shape[-2:]) >= 2:
            x = F.max_pool2d(x, 2)  # before the LeakyReLU, which is monotone: the same and cheaper
        dropped: Tensor = self.drop(F.leaky_relu(x, LEAK, inplace=True))
        return dropped


class ResNet12(BlockBackbone):
    """Four residual blocks and global average pooling: d = 640, 12.4 million parameters."""

    dim = 640

    def __init__(self, channels: int, size: int) -> None:
        super().__init__(channels, size)
        widths = (channels, 64, 160, 320, 640)
        self.blocks = nn.Sequential()
        for index, (inputs, outputs) in enumerate(itertools.pairwise(widths)):
            blockwise = index >= 2 and size > SMALL_IMAGE
            drop = DropBlock(DROP_RATE, DROP_BLOCK_SIDE) if blockwise else nn.Dropout(DROP_RATE)
            self.blocks.append(Block(inputs, outputs, drop))
        initialise_convolutions(self, LEAK)
