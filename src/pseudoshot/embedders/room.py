"""How much memory an image takes on its way through a network, and how many go at once."""

from __future__ import annotations

from dataclasses import dataclass

from pseudoshot.embedders.card import ModelCard
from pseudoshot.embedders.networks.memory import MOST_MEMORY
from pseudoshot.tools.errors import PseudoshotError

MOST_AT_ONCE, PIXELS_AT_ONCE = 256, 1 << 19  # their maps stay in the cache


@dataclass(frozen=True)
class Room:
    """What images of a card take where one look at one of them takes so many bytes."""

    card: ModelCard
    bytes_a_look: int

    @property
    def needed(self) -> int:
        """Bytes that one image takes."""
        return self.card.reading.looks * self.bytes_a_look

    def at_once(self, wanted: int | None = None) -> int:
        """How many images are embedded at once: as many as are wanted, if there is room."""
        pixels = self.card.reading.looks * self.card.size**2
        usual = min(MOST_AT_ONCE, PIXELS_AT_ONCE // pixels)
        return max(1, min(wanted or usual, MOST_MEMORY // self.needed))

    def refuse_too_large(self) -> None:
        size, looks = self.card.size, self.card.reading.looks
        if self.needed > MOST_MEMORY:
            seen = f"looked at {looks} times" if looks > 1 else "looked at once"
            raise PseudoshotError(
                f"an image of {size} x {size} pixels, {seen}, takes {self.card.backbone} about "
                f"{self.needed / 2**30:.1f} GB, where 1 GB is the limit: use a model of smaller "
                "images"
            )
