"""Views by AutoAugment (Cubuk et al., 2018) and RandAugment (Cubuk et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from pseudoshot.views.colour import RandomJitter, grayscale, jitter
from pseudoshot.views.geometry import RandomCrop, crop
from pseudoshot.views.layout import as_planes, as_views
from pseudoshot.views.operations import (
    INDEX,
    MAX_MAGNITUDE,
    NOTHING,
    apply_operations,
    blur,
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

# The fifteen that RandAugment chooses from.
RANDAUGMENT = tuple(name for name in INDEX if name != "posterize")


@dataclass(frozen=True)
class AutoAugmentPolicy:
    """Crop and mirror, then the two operations of a random sub-policy."""

    crop: RandomCrop

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


@dataclass(frozen=True)
class RandAugmentPolicy:
    """Crop and mirror, jitter, blur, random operations of one magnitude, grayscale."""

    crop: RandomCrop
    jitter: RandomJitter
    blur: tuple[float, float] = (0.1, 2.0)  # standard deviation in pixels
    blur_probability: float = 0.5
    operations: int = 2
    operation_probability: float = 0.5
    magnitude: float = 10.0
    magnitude_deviation: float = 0.5
    grayscale: float = 0.2

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        classes, views, h, w, _ = images.shape
        count = classes * views
        planes = crop(as_planes(images), self.crop.draw(classes, views, (h, w), generator))
        planes = jitter(planes, self.jitter.draw(count, generator))
        planes = self.blur_some(planes, generator)
        for _ in range(self.operations):
            planes = apply_operations(planes, *self.draw(count, generator))
        planes = grayscale(planes, torch.rand(count, generator=generator) < self.grayscale)
        return as_views(planes, classes)

    def draw(self, count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        """The operation and the argument (B,) of each view."""
        choices = torch.tensor([INDEX[name] for name in RANDAUGMENT])
        chosen = choices[torch.randint(len(choices), (count,), generator=generator)]
        magnitude = self.magnitude + self.magnitude_deviation * torch.randn(
            count, generator=generator
        )
        argument = draw_arguments(chosen, magnitude.clamp_(0, MAX_MAGNITUDE), generator)
        applied = torch.rand(count, generator=generator) < self.operation_probability
        return chosen.where(applied, NOTHING), argument

    def blur_some(self, planes: Tensor, generator: Generator) -> Tensor:
        low, high = self.blur
        sigma = low + (high - low) * torch.rand(len(planes), generator=generator)
        blurred = torch.rand(len(planes), generator=generator) < self.blur_probability
        rows = blurred.nonzero()[:, 0]
        return planes.index_copy_(0, rows, blur(planes.index_select(0, rows), sigma[rows]))


AUTOAUG = AutoAugmentPolicy(RandomCrop())
RANDAUG = RandAugmentPolicy(
    RandomCrop(area=(0.2, 1.0)),
    # The paper does not say how strong; MoCo v2 jitters so, and all its other numbers agree.
    RandomJitter(0.4, 0.4, 0.4, 0.1, probability=0.8),
)
