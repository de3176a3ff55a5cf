"""Conv4 as in the last commit of the paper's released code: no average at the end."""

from __future__ import annotations

from torch import Tensor

from pseudoshot.backbones.conv4 import Conv4


class Conv4Flat(Conv4):
    """Conv4 without the average: the last feature map flattened, d = 1600 at 84 px."""

    any_size = False

    def __init__(self, channels: int, size: int) -> None:
        super().__init__(channels, size)
        side = size
        for _ in self.blocks:
            side = max(1, side // 2)
        self.dim = self.widths[-1] * side * side

    def forward(self, images: Tensor) -> Tensor:
        features: Tensor = self.blocks(images)
        return features.flatten(1)

    def block_means(self, images: Tensor) -> list[Tensor]:
        return [self(images)]
