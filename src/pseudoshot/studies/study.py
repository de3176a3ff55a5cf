"""A study: a table or figure of the paper as data, one TOML file each in `paper/`.

It names the runs it needs, how they are measured, the paper's figures, and what the paper claims.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeAlias, get_args

from pydantic import Field, ValidationError, model_validator

from pseudoshot.evaluation.few_shot import DEFAULT_SHOTS
from pseudoshot.settings.options import all_options
from pseudoshot.tools.errors import PseudoshotError, validation_line
from pseudoshot.tools.registry import Settings, unknown

LINEAR = "linear"  # the column of a linear evaluation
OWN = ("start", "measure")  # what a run says beside the options of `train`
KINDS = ("better", "not_worse", "same", "less", "gains", "falls")
TOLERANT = ("not_worse", "same")  # whose margin is what does not count
# what can be claimed about: accuracy, curves of the log, and the cost of a step
Curve: TypeAlias = Literal["loss", "pseudo_accuracy", "norm_mean", "gradient_norm"]
Quantity: TypeAlias = Literal["accuracy", Curve, "step_seconds"]
QUANTITIES: tuple[str, ...] = get_args(Quantity)


class Claim(Settings):
    """What the paper says of its figures, as a comparison that can come out either way."""

    says: str
    """the sentence"""
    in_table: bool = False
    """no sentence of the paper says so: its table does"""
    better: str | None = None
    """this row is above each of `than` by more than `margin`"""
    not_worse: str | None = None
    """this row is above each of `than`, or below by less than `margin`"""
    same: str | None = None
    """this row differs from each of `than` by less than `margin`"""
    less: str | None = None
    """this row is below each of `than` by more than `margin`: of norms and costs"""
    gains: str | None = None
    """this row is above each of `than` at `at`, and by more than `margin` more so than at the other
    end"""
    falls: str | None = None
    """this row has less at the end of its training than at the beginning, by more than `margin`:
    of curves"""
    than: tuple[str, ...] = ()
    """the rows it is compared with"""
    only_on: str = ""
    """the set that it is said of, where it is not said of all"""
    shots: tuple[int | str, ...] | Literal["fewest", "most", "each"] | None = None
    """where: the mean over these shots, as far as the set allows them; over all where not given;
    each: at every one of them"""
    at: Literal["fewest", "most"] = "fewest"
    """of `gains`: the end of the shots where the gain is the larger"""
    of: Quantity = "accuracy"
    """what is compared; all but accuracy as percent more or less"""
    margin: float | None = Field(default=None, ge=0)
    """in points of accuracy, or percent: of `not_worse` and `same` what does not count, 1 where not
    given; of the others what a difference must exceed, 0 where not given"""

    @property
    def kind(self) -> str:
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def threshold(self) -> float:
        """The margin, given or not."""
        if self.margin is not None:
            return self.margin
        return 1.0 if self.kind in TOLERANT else 0.0

    @property
    def row(self) -> str:
        """That the claim is about."""
        return str(getattr(self, self.kind))

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        one = sum(getattr(self, kind) is not None for kind in KINDS) == 1
        if not one or bool(self.than) == (self.falls is not None):
            raise ValueError(f"a claim has one of {', '.join(KINDS)}, and `than` unless it falls")
        if self.falls is not None and self.of not in get_args(Curve):
            raise ValueError(f"{self.of} is no curve that could fall")
        if self.kind in TOLERANT and self.margin == 0:
            raise ValueError(f"{self.kind} with a margin of 0 could never be held")
        return self


class PaperFigures(Settings):
    """Accuracies that the paper prints, by row."""

    data: str = "miniimagenet"
    backbone: str
    shots: tuple[int, ...] = DEFAULT_SHOTS
    figures: dict[str, tuple[float, ...]]
    """at each shot; fewer where the paper has no more"""

    def of(self, row: str) -> dict[int | str, float]:
        """Those of a row, by shot.

        >>> PaperFigures(backbone="conv4", figures={"HMS": (48.12, 65.33)}).of("HMS")
        {1: 48.12, 5: 65.33}
        """
        return dict(zip(self.shots, self.figures.get(row, ()), strict=False))


class Row(NamedTuple):
    """A line of the table: a run, measured in one of the study's ways."""

    name: str
    run: str
    evaluation: str


