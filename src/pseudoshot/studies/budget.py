"""How long each run of a study is trained: CPU seconds, epochs, or as the paper does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pseudoshot.tools.errors import PseudoshotError

PARTS = 10  # that so many seconds are cut into at most, as epochs: a checkpoint and a score each
STEPS_PER_PART = 20  # at least, so that less than a twentieth is lost where parts are made equal
LEAST_STEPS = 5  # where a step is seconds long, as MAML's, a short training is still one
_SECONDS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class StepCost:
    """What a training would take on the machine that a budget's seconds are counted on, measured by
    a few steps of it on one thread."""

    cpu_seconds: float  # per step
    steps: int  # as the paper has it
    steps_per_epoch: int
    epoch_before: float = 0.0  # CPU seconds per epoch of the run that it has trained first
    epochs_before: int = 0  # of that run, as the paper has it
    round_seconds: float = 0.0  # of the processor, to find clusters anew


@dataclass(frozen=True)
class Budget:
    """Of one run.

    >>> Budget.parse("20m").seconds, Budget.parse("10 epochs").epochs, Budget.parse("paper").paper
    (1200.0, 10, True)
    """

    seconds: float | None = None
    epochs: int | None = None

    @classmethod
    def parse(cls, text: str) -> Budget:
        if text.strip() == "paper":
            return cls()
        found = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(s|m|h|epochs?)\s*", text)
        if found and found[2] in _SECONDS and float(found[1]) > 0:
            return cls(seconds=float(found[1]) * _SECONDS[found[2]])
        if found and found[2] not in _SECONDS and re.fullmatch(r"0*[1-9]\d*", found[1]):
            return cls(epochs=int(found[1]))
        raise PseudoshotError(
            f"--budget '{text}' is no budget: give CPU time per run such as 90s, 20m or 2h, epochs "
            f"as in '10 epochs', or paper"
        )

    @property
    def given(self) -> str:
        """As it is typed.

        >>> Budget.parse("20m").given
        '1200s'
        """
        if self.seconds is not None:
            return f"{self.seconds:g}s"
        return "paper" if self.epochs is None else f"{self.epochs} epochs"

    @property
    def paper(self) -> bool:
        return self.seconds is None and self.epochs is None

    def __str__(self) -> str:
        if self.seconds is not None:
            return f"{self.seconds:g} CPU seconds per run"
        return "as the paper" if self.epochs is None else f"{self.epochs} epochs per run"

    def options(
        self,
        cost: StepCost | None,
        epochs: int,
        pre_learns: bool = False,
        round_epochs: int | None = None,
    ) -> dict[str, Any]:
        """What the settings of a run become, whose own `epochs` these are; never more than those.

        So many CPU seconds are so many steps, in at most ten parts, over which the learning rate
        is annealed step by step: by the epoch it would hardly fall. Where another run is trained
        first, it has half of the seconds or epochs. Clusters are found anew as often as the paper's
        are, or in every epoch, within the seconds.

        >>> Budget(seconds=100).options(StepCost(0.5, 1000, 10), 100)
        {'epochs': 10, 'episodes_per_epoch': 20, 'annealing': 'step'}
        >>> Budget(seconds=1000).options(StepCost(0.5, 1000, 10), 100)
        {}
        >>> Budget(seconds=100).options(StepCost(0.5, 1000, 10, 20.0, 100), 100)
        {'pre_learn_epochs': 2, 'epochs': 6, 'episodes_per_epoch': 20, 'annealing': 'step'}
        >>> Budget(epochs=10).options(None, 100, pre_learns=True)
        {'pre_learn_epochs': 5, 'epochs': 5}
        >>> Budget(epochs=40).options(None, 100, round_epochs=5)
        {'epochs': 40, 'round_epochs': 2}
        """
        if self.epochs is not None:
            found = self._in_epochs(self.epochs, epochs, pre_learns)
        elif self.seconds is not None:
            assert cost is not None
            found = self._in_seconds(self.seconds, cost)
        else:
            found = {}
        if round_epochs is not None and "epochs" in found:
            found["round_epochs"] = -(-round_epochs * found["epochs"] // epochs)
        return found

    def _in_seconds(self, given: float, cost: StepCost) -> dict[str, Any]:
        before = self._before(given, cost)
        left = given - before.get("pre_learn_epochs", 0) * cost.epoch_before

        def steps_beside(rounds: int) -> int:
            return max(0, int((left - rounds * cost.round_seconds) / cost.cpu_seconds))

        several = range(PARTS, 1, -1)
        parts = next((n for n in several if steps_beside(n) >= n * STEPS_PER_PART), 1)
        steps = steps_beside(parts)
        if steps >= cost.steps:
            return before
        if steps < LEAST_STEPS:
            raise PseudoshotError(
                f"{self} are {steps} steps of {cost.cpu_seconds:.2g} s{_after(cost)}, and "
                f"{LEAST_STEPS} are the least: raise --budget"
            )
        steps_each = {"epochs": parts, "episodes_per_epoch": steps // parts, "annealing": "step"}
        return {**before, **steps_each}

    @staticmethod
    def _in_epochs(given: int, papers: int, pre_learns: bool) -> dict[str, Any]:
        if not pre_learns:
            return {"epochs": min(given, papers)}
        first = max(1, given // 2)
        return {
            "pre_learn_epochs": min(first, papers),
            "epochs": min(max(1, given - first), papers),
        }

    @staticmethod
    def _before(given: float, cost: StepCost) -> dict[str, Any]:
        """Half of the seconds, in whole epochs, for a run that is trained first."""
        if not cost.epoch_before:
            return {}
        half = max(1, int(given / 2 / cost.epoch_before))
        return {"pre_learn_epochs": min(half, cost.epochs_before or half)}


def _after(cost: StepCost) -> str:
    """What else the seconds are for."""
    if cost.epoch_before:
        return f", after an epoch of {cost.epoch_before:.0f} s of the run that it needs"
    if cost.round_seconds:
        return f", after {cost.round_seconds:.2g} s to find clusters"
    return ""
