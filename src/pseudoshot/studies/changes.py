"""What differs from the paper, and why its figures and these are of different trainings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pseudoshot.settings.options import flatten
from pseudoshot.settings.resolve import dashed, resolve
from pseudoshot.studies.order import Order
from pseudoshot.studies.plan import without_whole_way
from pseudoshot.studies.results import Results, Trained
from pseudoshot.studies.study import Study

PAPER_DATA = "miniimagenet"
_NAMED_APART = ("seed", "start_from", "from_run", "data", "backbone")
_WITHIN_LENGTH = ("epochs", "episodes_per_epoch")
_FEW = 3  # values that are listed


def changes(study: Study, results: Results, order: Order) -> list[str]:
    """In words: the set, the network, the length, then every other setting."""
    runs = [
        (study.options(run), by_seed)
        for run, by_seed in results.runs.items()
        if "start" not in study.runs[run]
    ]
    pairs: dict[str, dict[tuple[str, str], None]] = {}
    for options, by_seed in runs:
        ours = flatten(next(iter(by_seed.values())).settings.model_dump())
        for name, before, after in _differences(_papers(study, options), ours):
            pairs.setdefault(name, {})[before, after] = None
    found = [f"set: {PAPER_DATA} → {order.data}"] if order.data != PAPER_DATA else []
    networks = {t.settings.backbone.name for _, by_seed in runs for t in by_seed.values()}
    if networks - {study.backbone}:
        found.append(f"network: {study.backbone} → {', '.join(sorted(networks))}")
    lengths = _lengths([*results.runs.values()])
    found += lengths
    for name, values in pairs.items():
        if name not in (*_NAMED_APART, *(_WITHIN_LENGTH if lengths else ())):
            found.append(f"{dashed(name)}: {_listed([f'{a} → {b}' for a, b in values])}")
    return found


def _papers(study: Study, options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run as the paper has them."""
    given = {"recipe": "paper", "data": PAPER_DATA, "backbone": study.backbone, **options}
    settings = flatten(resolve(without_whole_way(given)).model_dump())
    if settings.get("pre_learn") and settings["pre_learn_epochs"] is None:
        settings["pre_learn_epochs"] = settings["epochs"]  # both are the recipe's
    return settings


def _differences(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    for name, value in before.items():
        if name in after and value != after[name]:
            yield name, str(value), str(after[name])


def _lengths(runs: Sequence[Mapping[int, Trained]]) -> list[str]:
    """How many steps the runs have made, of those that the paper's epochs would be on this set."""
    found = [t for by_seed in runs for t in by_seed.values() if t.papers_steps]
    shares = [t.steps / t.papers_steps for t in found if t.papers_steps]
    if not shares or min(shares) > 0.99:
        return []
    steps = _span([t.steps for t in found])
    percent = _span([100 * share for share in shares])
    return [f"steps: {_span([t.papers_steps or 0 for t in found])} → {steps} ({percent} %)"]


def _span(values: Sequence[float]) -> str:
    """
    >>> _span([1200, 1200]), _span([0.51, 2.0])
    ('1,200', '0.51 to 2')
    """
    ends = [f"{v:,.0f}" if v >= 100 else f"{v:.2g}" for v in (min(values), max(values))]
    return " to ".join(dict.fromkeys(ends))


def _listed(found: Sequence[str]) -> str:
    more = f" and {len(found) - _FEW} more" if len(found) > _FEW else ""
    return ", ".join(found[:_FEW]) + more