class Study(Settings):
    """One file of `paper/`."""

    name: str
    file: str = ""
    """of a person's own study"""
    title: str
    where: str = ""
    """in the paper"""
    asks: str = ""
    """what it is about, in a sentence or two"""
    backbone: str = "resnet12"
    """the paper's; a smaller budget than the paper's takes conv4, unless a run names its own"""
    least_budget: str = ""
    """CPU time per run below which it is not worth beginning"""
    common: dict[str, Any] = Field(default_factory=dict)
    """options of every run"""
    runs: dict[str, dict[str, Any]]
    """by row: options of `train`; `start`: the run that is fine-tuned with labels; `measure`: which
    evaluations, all where not given"""
    evaluations: dict[str, dict[str, Any]] = Field(default_factory=lambda: {"": dict[str, Any]()})
    """by name: options of `evaluate`, and `on`: another set"""
    paper: tuple[PaperFigures, ...] = ()
    claims: tuple[Claim, ...] = ()
    reference: str = ""
    """the row that others are compared with: the first where not given"""
    along: str = ""
    """an option that the runs differ in by number: drawn as a line"""
    curves: tuple[Curve, ...] = ()
    """keys of the log that are drawn for every run"""

    @property
    def rows(self) -> tuple[Row, ...]:
        found = []
        for run, given in self.runs.items():
            names = given.get("measure", list(self.evaluations))
            for evaluation in names:
                alone = not evaluation or len(self.evaluations) == 1
                name = run if alone else f"{run}, {evaluation}"
                found.append(Row(name, run, evaluation))
        return tuple(found)

    @property
    def reference_row(self) -> str:
        """That others are compared with."""
        return self.reference or self.rows[0].name

    def options(self, run: str) -> dict[str, Any]:
        """Of `train`."""
        given = {name: value for name, value in self.runs[run].items() if name not in OWN}
        return {**self.common, **given}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        rows = {row.name for row in self.rows}
        strangers = {row for claim in self.claims for row in (claim.row, *claim.than)} - rows
        strangers |= {self.reference} - rows - {""}
        if strangers:
            raise ValueError(f"no row is called {', '.join(sorted(strangers))}")
        for run, given in self.runs.items():
            if "start" in given and given["start"] not in self.runs:
                raise ValueError(f"{run} starts from {given['start']}, which is no run")
            wrong = [m for m in given.get("measure", ()) if m not in self.evaluations]
            wrong += [option for option in self.options(run) if option not in all_options()]
            if wrong:
                raise ValueError(f"{run}: unknown {', '.join(wrong)}")
            if not isinstance(self.options(run).get(self.along), int | float | None):
                raise ValueError(f"{run}: {self.along} is no number to be drawn along")
        return self


@functools.cache
def all_studies() -> Mapping[str, Study]:
    """By name, in the order of `paper/order.txt`: that of the paper."""
    folder = resources.files("pseudoshot.studies") / "paper"
    names = (folder / "order.txt").read_text(encoding="utf-8").split()
    return {name: read_study(name, (folder / f"{name}.toml").read_text("utf-8")) for name in names}


def read_study(name: str, text: str) -> Study:
    """From the text of its file.

    >>> read_study("mine", 'title = "T"\\n[runs]\\nA = {way = 5}').rows
    (Row(name='A', run='A', evaluation=''),)
    """
    try:
        return Study(name=name, **tomllib.loads(text))
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise PseudoshotError(f"study '{name}' cannot be read: {error}") from error
    except ValidationError as error:
        raise PseudoshotError(f"study '{name}': {validation_line(error)}") from error


def get_study(name: str) -> Study:
    """One of the paper's by its name, or a person's own by the path of its TOML file.

    >>> get_study("way").where
    'appendix A, Figure 10'
    """
    studies = all_studies()
    if name.endswith(".toml"):
        path = Path(name)
        try:
            study = read_study(path.stem, path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise PseudoshotError(f"the study '{name}' cannot be read: {error}") from error
        return study.model_copy(update={"file": name})
    if name not in studies:
        raise unknown("study", name, studies)
    return studies[name]
