"""Views: random copies of images that keep what the image is of.

A policy takes uint8 images (C, V, h, w, c), V images of each of C pseudo-classes, and gives as
many views, float32 (C, V, c, h, w) in [0, 1], drawn independently, from the generator alone. Those
that crop can be asked for smaller views. One file each; a new one is added to POLICIES.

>>> import torch
>>> images = torch.randint(0, 256, (4, 1, 32, 32, 3), dtype=torch.uint8).expand(-1, 6, -1, -1, -1)
>>> get_policy("amdim")(images, torch.Generator().manual_seed(0)).shape
torch.Size([4, 6, 3, 32, 32])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pseudoshot.tools.registry import Registry
from pseudoshot.views.amdim import Amdim
from pseudoshot.views.autoaug import AutoAug
from pseudoshot.views.base import Policy, ViewSettings
from pseudoshot.views.identity import Identity
from pseudoshot.views.randaug import RandAug
from pseudoshot.views.simclr import SimCLR
from pseudoshot.views.simple import Simple
from pseudoshot.views.strokes import Strokes
from pseudoshot.views.typefaces import Typefaces

__all__ = ["POLICIES", "Policy", "ViewSettings", "get_policy"]

POLICIES: Registry[Policy] = Registry(
    "views",
    {
        "amdim": Amdim,
        "simclr": SimCLR,
        "simple": Simple,
        "autoaug": AutoAug,
        "randaug": RandAug,
        "strokes": Strokes,
        "typefaces": Typefaces,
        "identity": Identity,
    },
)


def get_policy(views: str | Mapping[str, Any] | ViewSettings) -> Policy:
    """The policy of that name, or with these settings.

    >>> get_policy("amdin")
    Traceback (most recent call last):
    pseudoshot.tools.errors.PseudoshotError: unknown views 'amdin', did you mean 'amdim'? ...
    """
    settings = POLICIES.parse(views)
    return POLICIES[settings.name].build(settings)
