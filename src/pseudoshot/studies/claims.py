"""What the paper claims, and what the runs say to it: held, not held, or undecided."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from pseudoshot.studies.results import Column, Results
from pseudoshot.studies.statistics import CONFIDENCE, Estimate, over_seeds
from pseudoshot.studies.study import Claim, PaperFigures
from pseudoshot.studies.tables import heading

Judgement: TypeAlias = Literal["held", "not held", "undecided", "not measured"]


@dataclass(frozen=True)
class Finding:
    """What the difference of a claim is, and what that says."""

    claim: Claim
    judgement: Judgement
    difference: Estimate | None = None
    against: str = ""  # of the rows it is compared with, the one that comes nearest to refuting it
    columns: tuple[Column, ...] = ()  # the mean over these; of `gains`, one end and the other
    paper: float | None = None  # the same difference by the figures that the paper prints
    note: str = ""

    @property
    def figure(self) -> str:
        """The difference as a person reads it."""
        if self.difference is None:
            return ""
        known = math.isfinite(self.difference.interval)
        if self.claim.of == "accuracy":
            interval = f" ± {self.difference.interval:.2f}" if known else ""
            return f"{self.difference.value:+.2f}{interval}"
        low, high = _ends(self.claim, self.difference)
        interval = f" ({low:+.1f} to {high:+.1f})" if known else ""
        return f"{as_percent(self.difference.value):+.1f} %{interval}"

    @property
    def between(self) -> str:
        """What was compared."""
        if self.claim.kind == "falls":
            return f"{self.claim.row}: last and first fifth of the training"
        return f"{self.claim.row} and {self.against}" if self.against else ""

    @property
    def papers_figure(self) -> str:
        return "" if self.paper is None else f"{self.paper:+.2f}"

    @property
    def judged(self) -> str:
        """At which shots, and by which margin."""
        return ", ".join(words for words in (self._place(), self._margin()) if words)

    def _place(self) -> str:
        if not self.columns:
            return ""
        place = _place_in_words(self.claim, self.columns)
        if self.claim.shots == "each":
            return f"every number of shots, here {place}"
        alone = self.claim.kind == "gains" or len(self.columns) == 1
        return place if alone else f"mean of {place}"

    def _margin(self) -> str:
        margin, kind = _margin_at(self.claim, self.columns), self.claim.kind
        unit = " %" if self.claim.of != "accuracy" else " point" if margin == 1 else " points"
        words = {"same": "within {}", "not_worse": "at most {} below"}.get(kind, "by more than {}")
        return words.format(f"{margin:g}{unit}") if margin else ""


def shots_in_words(columns: Sequence[Column]) -> str:
    """
    >>> shots_in_words([1]), shots_in_words([1, 5, 20])
    ('1 shot', '1, 5 and 20 shots')
    """
    *most, last = columns
    return f"{', '.join(map(str, most))} and {last} shots" if most else heading(last)


def _place_in_words(claim: Claim, columns: Sequence[Column]) -> str:
    """Of one case."""
    if claim.kind != "gains":
        return shots_in_words(columns)
    here, *there = map(heading, columns)
    return f"{here} more than {there[0]}" if there else f"any gain at {here}"


def as_percent(logarithm: float) -> float:
    """How many percent more a quantity is whose logarithm is more by so many hundredths.

    >>> as_percent(100 * math.log(2)), as_percent(100 * math.log(1 / 2))
    (100.0, -50.0)
    """
    with np.errstate(over="ignore"):
        return 100 * float(np.expm1(logarithm / 100))


def _ends(claim: Claim, difference: Estimate) -> tuple[float, float]:
    """Of the interval, in points or percent as the margin is."""
    if claim.of == "accuracy":
        return difference.low, difference.high
    return as_percent(difference.low), as_percent(difference.high)


class _Case(NamedTuple):
    """One of the comparisons that a claim makes."""

    rival: str
    columns: tuple[Column, ...]


def judge(claim: Claim, results: Results, papers: PaperFigures | None = None) -> Finding:
    """A claim over several rows or shots is held where it is in each case, and not held where it is
    surely wrong in one."""
    try:
        found = {case: _difference(claim, case, results) for case in _cases(claim, results)}
    except _NotMeasuredError as reason:
        return Finding(claim, "not measured", note=str(reason))
    verdicts = {case: _verdict(claim, case, found[case], len(found)) for case in found}
    order = ("not held", "undecided", "held")
    nearest = min(found, key=lambda c: (order.index(verdicts[c]), _support(claim, found[c])))
    return Finding(
        claim,
        verdicts[nearest],
        found[nearest],
        nearest.rival,
        nearest.columns,
        papers_difference(claim, nearest.rival, nearest.columns, papers),
        "; ".join(_notes(claim, found, results, papers)),
    )


def _notes(
    claim: Claim, found: Mapping[_Case, Estimate], results: Results, papers: PaperFigures | None
) -> Iterator[str]:
    """What is to be known beside the verdict."""
    if claim.in_table:
        yield "read off the paper's table"
    if any(estimate.seeds == 1 for estimate in found.values()):
        yield "one seed"
    denied = next((case for case in found if _is_denied(claim, case, papers)), None)
    if denied is not None:
        where = f" ({denied.rival}, {_place_in_words(claim, denied.columns)})"
        place = where if len(found) > 1 else ""
        yield f"not so in the paper's own table{place}"
    for row in (claim.row, *claim.than):
        if seeds := results.without(row):
            yield f"without seed {', '.join(map(str, seeds))} of {row}"
    yield from _unlike(claim, results)


def _unlike(claim: Claim, results: Results) -> Iterator[str]:
    """Which of the rows look at all queries together, or were not measured on the others' tasks."""
    if claim.of != "accuracy":
        return
    rows = (claim.row, *claim.than)
    for note in dict.fromkeys(results.notes[row] for row in rows if row in results.notes):
        yield f"{note}: {', '.join(row for row in rows if results.notes.get(row) == note)}"
    protocols = results.protocols
    others = [
        f"{row} ({protocols[row].tasks:,})"
        for row in claim.than
        if row in protocols and protocols[row] != protocols.get(claim.row)
    ]
    if others:
        yield f"on other tasks than {claim.row}: {', '.join(others)}"


