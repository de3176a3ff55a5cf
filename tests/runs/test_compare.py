"""Two small runs on the same tasks: what is recorded, what is compared, what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import pseudoshot
from pseudoshot.evaluation.comparison import paired_difference
from pseudoshot.evaluation.records import read_records, read_scores
from pseudoshot.runs import evaluate_run, train
from pseudoshot.tools.errors import PseudoshotError
from tests.cli.entry import here, refused
from tests.cli.entry import pseudoshot as command

SMALL = {"epochs": 1, "episodes_per_epoch": 3, "images": 8, "tasks": 8}
TASKS = ("--shot", 1, "--shot", 5, "--tasks", 300)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Of two seeds and two sizes of images."""
    folder = tmp_path_factory.mktemp("runs")
    for seed, size in enumerate((28, 24)):
        train("glyphs", folder / f"{seed}", seed=seed, size=size, **SMALL)
    return folder / "0", folder / "1"


def test_paired_intervals_are_narrower_and_can_be_had_from_the_records(
    runs: tuple[Path, Path],
) -> None:
    comparison = pseudoshot.compare(runs, "glyphs", shots=(1, 5), tasks=1000)
    first, second = comparison.runs
    assert first.differences == ()
    records = [read_records(run)[-1] for run in runs]
    scores = [read_scores(run, record) for run, record in zip(runs, records, strict=True)]
    for number, found in enumerate(second.differences):
        before, after = (run.evaluation.results[number] for run in (first, second))
        assert found.difference == pytest.approx(after.accuracy - before.accuracy, abs=1e-4)
        assert found.interval < math.hypot(before.interval, after.interval)
        assert (found.difference, found.interval) == paired_difference(
            scores[0][number], scores[1][number]
        )
    assert records[0].labelling == records[1].labelling
    assert records[0].fingerprint != records[1].fingerprint  # their images differ in size


def test_the_command_prints_a_table_or_one_object(runs: tuple[Path, Path]) -> None:
    before = [len(read_records(run)) for run in runs]
    result = command("compare", *runs, "conv4-cifar-fs", "glyphs", *TASKS, "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert (answer["data"], answer["way"], answer["query"]) == ("glyphs:test", 5, 7)
    assert [run["run"] for run in answer["runs"]] == [*map(str, runs), "conv4-cifar-fs"]
    assert [len(run["differences"]) for run in answer["runs"]] == [0, 2, 2]

    table = here("compare", *runs, "conv4-cifar-fs", "glyphs", *TASKS).stdout
    for run in answer["runs"]:
        for found in run["differences"]:
            mark = " *" if found["excludes_zero"] else " │"
            assert f"{found['difference']:+.2f} ± {found['interval']:.2f}{mark}" in table
    assert [len(read_records(run)) for run in runs] == [number + 2 for number in before]
    assert not Path("conv4-cifar-fs").exists()


def test_what_cannot_be_compared_is_one_sentence(runs: tuple[Path, Path]) -> None:
    refused(here("compare"), "needs two runs or more, .* given were 0 runs")
    refused(here("compare", runs[0], "glyphs"), "needs two runs or more, .* given were 1 runs")
    refused(here("compare", runs[0], "runs/none", "glyphs"), "'runs/none' holds no model")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shots": (6,)}, "6 shots and 7 queries need 13 images"),
        ({"tasks": 1}, "--tasks must be at least 2"),
        ({"classifier": "fate"}, "did you mean 'feat'"),
    ],
)
def test_impossible_tasks_are_refused(
    runs: tuple[Path, Path], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PseudoshotError, match=message):
        pseudoshot.compare(runs, "glyphs", **options)
    with pytest.raises(PseudoshotError, match="needs two runs or more"):
        pseudoshot.compare(str(runs[0]), "glyphs", **options)


def test_a_folder_that_cannot_be_written_costs_no_result(
    runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "evaluations.jsonl")

    monkeypatch.setattr("pseudoshot.runs.evaluating.append_record", refuse)
    before = (runs[0] / "report.html").read_bytes()
    assert evaluate_run(runs[0], "glyphs", shots=(1,), tasks=20).results
    told = capsys.readouterr().err.replace("\n", " ")
    assert "the evaluation was not recorded" in told
    assert (runs[0] / "report.html").read_bytes() == before


def test_evaluating_a_run_records_it_and_keeps_what_was_measured_before(
    runs: tuple[Path, Path],
) -> None:
    before = read_records(runs[1])
    results = [
        evaluate_run(runs[1], "glyphs", way=way, shots=(1,), tasks=20, seed=7).results[0]
        for way in (3, 4)
    ]
    assert read_records(runs[1])[: len(before)] == before
    assert [r.results[0] for r in read_records(runs[1])[len(before) :]] == results
    page = (runs[1] / "report.html").read_text()
    for result in results:
        assert f"{result.accuracy:.2f} <small>± {result.interval:.2f}" in page


def test_runs_of_other_images_are_refused(
    runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pseudoshot.runs import comparing as module

    sets = iter(("glyphs:test", "glyphs:train"))
    monkeypatch.setattr(
        module, "evaluate_run", lambda run, _, **options: evaluate_run(run, next(sets), **options)
    )
    with pytest.raises(PseudoshotError, match="not of the same tasks"):
        pseudoshot.compare(runs, "glyphs", shots=(1,), tasks=20)
