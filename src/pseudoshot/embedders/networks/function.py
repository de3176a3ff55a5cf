"""Any function of images, made where it is used: nothing of it can be saved."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from pseudoshot.backbones import Backbone
from pseudoshot.tools.errors import PseudoshotError, first_line


class FunctionNetwork(Backbone):
    """A module or a function, images (B, c, h, w) to embeddings (B, d)."""

    def __init__(self, function: Callable[[Tensor], Tensor], channels: int, size: int) -> None:
        super().__init__(channels, size)
        self.function = function
        was_training = isinstance(function, nn.Module) and function.training
        self.eval()
        try:
            with torch.inference_mode():
                shape = tuple(function(torch.zeros(2, channels, size, size)).shape)
        except Exception as error:  # of a function of any kind
            raise PseudoshotError(
                f"the function cannot embed images of shape (2, {channels}, {size}, {size}): "
                f"{first_line(error)}"
            ) from error
        if len(shape) != 2 or shape[0] != 2:
            raise PseudoshotError(
                f"the function makes {shape} of two images: embeddings (2, d) are expected"
            )
        self.train(was_training)
        self.dim = shape[1]

    def forward(self, images: Tensor) -> Tensor:
        return self.function(images)
