"""Studies as they are run: what is trained, measured, said and written."""

import csv
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pseudoshot.evaluation.records import read_records
from pseudoshot.runs.estimating import DryRun
from pseudoshot.runs.pre_learning import PRE_LEARNT
from pseudoshot.runs.training import train
from pseudoshot.settings.resolve import resolve
from pseudoshot.studies import all_studies
from pseudoshot.studies.budget import Budget
from pseudoshot.studies.order import Order
from pseudoshot.studies.running import done_of
from pseudoshot.studies.sections import accuracy_section
from pseudoshot.studies.shelf import Known, Shelf
from pseudoshot.studies.statistics import Estimate
from pseudoshot.studies.tables import Cell, Line, Table
from pseudoshot.studies.working import Worker
from pseudoshot.training.run_folder import RunFolder
from tests.cli.entry import here, refused
from tests.studies.small import TINY, first_job, folders, run


def test_runs_are_trained_once_for_all_studies(finished):
    assert len(folders(finished)) == 2 * 3
    assert all(RunFolder(folder).finished for folder in folders(finished))
    measured = [len(read_records(folder)) for folder in folders(finished)]
    assert sorted(measured) == [1, 1, 1, 1, 5, 5]  # the first study's, and four more of the second


def test_a_second_time_nothing_is_done(place, finished, monkeypatch):
    monkeypatch.setattr("pseudoshot.studies.running._work", None)
    before = {path: path.stat().st_mtime_ns for path in (finished / "runs").rglob("*")}
    # what is refused is tried again: here nothing else is left
    assert run(place, "finished", "first", seeds=2) == [finished / "first.html"]
    assert {path: path.stat().st_mtime_ns for path in (finished / "runs").rglob("*")} == before


def test_pages_of_several_seeds_are_drawn_without_weights(place, finished, tmp_path, monkeypatch):
    """What a study has found is moved in a few kilobytes per run."""
    out = tmp_path / "moved"
    kept = ("costs", "known", "machines.json")
    kept += ("run.json", "model.json", "log.jsonl", "evaluations.jsonl")
    for path in finished.rglob("*"):
        if path.is_file() and {*kept} & {*path.relative_to(finished).parts}:
            copy = out / path.relative_to(finished)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    monkeypatch.setattr("pseudoshot.studies.running._work", None)
    run(place, str(out), "first", seeds=2)
    assert (out / "first.csv").read_text() == (finished / "first.csv").read_text()


def test_each_seed_has_tasks_of_its_own_and_methods_share_them(finished):
    by_seed = {}
    for folder in folders(finished):
        seed = RunFolder(folder).read_settings().seed
        by_seed.setdefault(seed, set()).update(record.seed for record in read_records(folder))
    assert by_seed == {0: {0}, 1: {1}}


def test_the_page_holds_all_of_it(finished):
    page = (finished / "first.html").read_text()
    for word in ("HMS is above the baseline", "48.12", "another", "CPU seconds"):
        assert word in page
    assert '<span class="verdict undecided">' in page
    assert "first.toml --data" in page
    assert "http" not in page.replace("http://www.w3.org", "")  # nothing from outside
    rows = list(csv.DictReader((finished / "first.csv").open()))
    ours = {(row["row"], row["shots"]): row for row in rows}
    assert ours["HMS", "1"]["paper"] == "48.12"
    assert ours["HMS", "1"]["seeds"] == "2"
    assert ours["another", "1"]["accuracy"] == ""
    assert "| HMS |" in (finished / "first.md").read_text()
    assert "first.html" in (finished / "index.html").read_text()
    assert "HMS is above the baseline" in (finished / "claims.md").read_text()


def test_tables_are_what_the_records_say(finished):
    found = {}
    for folder in folders(finished):
        settings = RunFolder(folder).read_settings()
        if settings.method.name == "hms":
            (record,) = read_records(folder)
            found[settings.seed] = record.results[0].accuracy
    rows = list(csv.DictReader((finished / "first.csv").open()))
    (row,) = (row for row in rows if (row["row"], row["shots"]) == ("HMS", "1"))
    assert float(row["accuracy"]) == pytest.approx(sum(found.values()) / 2, abs=1e-4)
    spread = abs(found[0] - found[1]) / 2  # the half-width of two is 12.706 times this
    assert float(row["interval"]) == pytest.approx(12.706 * spread, rel=1e-3, abs=1e-4)


