"""Several runs on the same tasks, and how much each differs from the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Unpack

from pseudoshot.embedders import load
from pseudoshot.evaluation import Evaluation
from pseudoshot.evaluation.comparison import Difference, differences
from pseudoshot.runs.evaluating import ProtocolOptions, evaluate_run
from pseudoshot.tools.errors import PseudoshotError

# what two runs may differ in
_OWN = ("similarity", "classifier", "setting", "reading", "results", "pretrained_labels")


@dataclass(frozen=True)
class ComparedRun:
    """What a run reached, and per shot what it has more than the first run."""

    run: str
    evaluation: Evaluation
    differences: tuple[Difference, ...]  # none for the first

    def as_dict(self) -> dict[str, Any]:
        told = self.evaluation.as_dict()
        own = {name: told[name] for name in _OWN}
        return {"run": self.run, **own, "differences": [asdict(d) for d in self.differences]}


@dataclass(frozen=True)
class Comparison:
    """Runs measured on the same tasks."""

    runs: tuple[ComparedRun, ...]

    def as_dict(self) -> dict[str, Any]:
        """The protocol they share, then each run."""
        told = self.runs[0].evaluation.as_dict()
        shared = {name: value for name, value in told.items() if name not in _OWN}
        return {**shared, "runs": [run.as_dict() for run in self.runs]}


def compare(
    runs: Sequence[str | Path], data: str | Path, **options: Unpack[ProtocolOptions]
) -> Comparison:
    """Measure runs, or bundled models, on the same tasks, and each against the first.

    Options are those of `pseudoshot evaluate`. Each evaluation is recorded in the folder of its
    run.

    >>> compare(["runs/a", "runs/b"], "cifar-fs", shots=[1, 5])  # doctest: +SKIP
    """
    runs = [runs] if isinstance(runs, str | Path) else runs
    if len(runs) < 2:
        raise PseudoshotError(
            f"a comparison needs two runs or more, and then the images to measure them on; given "
            f"were {len(runs)} runs: name them as in `pseudoshot compare RUN RUN DATA`"
        )
    if options.get("tasks", 2) < 2:
        raise PseudoshotError(f"--tasks must be at least 2 to compare runs, not {options['tasks']}")
    for run in runs:
        load(run)  # one that is not there is told before the work of measuring the others
    evaluations = [evaluate_run(run, data, **options) for run in runs]
    first, *others = evaluations
    found = [(), *(differences(first, other) for other in others)]
    return Comparison(tuple(map(ComparedRun, map(str, runs), evaluations, found)))
