"""MoCHi (Kalantidis et al. 2020): MoCo v2 with hard negatives mixed from those in the queue."""

from __future__ import annotations

import torch
from pydantic import NonNegativeInt, PositiveInt
from torch import Tensor

from pseudoshot.backbones import Backbone
from pseudoshot.methods.moco import MoCo, MoCoSettings

MOST_FLOATS = 1 << 24  # of the keys that are multiplied at once: 64 MB
_TINY = 1e-12


class MoCHiSettings(MoCoSettings):
    hardest: PositiveInt = 256
    """n, the keys of the queue nearest to a query, which are mixed"""
    mixed: NonNegativeInt = 256
    """s, mixes of two of them"""
    mixed_with_query: NonNegativeInt = 32
    """s', mixes of one of them and the query, whose share is below a half"""
    delay: NonNegativeInt = 0
    """steps without mixes at the start of training"""


class MoCHi(MoCo):
    """MoCHi: each query is also told from mixes of its hardest keys, and of those and itself.

    h = αn + (1-α)n', α ~ U(0, 1), of two keys among the n nearest, and h' = βq + (1-β)n,
    β ~ U(0, ½), both made unit vectors and without gradient; their cosines with q join its
    logits. A mix is never made: <q, h> follows from <q, n>, <q, n'> and <n, n'>. The original mixes
    1,024 and 128 of 1,024 keys of a queue of 16,384; the defaults are a quarter of that. It begins
    to mix after some epochs; here it mixes from the first step, unless --delay says otherwise.
    """

    Settings = MoCHiSettings
    settings: MoCHiSettings
    steps: Tensor

    def __init__(self, backbone: Backbone, settings: MoCHiSettings, classes: int = 0) -> None:
        super().__init__(backbone, settings, classes)
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def after_step(self) -> None:
        super().after_step()
        self.steps += 1

    def negatives(self, cosines: Tensor, own: Tensor, generator: torch.Generator) -> Tensor:
        negatives = super().negatives(cosines, own, generator)
        if int(self.steps) < self.settings.delay:
            return negatives
        hardest = negatives.detach().topk(min(self.settings.hardest, cosines.shape[1])).indices
        of_two = self._of_two(cosines, own, hardest, generator)
        with_query = self._with_query(cosines, own, hardest, generator)
        return torch.cat((negatives, of_two, with_query), 1)

    def _of_two(
        self, cosines: Tensor, own: Tensor, hardest: Tensor, generator: torch.Generator
    ) -> Tensor:
        """<q, h>, (CQ, s); a mix with an image's own key is masked as that key is."""
        first, second = (_drawn(hardest, self.settings.mixed, generator) for _ in range(2))
        share = torch.rand(first.shape, generator=generator).to(cosines)
        products = pair_products(self.queue, first, second).to(cosines)
        square = share**2 + (1 - share) ** 2 + 2 * share * (1 - share) * products
        dots = share * cosines.gather(1, first) + (1 - share) * cosines.gather(1, second)
        masked = own.gather(1, first) | own.gather(1, second)
        return (dots * square.clamp_min(_TINY).rsqrt()).masked_fill(masked, -torch.inf)

    def _with_query(
        self, cosines: Tensor, own: Tensor, hardest: Tensor, generator: torch.Generator
    ) -> Tensor:
        """<q, h'>, (CQ, s'); <q, q> is 1 and has no gradient, as q is a unit vector."""
        key = _drawn(hardest, self.settings.mixed_with_query, generator)
        share = torch.rand(key.shape, generator=generator).to(cosines) / 2
        dots = cosines.gather(1, key)
        square = share**2 + (1 - share) ** 2 + 2 * share * (1 - share) * dots.detach()
        mixed = (share + (1 - share) * dots) * square.clamp_min(_TINY).rsqrt()
        return mixed.masked_fill(own.gather(1, key), -torch.inf)


def _drawn(hardest: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """For each query as many of its own hardest keys, (CQ, n) to (CQ, count)."""
    choice = torch.randint(hardest.shape[1], (len(hardest), count), generator=generator)
    return hardest.gather(1, choice.to(hardest.device))


def pair_products(rows: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """<rows[i], rows[j]> of index tensors (B, s), some queries at a time.

    >>> rows = torch.tensor([[1.0, 0.0], [3.0, 4.0]])
    >>> pair_products(rows, torch.tensor([[0, 1]]), torch.tensor([[1, 1]]))
    tensor([[ 3., 25.]])
    """
    at_once = max(1, MOST_FLOATS // max(1, first.shape[1] * rows.shape[1]))
    parts = zip(torch.split(first, at_once), torch.split(second, at_once), strict=True)
    return torch.cat([(rows[i] * rows[j]).sum(2) for i, j in parts])