def test_differences_and_what_does_not_compare_are_in_the_tables(finished):
    rows = csv.DictReader((finished / "second.csv").open())
    second = {row["row"]: row for row in rows if row["shots"] == "1"}
    assert second["SES, together"]["note"] == "transductive"
    assert second["SES, two"]["note"] == ""
    text = (finished / "second.md").read_text()
    assert "| SES, together (transductive) |" in text
    assert "What each has more than SES, two" in text
    more = float(second["SES, together"]["accuracy"]) - float(second["SES, two"]["accuracy"])
    assert float(second["SES, together"]["difference"]) == pytest.approx(more, abs=1e-3)
    assert "| SES | " in text.partition("What each run cost")[2]
    assert "transductive" in (finished / "second.html").read_text()


def test_what_does_not_compare_is_not_the_best():
    lines = [
        Line(name, (Cell(Estimate(value, 1.0, 3), None, None),), note=note)
        for name, value, note in (("A", 50.0, ""), ("B", 60.0, "transductive"), ("C", 40.0, ""))
    ]
    page = accuracy_section(Table((1,), tuple(lines), None), 3)
    assert page.count('"number best"') == 1
    assert '"number best">50.00' in page


def test_cpu_seconds_are_in_the_log(finished):
    for folder in folders(finished):
        log = RunFolder(folder).read_log()
        assert 0 < log[0]["cpu_seconds"] <= log[-1]["cpu_seconds"]


def test_what_cannot_be_measured_has_a_reason(finished):
    page = (finished / "second.html").read_text()
    assert "&#x27;cub&#x27; was not found" in page
    assert "Not there yet" not in page


def test_linear_evaluation_and_map_are_on_the_pages_of_study_and_run(finished):
    page = (finished / "second.html").read_text()
    assert ">linear</th>" in page
    assert "t-SNE of SES" in page
    assert "t-SNE" not in (finished / "first.html").read_text()  # which shares the run
    reports = [(folder / "report.html").read_text() for folder in folders(finished)]
    assert sum("A map of old and new classes" in report for report in reports) == 2
    assert sum("linear evaluation" in report for report in reports) == 2


def test_a_row_may_start_from_a_model_of_its_own(place, tmp_path):
    """Which is a part of its settings, and of what they need: a frozen network is a trained one."""
    row = 'method = "meta-gmvae", frozen = true, start_from = "conv4-cifar-fs"'
    (place / "frozen.toml").write_text(f'{TINY.split("common")[0]}[runs]\n"A" = {{ {row} }}\n')
    worker, job = first_job(place, tmp_path, "frozen", "2 epochs")
    options, _ = worker.settled(job.run)
    assert options["start_from"] == "conv4-cifar-fs"
    assert options["epochs"] == 2


def test_a_fine_tuning_names_its_start(finished):
    runs = [RunFolder(folder).read_settings() for folder in folders(finished)]
    tuned = [settings for settings in runs if settings.start_from]
    assert {Path(settings.start_from).parent for settings in tuned} == {
        (finished / "runs").resolve()
    }
    assert len(tuned) == 2


def test_a_budget_of_seconds_is_measured_once(place):
    (place / "alone.toml").write_text(TINY + '[runs]\n"SES" = { method = "baseline" }\n')
    run(place, "timed", "alone", budget="2s", seeds=2)
    (cost,) = (place / "timed" / "costs").iterdir()  # seeds share it
    first, second = map(RunFolder, folders(place / "timed"))
    assert first.read_log()[-1]["step"] == second.read_log()[-1]["step"]
    assert json.loads(cost.read_text())["step"]["cpu_seconds"] > 0


def test_a_budget_of_seconds_covers_clusters_found_anew(place):
    options = 'method = "uflst", k1 = 8, min_samples = 2, views_per_class = 2, epochs = 100000'
    tiny = TINY.replace("query = 2, tasks = 4", options)
    (place / "rounds.toml").write_text(tiny + '[runs]\n"UFLST" = {}\n')
    run(place, "rounds", "rounds", budget="4s")
    (cost,) = (place / "rounds" / "costs").iterdir()
    assert json.loads(cost.read_text())["step"]["round_seconds"] > 0
    (trained,) = map(RunFolder, folders(place / "rounds"))
    settings = trained.read_settings()
    assert settings.class_source.round_epochs == 1
    assert trained.read_log()[-1]["round"] == settings.optimisation.epochs > 1
    assert "- round-epochs: 5 → 1\n" in (place / "rounds" / "rounds.md").read_text()


def test_what_a_budget_changes_is_told_in_one_way(place, finished):
    assert "- epochs: 100 → 2\n" in (finished / "first.md").read_text()
    (place / "alone.toml").write_text(TINY + '[runs]\n"SES" = { method = "baseline" }\n')
    run(place, "timed", "alone", budget="2s", seeds=2)  # again, where it was run before
    text = (place / "timed" / "alone.md").read_text()
    assert "- steps: " in text
    assert "epoch" not in text.replace("annealing: epoch", "")


