"""What the paper claims, and what the runs say to it: held, not held, or undecided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pseudoshot.studies.results import Column, Results
from pseudoshot.studies.statistics import Estimate, over_seeds
from pseudoshot.studies.study import Claim, PaperFigures

Judgement: TypeAlias = Literal["held", "not held", "undecided", "not measured"]


@dataclass(frozen=True)
class Finding:
    """What the difference of a claim is, and what that says."""

    claim: Claim
    judgement: Judgement
    difference: Estimate | None = None
    against: str = ""  # of the rows it is compared with, the one that comes nearest to refuting it
    note: str = ""

    @property
    def figure(self) -> str:
        """The difference as a person reads it."""
        if self.difference is None:
            return ""
        unit = "" if self.claim.of == "accuracy" else " %"
        known = math.isfinite(self.difference.interval)
        interval = f" ± {self.difference.interval:.2f}" if known else ""
        return f"{self.difference.value:+.2f}{interval}{unit}"


def judge(claim: Claim, results: Results) -> Finding:
    """A claim over several rows is held where it is against each of them, and not held where it is
    surely wrong against one."""
    missing = [row for row in (claim.row, *claim.than) if row in results.reasons]
    if missing:
        return Finding(claim, "not measured", note=f"{missing[0]}: {results.reasons[missing[0]]}")
    try:
        found = {rival: _difference(claim, rival, results) for rival in claim.than}
    except _NotMeasuredError as reason:
        return Finding(claim, "not measured", note=str(reason))
    verdicts = {rival: _verdict(claim, estimate) for rival, estimate in found.items()}
    order = ("not held", "undecided", "held")
    nearest = min(found, key=lambda r: (order.index(verdicts[r]), _support(claim, found[r])))
    note = "one seed" if found[nearest].seeds == 1 else ""
    return Finding(claim, verdicts[nearest], found[nearest], nearest, note)


class _NotMeasuredError(Exception):
    """Why there is no figure."""


def _difference(claim: Claim, rival: str, results: Results) -> Estimate:
    """What the claim's row has more than another, over the seeds that both have."""
    columns = results.columns(claim.row, rival)
    if not columns:
        raise _NotMeasuredError("not there yet")
    if claim.kind == "gains":
        if len(columns) < 2:
            raise _NotMeasuredError("the set allows one number of shots only")
        here, there = (_by_seed(claim, rival, results, [end]) for end in _ends(claim, columns))
        return over_seeds([here[seed] - there[seed] for seed in here])
    chosen = _chosen(claim, columns)
    if not chosen:
        raise _NotMeasuredError(f"the set does not allow {claim.shots} shots")
    return over_seeds(list(_by_seed(claim, rival, results, chosen).values()))


def _ends(claim: Claim, columns: Sequence[Column]) -> tuple[Column, Column]:
    """Where the gain is to be the larger, and the other end."""
    first, last = columns[0], columns[-1]
    return (first, last) if claim.at == "fewest" else (last, first)


def _chosen(claim: Claim, columns: Sequence[Column]) -> list[Column]:
    """Those of some columns that a claim is about."""
    if claim.shots == "fewest":
        return list(columns[:1])
    if claim.shots == "most":
        return list(columns[-1:])
    return [column for column in columns if claim.shots is None or column in claim.shots]


def papers_difference(claim: Claim, rival: str, papers: PaperFigures | None) -> float | None:
    """The same by the figures that the paper prints; None where it prints none."""
    if papers is None or claim.of != "accuracy":
        return None
    printed = [
        dict(zip(papers.shots, papers.figures.get(row, ()), strict=False))
        for row in (claim.row, rival)
    ]
    found = {shot: printed[0][shot] - printed[1][shot] for shot in printed[0] if shot in printed[1]}
    if claim.kind == "gains" and len(found) > 1:
        here, there = _ends(claim, list(found))
        return found[int(here)] - found[int(there)]
    chosen = [int(shot) for shot in _chosen(claim, list(found))]
    if claim.kind == "gains" or not chosen:
        return None
    return sum(found[shot] for shot in chosen) / len(chosen)


def _by_seed(claim: Claim, rival: str, results: Results, columns: list[Column]) -> dict[int, float]:
    """The difference of each seed, on the same tasks."""
    ours = results.values(claim.row, claim.of, columns)
    theirs = results.values(rival, claim.of, columns)
    found = {seed: ours[seed] - theirs[seed] for seed in ours if seed in theirs}
    if not found:
        raise _NotMeasuredError("not there yet")
    return found


def _verdict(claim: Claim, difference: Estimate) -> Judgement:
    """Nothing is said on one seed, whose interval is infinite."""
    low, high, margin = difference.low, difference.high, claim.margin
    if claim.kind == "same":
        held, wrong = -margin < low and high < margin, low > margin or high < -margin
    elif claim.kind == "not_worse":
        held, wrong = low > -margin, high < -margin
    elif claim.kind == "less":
        held, wrong = high < 0, low > 0
    else:
        held, wrong = low > 0, high < 0
    return "held" if held else "not held" if wrong else "undecided"


def _support(claim: Claim, difference: Estimate) -> float:
    """The larger, the more a difference speaks for the claim."""
    if claim.kind == "same":
        return -abs(difference.value)
    return -difference.value if claim.kind == "less" else difference.value
