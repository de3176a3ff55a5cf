"""Studies that are killed, shared between processes, or meet an error, go on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file

from pseudoshot.evaluation.records import read_records
from pseudoshot.studies.shelf import Known, Shelf
from pseudoshot.studies.working import State
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.run_folder import RunFolder
from tests.cli.entry import ENTRY
from tests.evaluation.test_records import make_evaluation
from tests.studies.small import first_job, folders, pictures, run


def command(place: Path, out: str, *words: str) -> list[str]:
    given = [str(ENTRY), "study", str(place / "first.toml"), "--data", str(place / "train")]
    given += ["--test", str(place / "test"), "--out", str(place / out), "--tasks", "20"]
    return [*given, *words]


def wait_for(condition, process: subprocess.Popen) -> None:
    end = time.monotonic() + 240
    while not condition():
        assert process.poll() is None, "it ended before"
        assert time.monotonic() < end, "it hangs"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def unbroken(place) -> Path:
    run(place, "unbroken", "first", budget="30 epochs")
    return place / "unbroken"


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, 143)])
def test_a_study_that_is_killed_goes_on_and_comes_to_the_same(place, unbroken, number, code):
    """The process at work notices that its parent is gone, saves its run and ends."""
    out = place / f"killed-{number}"
    words = command(place, out.name, "--budget", "30 epochs")
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    wait_for(lambda: any(out.glob("runs/*/log.jsonl")), process)
    process.send_signal(number)
    assert process.wait() == code
    (begun, *_) = (path.parent for path in out.glob("runs/*/log.jsonl"))
    assert subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode == 0
    assert [folder.name for folder in folders(out)] == [f.name for f in folders(unbroken)]
    ours = load_file(begun / "model.safetensors")
    theirs = load_file(unbroken / "runs" / begun.name / "model.safetensors")
    assert all((ours[name] == theirs[name]).all() for name in theirs)
    log = RunFolder(begun).read_log()
    assert [record["step"] for record in log] == sorted({record["step"] for record in log})


@pytest.mark.slow
def test_two_processes_in_one_folder_share_the_work(place):
    words = command(place, "shared", "--budget", "2 epochs")
    both = [subprocess.Popen(words, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    out = place / "shared"
    assert len(folders(out)) == 3
    assert [len(read_records(folder)) for folder in folders(out)] == [1, 1, 1]


def test_what_nobody_foresaw_is_a_reason_too(place, tmp_path, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ValueError("no such luck\nin two lines")

    monkeypatch.setattr("pseudoshot.studies.working.train", broken)
    worker, job = first_job(place, tmp_path)
    assert worker.attempt(job) is State.DONE
    identity = job.run.identity
    reason = worker.shelf.refused(identity)["training"]
    assert reason == f"ValueError: no such luck (refused/{identity}.txt)"
    assert "in two lines" in (tmp_path / "refused" / f"{identity}.txt").read_text()
    worker.shelf.try_again(identity)
    assert not list((tmp_path / "refused").iterdir())


def test_a_record_of_another_evaluation_is_not_taken_for_the_own(place, finished, monkeypatch):
    """The last line may be another program's, or the own was not written on a full disk."""
    worker, job = first_job(place, finished)
    known = Known(key=folders(finished)[0].name, trained=True)
    (identity, measure), *_ = job.measures.items()
    result = make_evaluation(12.5)
    monkeypatch.setattr("pseudoshot.studies.working.evaluate_run", lambda *_, **__: result)
    with pytest.raises(PseudoshotError, match="what was measured could not be kept"):
        worker._measure(job.run, known, identity, measure)
    assert not known.evaluated


def test_nobody_waits_for_a_cost_that_another_process_measures(place, tmp_path):
    worker, job = first_job(place, tmp_path)
    with Shelf(tmp_path).held(f"cost-{job.run.alike}") as mine:
        assert mine
        assert worker.attempt(job) is State.BUSY


def test_a_process_that_was_killed_does_not_cost_the_page(place, tmp_path, monkeypatch):
    monkeypatch.setattr("pseudoshot.studies.running._work", lambda *_: False)
    with pytest.raises(PseudoshotError, match="ended before its work was done"):
        run(place, str(tmp_path), "first")
    assert "Not there yet" in (tmp_path / "first.html").read_text()


def test_pages_of_what_is_there_so_far(place, tmp_path, capsys):
    """Nothing is trained, nothing that was refused is forgotten, and a step is not measured."""
    worker, job = first_job(place, tmp_path, budget="2 epochs")
    assert worker.attempt(job) is State.DONE
    worker.shelf.refuse(job.run.identity, "another evaluation", "a reason")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    (page,) = run(place, str(tmp_path), "first", jobs=0)
    assert "1 of 3 runs are done" in capsys.readouterr().err
    assert "2 of 3 figures" in page.read_text()
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.name for path in after.keys() - before} == {"first.html", "first.md", "first.csv"}
    assert before.items() <= after.items()


@pytest.mark.slow
def test_shards_do_their_part_alone(place):
    done = []
    for shard in ("1/2", "2/2"):
        run(place, "sharded", "first", shard=shard)
        done.append(len(folders(place / "sharded")))
    assert done == [2, 3]  # the fine-tuning goes with its start
    assert "Not there yet" not in (place / "sharded" / "first.html").read_text()


def test_too_few_classes_are_a_reason_not_an_end(place, tmp_path):
    few = pictures(tmp_path / "few", 3, 20, seed=2)
    out = tmp_path / "out"
    run(place, str(out), "first", test=few)
    assert "5-way tasks need 5 classes" in (out / "first.html").read_text()


def test_an_error_in_a_process_is_not_taken_for_success(place, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(place / "broken"), *sys.path]))
    (place / "broken").mkdir()
    (place / "broken" / "sitecustomize.py").write_text("import os\nos._exit(3)\n")
    with pytest.raises(PseudoshotError, match="ended before its work was done"):
        run(place, "broken-out", "first")
