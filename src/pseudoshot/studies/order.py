"""What a person asked for: which data, how long, how often, and where it is to lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pseudoshot.data import is_named
from pseudoshot.studies.budget import Budget
from pseudoshot.tools.errors import PseudoshotError

LAPTOP = "conv4"


@dataclass(frozen=True)
class Order:
    """Everything that all runs of the studies share."""

    data: str
    test: str  # what is measured on
    budget: Budget
    seeds: int
    tasks: int
    out: Path
    backbone: str | None = None  # in place of the paper's
    data_root: Path | None = None

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise PseudoshotError(f"--seeds must be at least 1, not {self.seeds}")
        if self.tasks < 2:
            raise PseudoshotError(f"--tasks must be at least 2, not {self.tasks}")

    def network(self, of_study: str) -> str:
        """The paper's at its own budget; else what a laptop can train."""
        return self.backbone or (of_study if self.budget.paper else LAPTOP)


def measured_on(data: str, given: str | None) -> str:
    """What is measured on: what was given, or the test split of a named set.

    >>> measured_on("cifar-fs", None), measured_on("cifar-fs:train", "cifar-fs:val")
    ('cifar-fs', 'cifar-fs:val')
    """
    if given is not None:
        return given
    if not is_named(data):
        raise PseudoshotError(
            f"a study of the folder '{data}' needs labelled images of other classes: give --test, "
            f"a folder with a subfolder per class"
        )
    return data.partition(":")[0]


@dataclass(frozen=True)
class Shard:
    """One of several processes or machines that share the runs of a study."""

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """
        >>> Shard.parse("2/8")
        Shard(number=2, of=8)
        """
        first, slash, last = text.partition("/")
        if not (slash and first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last)):
            raise PseudoshotError(
                f"--shard '{text}' is no shard: give 1/8 for the first of eight, 8/8 for the last"
            )
        return cls(int(first), int(last))

    def has(self, position: int) -> bool:
        return position % self.of == self.number - 1
