"""Folders of studies that several kinds of machines work on."""

import json
from dataclasses import replace

import pytest
import torch

from pseudoshot.runs.estimating import DryRun, measure_steps
from pseudoshot.settings.resolve import resolve
from pseudoshot.studies import machines
from pseudoshot.studies.machines import slowness
from pseudoshot.studies.results import Trained
from pseudoshot.studies.shelf import Shelf
from pseudoshot.studies.tables import SEVERAL_KINDS
from pseudoshot.tools.errors import PseudoshotError
from tests.studies.small import first_job, folders, run

measured_for_real = machines._yardstick_seconds_here  # elsewhere here there is a figure for it


@pytest.fixture
def on_machine(monkeypatch):
    def put(name: str, seconds: float) -> None:
        monkeypatch.setattr(machines, "processor_name", lambda: name)
        monkeypatch.setattr(machines, "_yardstick_seconds_here", lambda: seconds)

    return put


def test_a_machine_is_compared_with_the_first(on_machine, tmp_path):
    shelf = Shelf(tmp_path)
    found = []
    for name, seconds in (("b", 0.2), ("a", 0.5), ("b", 9.0), ("a", 9.0)):  # measured once each
        on_machine(name, seconds)
        found.append(slowness(shelf))
    assert found == [1, 2.5, 1, 2.5]
    assert json.loads((tmp_path / "machines.json").read_text()) == {"b": 0.2, "a": 0.5}


@pytest.mark.parametrize("content", ["{", "[1]", '{"a": 0}', '{"a": "fast"}'])
def test_what_cannot_be_read_is_not_guessed(tmp_path, content):
    (tmp_path / "machines.json").write_text(content)
    with pytest.raises(PseudoshotError, match=r"machines\.json cannot be read: put it back"):
        slowness(Shelf(tmp_path))


def test_steps_are_those_of_the_first_machine(place, on_machine, tmp_path, monkeypatch):
    """Of the run itself, and of the one that is trained first."""
    settings = resolve({"data": str(place / "train"), "method": "simclr", "size": 16})
    first = DryRun(settings, 60, 100, 0.5, 0.5, 10, None, steps_beside=2.5)
    told = DryRun(settings, 60, 100, 2.0, 2.0, 10, None, first, 3.0, steps_beside=20.0)
    monkeypatch.setattr("pseudoshot.studies.working.dry_run", lambda *_, **__: told)
    worker, job = first_job(place, tmp_path)
    on_machine("first", 0.1)
    slowness(worker.shelf)
    on_machine("half as fast", 0.2)
    cost = worker.cost(job.run, dict(job.run.options))
    assert (cost.cpu_seconds, cost.epoch_before, cost.round_seconds) == (2.0, 2.5, 1.5)


class Training:
    """Its steps take so many seconds of a processor whose pace changes from one to the next."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds = clock, seconds

    def train_step(self):
        self.clock.append(self.clock[-1] + self.seconds * (1 + 0.9 ** len(self.clock)))


def test_a_step_is_measured_by_what_runs_at_the_same_pace(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("time.process_time", lambda: clock[-1])
    found = measure_steps(Training(clock, 3.0), 5, beside=Training(clock, 1.0))
    assert len(clock) == 1 + 2 * (2 + 5)
    assert found.beside == pytest.approx(3, rel=0.05)
    assert found.processor > 1.2 * 3  # by the clock alone it is slow


def test_a_clock_too_coarse_for_a_step_stops_no_training(monkeypatch):
    monkeypatch.setattr("time.process_time", lambda: 1.0)
    assert measure_steps(Training([0.0], 1.0), 5).processor == 0


def test_a_step_of_more_images_takes_as_long_as_more_of_the_yardstick(place, tmp_path):
    worker, job = first_job(place, tmp_path)
    costs = [worker.cost(job.run, {**job.run.options, "images": 8})]
    tuned = replace(job.run, alike="of more images")
    costs += [worker.cost(tuned, {**job.run.options, "images": 40})]
    assert 0 < 2 * costs[0].cpu_seconds < costs[1].cpu_seconds


def test_what_a_step_takes_is_told_as_on_the_first_machine(place, tmp_path):
    log = [{"step": step, "cpu_seconds": 0.5 * step} for step in range(1, 6)]
    settings = resolve({"data": str(place / "train")})
    first, other = (Trained(tmp_path, settings, log, None, slow) for slow in (1.0, 2.0))
    assert (first.quantity("step_seconds"), other.quantity("step_seconds")) == (0.5, 0.25)
    assert other.cpu_seconds == 2.5  # that were spent


def test_a_slower_machine_is_told_of(place, on_machine, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("pseudoshot.studies.running._work", lambda *_: True)
    for name, seconds in (("first", 0.1), ("slower", 0.15)):
        on_machine(name, seconds)
        run(place, str(tmp_path), "first", budget="20m", jobs=2)
        said = " ".join(capsys.readouterr().err.split())
        assert ("1.50 times as long here" in said) == (name == "slower")
    assert ": about 45 min" in said


def test_a_run_remembers_the_machine_it_began_on(place, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "machines.json").write_text(json.dumps({"another": 0.05}))  # half of the figure here
    run(place, str(out), "first", jobs=1)
    shelf = Shelf(out)
    known = [json.loads(path.read_text()) for path in (out / "known").iterdir()]
    assert len(folders(out)) == len(known) == 3
    assert [one["slowness"] for one in known] == [slowness(shelf)] * 3 == [2.0] * 3
    assert SEVERAL_KINDS in (out / "first.md").read_text()
    assert SEVERAL_KINDS in (out / "first.html").read_text()


def test_the_yardstick_is_a_step_on_one_thread(monkeypatch):
    threads = []

    def told(*args):
        threads.append(torch.get_num_threads())
        return measure_steps(*args)

    monkeypatch.setattr(machines, "measure_steps", told)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert 0.001 < measured_for_real() < 60
        assert [*threads, torch.get_num_threads()] == [1, 2]
    finally:
        torch.set_num_threads(before)
