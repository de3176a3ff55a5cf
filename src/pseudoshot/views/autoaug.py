"""Views by AutoAugment (Cubuk et al. 2018), the policy found on ImageNet."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from pseudoshot.views.base import CroppingPolicy
from pseudoshot.views.geometry import crop
from pseudoshot.views.layout import as_planes, as_views
from pseudoshot.views.operations import (
    INDEX,
    NOTHING,
    apply_operations,
    draw_arguments,
)

# The 25 sub-policies found on ImageNet (the paper's appendix): operation, probability, magnitude.
IMAGENET = (
    (("posterize", 0.4, 8), ("rotate", 0.6, 9)),
    (("solarize", 0.6, 5), ("auto_contrast", 0.6, 5)),
    (("equalize", 0.8, 8), ("equalize", 0.6, 3)),
    (("posterize", 0.6, 7), ("posterize", 0.6, 6)),
    (("equalize", 0.4, 7), ("solarize", 0.2, 4)),
    (("equalize", 0.4, 4), ("rotate", 0.8, 8)),
    (("solarize", 0.6, 3), ("equalize", 0.6, 7)),
    (("posterize", 0.8, 5), ("equalize", 1.0, 2)),
    (("rotate", 0.2, 3), ("solarize", 0.6, 8)),
    (("equalize", 0.6, 8), ("posterize", 0.4, 6)),
    (("rotate", 0.8, 8), ("color", 0.4, 0)),
    (("rotate", 0.4, 9), ("equalize", 0.6, 2)),
    (("equalize", 0.0, 7), ("equalize", 0.8, 8)),
    (("invert", 0.6, 4), ("equalize", 1.0, 8)),
    (("color", 0.6, 4), ("contrast", 1.0, 8)),
    (("rotate", 0.8, 8), ("color", 1.0, 2)),
    (("color", 0.8, 8), ("solarize", 0.8, 7)),
    (("sharpness", 0.4, 7), ("invert", 0.6, 8)),
    (("shear_x", 0.6, 5), ("equalize", 1.0, 9)),
    (("color", 0.4, 0), ("equalize", 0.6, 3)),
    (("equalize", 0.4, 7), ("solarize", 0.2, 4)),
    (("solarize", 0.6, 5), ("auto_contrast", 0.6, 5)),
    (("invert", 0.6, 4), ("equalize", 1.0, 8)),
    (("color", 0.6, 4), ("contrast", 1.0, 8)),
    (("equalize", 0.8, 8), ("equalize", 0.6, 3)),
)


@dataclass(frozen=True)
class AutoAug(CroppingPolicy):
    """Crop and mirror, then the two operations of a random sub-policy."""

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        classes, views, h, w, _ = images.shape
        planes = crop(as_planes(images), self.crop.draw(classes, views, (h, w), generator))
        for chosen, argument in self.draw(classes * views, generator):
            planes = apply_operations(planes, chosen, argument)
        return as_views(planes, classes)

    def draw(self, count: int, generator: Generator) -> list[tuple[Tensor, Tensor]]:
        """For each of the two steps the operation and the argument (B,) of each view."""
        sub_policy = torch.randint(len(IMAGENET), (count,), generator=generator)
        steps = []
        for step in zip(*IMAGENET, strict=True):
            chosen = torch.tensor([INDEX[name] for name, _, _ in step])[sub_policy]
            probability = torch.tensor([p for _, p, _ in step])[sub_policy]
            magnitude = torch.tensor([float(m) for _, _, m in step])[sub_policy]
            argument = draw_arguments(chosen, magnitude, generator)
            applied = torch.rand(count, generator=generator) < probability
            steps.append((chosen.where(applied, NOTHING), argument))
        return steps