def _is_denied(claim: Claim, case: _Case, papers: PaperFigures | None) -> bool:
    """Whether the paper's figures lie where the claim says they do not; of what is better, whatever
    the margin, which is ours."""
    printed = papers_difference(claim, case.rival, case.columns, papers)
    if printed is None:
        return False
    if claim.kind == "same":
        return abs(printed) > claim.threshold
    if claim.kind == "less":
        return printed >= 0
    return printed < -claim.threshold if claim.kind == "not_worse" else printed <= 0


class _NotMeasuredError(Exception):
    """Why there is no figure."""


def _cases(claim: Claim, results: Results) -> list[_Case]:
    if claim.only_on not in ("", results.data.partition(":")[0]):
        raise _NotMeasuredError(f"said of {claim.only_on} alone")
    for row in (claim.row, *claim.than):
        if row in results.reasons:
            raise _NotMeasuredError(f"{row}: {results.reasons[row]}")
    if claim.of != "accuracy":
        return [_Case(rival, ()) for rival in claim.than or ("",)]
    return [
        _Case(rival, columns)
        for rival in claim.than
        for columns in _places(claim, tuple(results.columns(claim.row, rival)))
    ]


def _places(claim: Claim, columns: tuple[Column, ...]) -> list[tuple[Column, ...]]:
    """Where a claim is judged, of the columns that both rows have."""
    if not columns:
        raise _NotMeasuredError("not there yet")
    if claim.kind == "gains":
        if len(columns) < 2:
            raise _NotMeasuredError("the set allows one number of shots only")
        first, last = columns[0], columns[-1]
        here, there = (first, last) if claim.at == "fewest" else (last, first)
        return [(here, there), (here,)]  # who loses least there has gained nothing
    if claim.shots == "each":
        return [(column,) for column in columns]
    if claim.shots in ("fewest", "most"):
        return [columns[:1] if claim.shots == "fewest" else columns[-1:]]
    chosen = tuple(c for c in columns if claim.shots is None or c in claim.shots)
    if not chosen:
        raise _NotMeasuredError(f"the set does not allow {shots_in_words(claim.shots or ())}")
    return [chosen]


