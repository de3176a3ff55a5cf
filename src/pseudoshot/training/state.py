"""Everything that a checkpoint holds: with it and the settings, a run goes on as if unbroken."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any, Self

from torch import Tensor


@dataclass(frozen=True)
class TrainingState:
    step: int
    seconds: float  # spent so far, over all resumptions
    images: str  # the image set's fingerprint
    method: dict[str, Any]
    optimiser: dict[str, Any]
    source: dict[str, Any]
    generator: Tensor  # of images, views, tasks
    dropout_generator: Tensor
    dropout_generators_on_gpus: list[Tensor]
    average: dict[str, Any] | None = None  # of the weights, where there is one
    start: str | None = None  # a digest of the network that is adapted, where one is
    card: dict[str, Any] | None = None  # of the embedding: with it a model can be made of all this
    epoch: float | None = None  # how many are done
    cpu_seconds: float | None = None  # of the processor, over all resumptions

    def to_dict(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Self | None:
        """None for a file that is whole and yet no checkpoint of a training."""
        needed = [field.name for field in fields(cls) if field.default is MISSING]
        if any(state.get(name) is None for name in needed):
            return None
        spent = (state["step"], state["seconds"], state.get("cpu_seconds", 0.0))
        if not all(map(is_reachable, spent)):
            return None
        values: dict[str, Any] = {field.name: state.get(field.name) for field in fields(cls)}
        return cls(**values)


def is_reachable(value: object) -> bool:
    """Of steps, epochs and seconds: a number that a training could come to."""
    return isinstance(value, int | float) and 0 <= value < 1e15
