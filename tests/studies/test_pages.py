"""Pages, Markdown and CSV of runs that were never trained: their records and logs are made up."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from pseudoshot.evaluation.records import Record
from pseudoshot.settings.resolve import resolve
from pseudoshot.studies.budget import Budget
from pseudoshot.studies.claims import Finding, judge
from pseudoshot.studies.order import Order
from pseudoshot.studies.pages import write_pages
from pseudoshot.studies.plan import Job, Plan, Planned
from pseudoshot.studies.results import Results, read_results
from pseudoshot.studies.shelf import TRAINING, Known, Shelf
from pseudoshot.studies.study import Study, read_study
from pseudoshot.studies.tables import accuracy_table, difference_table
from pseudoshot.studies.text_files import to_markdown

STUDY = read_study(
    "made-up",
    """
title = "Made up"
where = "Table 0"
asks = "What stands where."
backbone = "conv4"
curves = ["norm_mean"]
[runs]
"A" = {}
"B" = { way = 5 }
[evaluations]
"plain" = {}
[[paper]]
backbone = "conv4"
figures."A" = [40.0, 60.0, 70.0, 80.0]
figures."B" = [41.0, 59.0, 70.0, 70.0]
[[claims]]
says = "A is better at the most shots"
better = "A"
than = ["B"]
shots = "most"
[[claims]]
says = "A is shorter"
less = "A"
than = ["B"]
of = "norm_mean"
""",
)
SKIPPED = STUDY.model_copy(update={"name": "large", "title": "Large"})
ACCURACIES = {"A": (50.0, 60.0), "B": (45.0, 58.0)}  # at 1 and 5 shots
NORMS = {"A": 2.0, "B": 4.0}


def order(out: Path, seeds: int) -> Order:
    return Order("glyphs", "glyphs", Budget(seconds=60.0), seeds, 100, out)


def made_up(out: Path, seeds: int, studies: tuple[Study, ...] = (STUDY,)) -> tuple[Plan, Shelf]:
    """A plan whose runs are all done."""
    plan, shelf = Plan(order(out, seeds)), Shelf(out)
    for study in studies:
        for row in study.rows:
            for seed in range(seeds):
                identity = f"{row.run}{seed}"
                planned = Planned(identity, {"seed": seed}, None, row.run, identity)
                plan.jobs[identity] = Job(planned)
                plan.cells[study.name, row, seed] = identity, "measure"
                write_run(shelf, identity, row.run, seed)
    return plan, shelf


def write_run(shelf: Shelf, identity: str, run: str, seed: int) -> None:
    folder = shelf.run(identity)
    (folder.path / "evaluations").mkdir(parents=True)
    folder.write_settings(resolve({"data": "glyphs", "seed": seed}))
    log = [
        {
            "step": 10 * n,
            "epoch": n,
            "norm_mean": NORMS[run] + seed / 10,
            "norm_std": 0.5,
            "loss": 1.0,
        }
        for n in range(1, 11)
    ]
    folder.log_path.write_text(
        "".join(json.dumps({**r, "cpu_seconds": r["step"] / 100}) + "\n" for r in log)
    )
    name = f"20260101T000000Z-{seed:08x}"
    results = [
        {"shot": shot, "accuracy": value + seed / 10, "interval": 0.5}
        for shot, value in zip((1, 5), ACCURACIES[run], strict=True)
    ]
    record = Record.model_validate(
        {
            "id": name,
            "time": "2026-01-01T00:00:00Z",
            "measured": "trained",
            "data": "glyphs",
            "fingerprint": "",
            "labelling": "labels",
            "note": "",
            "way": 5,
            "query": 15,
            "tasks": 100,
            "seed": seed,
            "similarity": "sns",
            "classifier": "prototype",
            "setting": "inductive",
            "results": results,
            "versions": {"pseudoshot": "0.1.0", "torch": "2.0"},
        }
    )
    (folder.path / "evaluations.jsonl").write_text(record.model_dump_json() + "\n")
    scores = np.full((2, 100), 50, np.float32)
    np.save(folder.path / "evaluations" / f"{name}.npy", scores)
    shelf.remember(identity, Known(key=identity, trained=True, evaluated={"measure": name}))


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """Three seeds, and a study that is too large."""
    out = tmp_path_factory.mktemp("written")
    plan, shelf = made_up(out, 3)
    plan.skipped["large"] = "it needs 10h"
    write_pages([STUDY, SKIPPED], plan, shelf)
    return out


def test_all_claims_are_listed_with_the_papers_difference(written):
    text = (written / "claims.md").read_text()
    assert (
        "| A is better at the most shots | **held** | +2.00 ± 0.00 | +1.00 | 5 shots | A and B |"
        in text
    )
    assert text.count("**not measured**: skipped, it needs 10h") == len(SKIPPED.claims)
    page = (written / "made-up.html").read_text()
    assert '<td class="number">+1.00</td><td>5 shots</td><td>A and B</td>' in page


def test_the_index_says_what_was_found_and_what_was_left_out(written):
    rows = (written / "index.html").read_text().split("<tr>")[2:]
    assert '<a href="made-up.html">' in rows[0]
    assert "2 held</span>" in rows[0]
    assert SKIPPED.title in rows[1]
    assert "skipped: it needs 10h" in rows[1]
    assert "href" not in rows[1]


def read(plan: Plan, shelf: Shelf) -> tuple[Results, Finding]:
    results = read_results(STUDY, plan, shelf)
    return results, judge(STUDY.claims[0], results)


def test_one_seed_that_is_refused_leaves_the_others(tmp_path):
    plan, shelf = made_up(tmp_path, 4)
    shelf.refuse("B2", TRAINING, "no room on the disk")
    results, finding = read(plan, shelf)
    assert (finding.judgement, finding.difference.seeds) == ("held", 3)
    assert finding.note == "without seed 2 of B"
    lines = {line.name: line for line in accuracy_table(STUDY, results, None).lines}
    assert lines["B"].reason == "seed 2: no room on the disk"
    assert lines["B"].cells[0].ours.seeds == 3


def test_a_row_without_any_seed_has_the_first_reason(tmp_path):
    plan, shelf = made_up(tmp_path, 2)
    for identity in ("B0", "B1"):
        shelf.refuse(identity, TRAINING, f"no {identity}")
    _, finding = read(plan, shelf)
    assert (finding.judgement, finding.note) == ("not measured", "B: no B0")


def test_scores_that_cannot_be_read_are_a_reason_of_their_row(tmp_path):
    plan, shelf = made_up(tmp_path, 1)
    (scores,) = shelf.run("B0").path.glob("evaluations/*.npy")
    scores.write_bytes(b"broken")
    results, finding = read(plan, shelf)
    assert (finding.judgement, finding.note) == ("undecided", "one seed")
    lines = {line.name: line for line in accuracy_table(STUDY, results, None).lines}
    assert lines["B"].reason.startswith("seed 0: the scores of the tasks in")
    assert (lines["A"].cells[0].words(), lines["B"].cells[0].words()) == ("50.00 ± 0.50", "45.00")


def test_what_is_claimed_about_beside_accuracy_has_a_table(written):
    """Lengths of 2.0, 2.1 and 2.2: 2.1 ± 0.25."""
    text = (written / "made-up.md").read_text()
    assert (
        "| | length of the embeddings |\n|---|---|\n| A | 2.1 ± 0.25 |\n| B | 4.1 ± 0.25 |" in text
    )
    page = (written / "made-up.html").read_text()
    assert '<th scope="row">B</th><td class="number">4.1 ± 0.25</td>' in page
    assert "| A is shorter | **held** | -48.8 % " in text


def test_the_example_of_contributing_is_a_study_in_ten_lines(tmp_path):
    guide = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    study = read_study("mine", example)
    assert len(example.splitlines()) == 10
    assert [row.name for row in study.rows] == ["5 ways", "64 ways"]
    assert study.reference_row == "5 ways"
    results = Results(study, 1)
    tables = accuracy_table(study, results, None), difference_table(study, results, None)
    text = to_markdown(study, results, tables, (), (), "repeat")
    assert text.startswith("## Ways of a training task\n\n\n\n`repeat`")  # nothing of the paper


def test_a_line_of_the_csv_says_all_that_its_figure_depends_on(written):
    rows = list(csv.DictReader((written / "made-up.csv").open()))
    (row,) = (row for row in rows if (row["row"], row["shots"]) == ("B", "5"))
    expected = {"data": "glyphs", "backbone": "conv4", "budget": "60s", "measured_on": "glyphs"}
    expected |= {"way": "5", "query": "15", "tasks": "100", "norm_mean": "4.1", "seeds": "3"}
    expected |= {"seed_0": "58.0000", "seed_1": "58.1000", "seed_2": "58.2000", "paper": "59.00"}
    assert {name: row[name] for name in expected} == expected
    assert float(row["norm_mean_interval"]) == pytest.approx(0.2484, abs=1e-4)


def test_the_markdown_says_how_it_was_measured_and_what_is_missing(written, tmp_path):
    text = (written / "made-up.md").read_text()
    assert (
        "Measured with pseudoshot 0.1.0, torch 2.0 on:\n\n- glyphs: 5 classes, 15 queries" in text
    )
    assert "What is missing" not in text
    plan, shelf = made_up(tmp_path, 2)
    shelf.refuse("B1", TRAINING, "no room on the disk")
    write_pages([STUDY], plan, shelf)
    text = (tmp_path / "made-up.md").read_text()
    assert "What is missing:\n\n- B: seed 1: no room on the disk" in text
