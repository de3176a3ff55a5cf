"""The figures of a study's page."""

from base64 import b64decode
from math import inf
from pathlib import Path

import pytest

from pseudoshot.settings.resolve import resolve
from pseudoshot.studies.drawing import bars, curves
from pseudoshot.studies.lines import lines_along
from pseudoshot.studies.results import Results, Trained
from pseudoshot.studies.statistics import Estimate
from pseudoshot.studies.study import get_study, read_study
from pseudoshot.studies.tables import Cell, Line, Table


def drawn(rows: int, from_paper: bool) -> tuple[str, str]:
    """The markup, and the picture in it."""
    cell = Cell(Estimate(60.0, inf, 1), 0.5, 40.0)
    empty = Cell(None, None, None)
    lines = tuple(Line(f"row {n}", (cell, cell if n else empty)) for n in range(rows))
    markup = bars(Table((1, 5), lines, None), from_paper)
    return markup, b64decode(markup.split("base64,")[1].split('"')[0]).decode()


@pytest.mark.parametrize("from_paper", [False, True])
def test_few_rows_are_bars_and_many_are_dots_with_their_names(from_paper):
    few, picture = drawn(3, from_paper)
    assert "does not begin at 0" in few
    assert "row 2" in picture
    many, picture = drawn(25, from_paper)
    assert "does not begin at 0" not in many
    assert all(f"row {n}" in picture for n in range(25))


def test_where_nothing_is_known_nothing_is_drawn():
    assert not bars(Table((1,), (Line("row", (Cell(None, None, None),)),), None), from_paper=False)


def test_fine_tuned_runs_are_a_line_for_each_start(monkeypatch):
    study = get_study("labels")
    names = [row.name for row in study.rows]
    cells = [Cell(Estimate(50.0 + place, 1.0, 3), None, None) for place in range(len(names))]
    lines = tuple(Line(name, (cell,)) for name, cell in zip(names, cells, strict=True))
    plots = []
    monkeypatch.setattr("pseudoshot.studies.drawing.as_svg", lambda plot: plots.append(plot) or b"")
    markup = lines_along(study, Table((1,), lines, None), from_paper=False)
    assert "Dashed: ProtoNet." in markup
    (axes,) = plots[0].axes
    told = {line.get_label(): line for line in axes.containers}
    assert list(told) == ["pre-trained", "Baseline", "HMS", "TSP-Head", "SimCLR", "MoCo-v2"]
    place = names.index("HMS")
    assert told["HMS"][0].get_ydata().tolist() == [50.0 + place + n for n in range(4)]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "0.01", "0.1", "1"]
    assert not lines_along(study, Table((1,), lines, None), from_paper=True)


@pytest.mark.parametrize(("key", "bands"), [("norm_mean", 2), ("gradient_norm", 0)])
def test_the_length_of_embeddings_is_drawn_with_their_deviation(key, bands, monkeypatch):
    log = [{"step": n, key: 2.0, "norm_std": 0.5} for n in (1, 2, 3)]
    run = Trained(Path("nowhere"), resolve({"data": "glyphs"}), log, None)
    study = read_study(
        "s", f'title = ""\nwhere = ""\nasks = ""\ncurves = ["{key}"]\n[runs]\nA = {{}}'
    )
    found = Results(study, 2, runs={"A": {0: run, 1: run}, "B": {0: run}})
    plots = []
    monkeypatch.setattr("pseudoshot.studies.drawing.as_svg", lambda plot: plots.append(plot) or b"")
    assert len(curves(study, found)) == 1
    (axes,) = plots[0].axes
    assert len(axes.collections) == bands
    for band in axes.collections:
        assert {*band.get_paths()[0].vertices[:, 1]} == {1.5, 2.5}
