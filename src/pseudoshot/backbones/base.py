"""What every backbone is: images (B, c, h, w) in, embeddings (B, dim) out."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from torch import Tensor, nn

from pseudoshot.tools.registry import PartSettings


class Backbone(nn.Module):
    """φ, for images of `channels` and of `size` pixels a side; `dim` is the embedding's size."""

    Settings: ClassVar[type[PartSettings]] = PartSettings
    # How the paper trains it (section 6.3); ResNet-12's way unless stated.
    paper: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"optimiser": "sgd", "lr": 0.03, "epochs": 200, "images": 32, "head_lr_scale": 10.0}
    )
    any_size: ClassVar[bool] = True  # False: views must be of the size of the images
    # held at once by a forward pass, at most; measured, it was 70 to 192
    floats_a_pixel: ClassVar[int] = 200

    dim: int

    def __init__(self, channels: int, size: int) -> None:
        super().__init__()
        self.channels, self.size = channels, size

    def __call__(self, images: Tensor) -> Tensor:
        embeddings: Tensor = super().__call__(images)
        return embeddings

    def bytes_an_image(self, size: int) -> int:
        """That a forward pass takes, at most."""
        return 4 * size**2 * self.floats_a_pixel

    def block_means(self, images: Tensor) -> list[Tensor]:
        """Of every block, the mean over its map, (B, d) each; the last is the embedding."""
        return [self(images)]


class BlockBackbone(Backbone):
    """A row of blocks; the embedding is the mean over the last one's map."""

    blocks: nn.Sequential

    def forward(self, images: Tensor) -> Tensor:
        features: Tensor = self.blocks(images)
        return _mean(features, images)

    def block_means(self, images: Tensor) -> list[Tensor]:
        means, features = [], images
        for block in self.blocks:
            features = block(features)
            means.append(_mean(features, images))
        return means


def _mean(features: Tensor, images: Tensor) -> Tensor:
    """Over the map, in the precision of the images, whatever the backbone's."""
    return features.to(images.dtype).mean((2, 3))


def initialise_convolutions(module: nn.Module, leak: float = 0.0) -> None:
    """Kaiming normal, fan-out, for every convolution inside."""
    for part in module.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, a=leak, mode="fan_out", nonlinearity="leaky_relu")
