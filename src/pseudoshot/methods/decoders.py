"""Decoders: from latents back to images or embeddings; trained beside the embedding, dropped."""

from __future__ import annotations

from torch import nn

_CHANNELS, _HIDDEN, _DOUBLINGS = 64, 256, 4


def image_decoder(latent: int, channels: int, size: int) -> nn.Sequential:
    """Latents (n, L) to the logits of pixels (n, channels, size, size).

    Three linear layers with ELU, then Conv4's mirror image: four transposed convolutions, each of
    which doubles the side, with BatchNorm and ReLU between them.

    >>> import torch
    >>> image_decoder(8, 3, 28)(torch.zeros(2, 8)).shape
    torch.Size([2, 3, 28, 28])
    """
    sides = [size]  # of the maps, from the last to the first
    for _ in range(_DOUBLINGS):
        sides.append(-(-sides[-1] // 2))
    first, *between, last = reversed(sides)
    layers: list[nn.Module] = [
        *(nn.Linear(latent, _HIDDEN), nn.ELU(), nn.Linear(_HIDDEN, _HIDDEN), nn.ELU()),
        *(nn.Linear(_HIDDEN, _CHANNELS * first**2), nn.ELU()),
        nn.Unflatten(1, (_CHANNELS, first, first)),
    ]
    for side in between:
        layers += [_doubling(_CHANNELS, side, bias=False), nn.BatchNorm2d(_CHANNELS), nn.ReLU()]
    return nn.Sequential(*layers, _doubling(channels, last, bias=True))


def _doubling(channels: int, side: int, bias: bool) -> nn.ConvTranspose2d:
    """To maps of `side`, from those of half of it, rounded up."""
    return nn.ConvTranspose2d(
        _CHANNELS, channels, 3, stride=2, padding=1, output_padding=1 - side % 2, bias=bias
    )


def embedding_decoder(latent: int, dim: int, hidden: int = 512) -> nn.Sequential:
    """Latents (n, L) to embeddings (n, dim), which may be negative: the last layer is linear."""
    return nn.Sequential(
        *(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()),
        nn.Linear(hidden, dim),
    )
