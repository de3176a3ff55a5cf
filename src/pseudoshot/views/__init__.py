"""Views: random copies of images that keep what the image is of.

A policy takes uint8 images (C, V, h, w, c), V images of each of C pseudo-classes, and gives as
many views, float32 (C, V, c, h, w) in [0, 1], drawn independently, from the generator alone. Those
that crop can be asked for smaller views.

>>> import torch
>>> images = torch.randint(0, 256, (4, 1, 32, 32, 3), dtype=torch.uint8).expand(-1, 6, -1, -1, -1)
>>> get_policy("amdim")(images, torch.Generator().manual_seed(0)).shape
torch.Size([4, 6, 3, 32, 32])
"""

from __future__ import annotations

from dataclasses import Field, replace
from typing import Any, ClassVar, Protocol

from torch import Generator, Tensor

from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.registry import look_up
from pseudoshot.views.augment import AUTOAUG, RANDAUG, AutoAugmentPolicy, RandAugmentPolicy
from pseudoshot.views.photos import AMDIM, SIMCLR, SIMPLE, PhotoPolicy
from pseudoshot.views.strokes import STROKES, TYPEFACES

__all__ = ["POLICIES", "Cropping", "Policy", "get_policy"]


class Policy(Protocol):
    """A frozen dataclass whose fields are its strengths, so `dataclasses.asdict` records them."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        """Views float32 (C, V, c, h, w) in [0, 1] of images uint8 (C, V, h, w, c)."""


Cropping = PhotoPolicy | AutoAugmentPolicy | RandAugmentPolicy
POLICIES: dict[str, Policy] = {
    "amdim": AMDIM,
    "simclr": SIMCLR,
    "simple": SIMPLE,
    "autoaug": AUTOAUG,
    "randaug": RANDAUG,
    "strokes": STROKES,
    "typefaces": TYPEFACES,
}


def get_policy(name: str, scale: float = 1.0) -> Policy:
    """The policy of that name, its views of sides `scale` times the image's.

    >>> get_policy("amdin")
    Traceback (most recent call last):
    pseudoshot.tools.errors.PseudoshotError: unknown views 'amdin', did you mean 'amdim'? ...
    """
    policy = look_up("views", name, POLICIES)
    if scale == 1:
        return policy
    if not isinstance(policy, Cropping):
        raise PseudoshotError(
            f"views '{name}' are of the image's own size: leave --view-scale at 1"
        )
    return replace(policy, crop=replace(policy.crop, scale=scale))
