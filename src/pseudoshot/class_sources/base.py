"""What a class source is: it says which images are "the same", and draws indices (C, V)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pseudoshot.tools.registry import PartSettings


class Draw(NamedTuple):
    """C pseudo-classes of V members each."""

    rows: Tensor  # (C, V): indices into the images trained on
    classes: Tensor  # (C,): which of all pseudo-classes each is
    partition: Tensor | None = None  # (C,): tasks take their classes from one partition alone

    def first(self, count: int) -> Draw:
        """So many of the pseudo-classes."""
        partition = None if self.partition is None else self.partition[:count]
        return Draw(self.rows[:count], self.classes[:count], partition)


class Embed(Protocol):
    """Embeds the images trained on, (n, d): with the network in training, or with another run."""

    def __call__(self, run: str | None = None) -> Tensor: ...


class ClassSource(ABC):
    """Draws pseudo-classes among `count` images; all randomness comes from the generator given.

    A source that looks at embeddings builds itself in `begin_epoch`. All that it holds is in its
    `state_dict`, so that a run resumes exactly.
    """

    Settings: ClassVar[type[PartSettings]] = PartSettings
    needs_labels: ClassVar[bool] = False
    looks: ClassVar[bool] = False  # True: at embeddings, before it can draw
    needs_run: ClassVar[bool] = False  # True: at those of another run, its setting `from_run`
    repeats: ClassVar[bool] = False  # True: a pseudo-class is one image, its members its views

    def __init__(
        self,
        settings: Any,
        count: int,
        labels: npt.NDArray[np.int64] | None,
        generator: torch.Generator,
    ) -> None:
        self.settings, self.count, self.generator = settings, count, generator

    @property
    @abstractmethod
    def classes(self) -> int:
        """How many pseudo-classes there are in all."""

    @abstractmethod
    def steps_per_epoch(self, C: int, V: int) -> int:
        """How many draws make one epoch, the same for all of a run; an error if not even one can
        be made."""

    def begin_epoch(self, embed: Embed, C: int, V: int) -> None:  # noqa: B027 (most do nothing)
        """Called before the first draw of every epoch, all of which are of C pseudo-classes with V
        members: the place to build clusters anew."""

    @abstractmethod
    def draw(self, C: int, V: int) -> Draw:
        """The next C pseudo-classes; all there are, should these be fewer."""

    @property
    def scalars(self) -> dict[str, float]:
        """What is worth logging."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state:
            raise ValueError(f"{type(self).__name__} keeps no state, but was given {sorted(state)}")
