"""Reading: how a vector is made of what a trained network says of an image.

The network is the same in every reading. The plain one, the paper's, takes the last block of one
look at the image; others join the last blocks, or look more than once, or centre what they see.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from pseudoshot.readings.descriptors import colour_histogram, hog
from pseudoshot.tools.registry import unknown
from pseudoshot.views.geometry import affine_coordinates, sample

WEIGHTS = {"hog": 0.5, "colours": 0.35}  # of parts; 1 for a block: chosen on validation classes
CROP = 0.75  # side of a crop as a part of the image's
TURN, MOVE = 10.0, 0.054  # degrees, part of the image's side: chosen on Omniglot's validation split

Parts = dict[str, Tensor]  # (B, d) each, by name


class Reading(BaseModel):
    """What is joined, and over which looks at the image it is averaged.

    >>> Reading(blocks=2, mirror=True).looks
    2
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    blocks: Annotated[int, Field(ge=1, le=100)] = 1  # the network's last ones, joined
    mirror: bool = False  # averaged with the mirror image
    crops: bool = False  # averaged with five crops: the corners and the middle
    # of characters, which have neither: four copies, each moved towards a corner and turned, in
    # place of the image, which is sharper than the views that a network learns characters from
    turns: bool = False
    descriptors: bool = False  # HOG and the colours of the image are joined as well
    # how much of a mean is subtracted, of the images trained on or of the user's own: all of it
    # helps at one example per class and costs at twenty, half of it does the one and not the other
    centre: Annotated[float, Field(ge=0, le=1)] = 0.0

    def __str__(self) -> str:
        name = next((n for n, r in READINGS.items() if self in (r, r.fitting(True))), None)
        return name or ", ".join(f"{name} {value}" for name, value in self)

    def fitting(self, characters: bool) -> Reading:
        """Of characters: a mirror image or a part of one is another character, a turned one not."""
        if not characters:
            return self
        return self.model_copy(update={"mirror": False, "crops": False, "turns": self.mirror})

    @property
    def looks(self) -> int:
        """How often the network sees an image."""
        return (4 if self.turns else 1) * (2 if self.mirror else 1) * (6 if self.crops else 1)

    def look(self, images: Tensor) -> list[Tensor]:
        """Images (B, c, h, w) in [0, 1] as they are seen; those of one size in one batch."""
        images = turned(images) if self.turns else images
        seen = [images]
        if self.crops:
            h, w = images.shape[-2:]
            below, right = h - round(CROP * h), w - round(CROP * w)
            corners = ((0, 0), (0, right), (below, 0), (below, right), (below // 2, right // 2))
            parts = [images[..., y : h - below + y, x : w - right + x] for y, x in corners]
            seen.append(torch.cat(parts))
        return [torch.cat((part, part.flip(-1))) for part in seen] if self.mirror else seen

    def describe(self, images: Tensor) -> Parts:
        """What the descriptors say of images (B, c, h, w) in [0, 1]; gray ones have no colours."""
        if not self.descriptors:
            return {}
        parts = {"hog": hog(images)}
        return parts | {"colours": colour_histogram(images)} if images.shape[1] == 3 else parts


ReadingName = Literal["plain", "centred", "joined", "described", "crops"]
PLAIN = Reading()
# everything there is, so that its centre is that of any reading
COMPLETE = Reading(blocks=100, mirror=True, descriptors=True, centre=1)
READINGS: Mapping[ReadingName, Reading] = {
    "plain": PLAIN,
    "centred": Reading(mirror=True, centre=1),
    "joined": Reading(blocks=2, mirror=True, centre=1),
    "described": Reading(mirror=True, descriptors=True, centre=0.5),
    "crops": Reading(mirror=True, crops=True, descriptors=True, centre=0.5),
}


def reading_of(name: str, characters: bool = False) -> Reading:
    """The reading of that name, as it is for such images."""
    if name not in READINGS:
        raise unknown("reading", name, READINGS)
    return READINGS[name].fitting(characters)  # type: ignore[index]


def turned(images: Tensor) -> Tensor:
    """(B, c, h, w) to (4B, c, h, w): towards each corner, and turned to one side or the other."""
    B, _, h, w = images.shape
    cos, sin = math.cos(math.radians(TURN)), math.sin(math.radians(TURN))
    matrices = [
        [[cos, -x * y * sin, x * MOVE * w], [x * y * sin, cos, y * MOVE * h]]
        for x in (-1, 1)
        for y in (-1, 1)
    ]
    across, down = (
        source.to(images)[:, None].expand(4, B, h, w).flatten(0, 1)
        for source in affine_coordinates(torch.tensor(matrices), (h, w))
    )
    return sample(images.repeat(4, 1, 1, 1), across, down)


def join(parts: Parts, centre: Mapping[str, Tensor], share: float) -> Tensor:
    """Each part less its share of its centre, where it has one, and as long as it weighs; side by
    side. Of descriptors all of it, if any: chosen on validation classes."""
    shares = {name: bool(share) if name in WEIGHTS else share for name in centre}
    about = {
        name: part - shares[name] * centre[name].to(part) if name in centre else part
        for name, part in parts.items()
    }
    weighed = [WEIGHTS.get(name, 1.0) * F.normalize(part, dim=1) for name, part in about.items()]
    return torch.cat(weighed, 1)