def _difference(claim: Claim, case: _Case, results: Results) -> Estimate:
    """What the claim's row has more than another, or than at the beginning of its training, over
    the seeds that both have."""
    if claim.kind == "falls":
        early = results.values(claim.row, claim.of, early=True)
        return over_seeds([*_more(results.values(claim.row, claim.of), early).values()])
    if claim.kind == "gains" and len(case.columns) == 2:
        here, there = (_by_seed(claim, case.rival, results, [end]) for end in case.columns)
        return over_seeds([*_more(here, there).values()])
    return over_seeds([*_by_seed(claim, case.rival, results, case.columns).values()])


def papers_difference(
    claim: Claim, rival: str, columns: Sequence[Column], papers: PaperFigures | None
) -> float | None:
    """The same by the figures that the paper prints, at those of these shots that it has; None
    where it prints none."""
    if papers is None or claim.of != "accuracy":
        return None
    ours, theirs = papers.of(claim.row), papers.of(rival)
    found = [ours[column] - theirs[column] for column in columns if column in ours.keys() & theirs]
    if claim.kind == "gains" and len(columns) == 2:
        return found[0] - found[1] if len(found) == 2 else None
    return sum(found) / len(found) if found else None


def _by_seed(
    claim: Claim, rival: str, results: Results, columns: Sequence[Column]
) -> dict[int, float]:
    ours = results.values(claim.row, claim.of, columns)
    return _more(ours, results.values(rival, claim.of, columns))


def _more(ours: Mapping[int, float], theirs: Mapping[int, float]) -> dict[int, float]:
    """The difference of each seed that both have."""
    found = {seed: ours[seed] - theirs[seed] for seed in ours if seed in theirs}
    if not found:
        raise _NotMeasuredError("not there yet")
    return found


def _margin_at(claim: Claim, columns: Sequence[Column]) -> float:
    """Of a gain itself there is none: it is about how much more it is than at the other end."""
    return 0.0 if claim.kind == "gains" and len(columns) == 1 else claim.threshold


def _verdict(claim: Claim, case: _Case, difference: Estimate, cases: int) -> Judgement:
    """Of one of so many cases. Nothing is said on one seed, whose interval is infinite."""
    low, high = _ends(claim, difference)
    least, most = _ends(claim, _widened(difference, cases))
    margin = _margin_at(claim, case.columns)
    if claim.kind == "same":
        held, wrong = -margin < low and high < margin, least > margin or most < -margin
    elif claim.kind == "not_worse":
        held, wrong = low > -margin, most < -margin
    elif claim.kind in ("less", "falls"):
        held, wrong = high < -margin, least > -margin
    else:
        held, wrong = low > margin, most < margin
    return "held" if held else "not held" if wrong else "undecided"


def _widened(difference: Estimate, cases: int) -> Estimate:
    """With the interval that misses in one of so many cases no more often than the given one does
    alone (Bonferroni's inequality)."""
    from scipy.special import stdtrit  # takes a while to import

    if difference.seeds == 1:
        return difference
    missed = (1 - CONFIDENCE) / 2
    wide, usual = stdtrit(difference.seeds - 1, [1 - missed / cases, 1 - missed])
    return replace(difference, interval=difference.interval * float(wide / usual))


def _support(claim: Claim, difference: Estimate) -> float:
    """The larger, the more a difference speaks for the claim."""
    if claim.kind == "same":
        return -abs(difference.value)
    return -difference.value if claim.kind in ("less", "falls") else difference.value