@pytest.mark.slow
def test_a_run_that_several_cluster_is_trained_once(place):
    """And comes to the same as where each trains its own, on one thread as a study does."""
    clustered = 'class_source = "clusters", pre_learn = "simclr", clusters = 4, partitions = 1'
    clustered += ", images = 2, pre_learn_epochs = 1"  # of four clusters two are large enough
    rows = f'"A" = {{ {clustered} }}\n"B" = {{ {clustered}, method = "vanilla" }}\n'
    (place / "clustered.toml").write_text(TINY + "[runs]\n" + rows)
    run(place, "clustered", "clustered", budget="1 epochs")
    out = place / "clustered"
    assert len(folders(out)) == 3
    ours = [RunFolder(folder / PRE_LEARNT) for folder in folders(out)]
    copies = [load_file(own.path / "model.safetensors") for own in ours if own.finished]
    assert len(copies) == 2
    assert "from-run" not in (out / "clustered.md").read_text()
    (begun,) = (f for f in folders(out) if RunFolder(f).read_settings().method.name == "vanilla")
    settings = RunFolder(begun).read_settings()
    alone = place / "alone-clustered"
    options = {name: value for name, value in settings.optimisation if value is not None}
    source = {n: v for n, v in settings.class_source if n not in ("name", "from_run")}
    options |= source | {"class_source": "clusters", "method": "vanilla", "recipe": "paper"}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    train(place / "train", alone, backbone="conv4", size=16, images=2, query=2, tasks=4, **options)
    torch.set_num_threads(threads)
    for part in (".", PRE_LEARNT):
        first, second = (load_file(f / part / "model.safetensors") for f in (begun, alone))
        assert all((first[name] == second[name]).all() for name in second)


def test_what_it_costs_is_measured_once_as_well(place):
    """Or one would be trained for an epoch more than the other, and could not be shared."""
    settings = resolve({"data": str(place / "train"), "method": "simclr", "size": 16})
    budget = Budget.parse("3s")
    order = Order(str(place / "train"), "", budget, 1, 20, place / "once", None, None)
    worker = Worker(order, Shelf(order.out))
    told = [DryRun(settings, 60, 100, 1, 1, 10, None, steps_beside=steps) for steps in (5, 7)]
    assert [worker._before(first) for first in told] == [(5.0, 10), (5.0, 10)]


def test_a_run_that_was_trained_first_is_half_of_the_work(place, tmp_path):
    worker, job = first_job(place, tmp_path)
    shelf = worker.shelf
    shelf.remember(job.run.identity, Known(key="begun"))
    begun = shelf.run("begun")
    first = RunFolder(begun.path / PRE_LEARNT)
    for folder, epochs in ((begun, 10), (first, 4)):
        folder.path.mkdir(parents=True)
        folder.write_settings(resolve({"data": str(place / "train"), "epochs": epochs}))
    assert done_of(job, shelf) == 0
    first.log_path.write_text('{"step": 8, "epoch": 4.0}\n')
    assert done_of(job, shelf) == pytest.approx(0.5, abs=0.02)
    begun.log_path.write_text('{"step": 2, "epoch": 5.0}\n')
    assert done_of(job, shelf) == pytest.approx(0.75, abs=0.02)
    (first.path / "run.json").unlink()
    assert done_of(job, shelf) == pytest.approx(0.5, abs=0.02)  # of one that clusters nothing


def test_how_long_it_takes_is_said_beforehand(place, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("pseudoshot.studies.running._work", lambda *_: True)
    run(place, str(tmp_path), "first", budget="20m", jobs=2)
    said = " ".join(capsys.readouterr().err.split())
    assert "3 runs, 1200 CPU seconds per run" in said
    assert ": about 30 min" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("hedas",), "unknown study 'hedas', did you mean 'heads'"),
        (("nowhere.toml",), "cannot be read"),
        (("heads", "heads"), "would be called 'heads': give a study once, or rename the file"),
        (("heads", "--budget", "soon"), "--budget 'soon' is no budget"),
        (("heads", "--budget", "0s"), "is no budget"),
        (("heads", "--shard", "3/2"), "is no shard"),
        (("heads", "--seeds", "0"), "--seeds must be at least 1"),
        (("heads", "--tasks", "1"), "--tasks must be at least 2"),
        (("heads", "--jobs", "-1"), "--jobs must be from 0 to"),
        (("heads", "--data", "folder"), "give --test"),
        (("heads", "--data", "cifar-fs"), "'cifar-fs' was not found"),
        (("benchmark-resnet12",), "cannot be run at this budget"),
    ],
)
def test_what_is_impossible_is_one_sentence(words, message, tmp_path):
    refused(here("study", *words, "--out", tmp_path / "out"), message)


def test_the_list_names_every_study():
    told = here("study").stdout
    assert all(f" {name} " in told for name in all_studies())
    assert "pseudoshot study NAME" in told
