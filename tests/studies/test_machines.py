"""Folders of studies that several kinds of machines work on."""

import json

import pytest
import torch

from pseudoshot.runs.estimating import DryRun, dry_run
from pseudoshot.settings.resolve import resolve
from pseudoshot.studies import machines
from pseudoshot.studies.machines import slowness
from pseudoshot.studies.results import Trained
from pseudoshot.studies.shelf import Shelf
from pseudoshot.studies.tables import SEVERAL_KINDS
from pseudoshot.tools.errors import PseudoshotError
from tests.studies.small import first_job, folders, run

measured_for_real = machines._yardstick  # elsewhere in these tests there is a figure for it


@pytest.fixture
def on_machine(monkeypatch):
    def put(name: str, seconds: float) -> None:
        monkeypatch.setattr(machines, "processor_name", lambda: name)
        monkeypatch.setattr(machines, "_yardstick", lambda: seconds)

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
    first = DryRun(settings, 60, 100, 0.5, 0.5, 10, None)
    told = DryRun(settings, 60, 100, 2.0, 2.0, 10, None, first, cpu_seconds_per_round=3.0)
    monkeypatch.setattr("pseudoshot.studies.working.dry_run", lambda *_, **__: told)
    worker, job = first_job(place, tmp_path)
    on_machine("first", 0.1)
    slowness(worker.shelf)
    on_machine("half as fast", 0.2)
    cost = worker.cost(job.run, dict(job.run.options))
    assert (cost.cpu_seconds, cost.epoch_before, cost.round_seconds) == (1.0, 2.5, 1.5)


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

    def told(*args, **given):
        threads.append(torch.get_num_threads())
        return dry_run(*args, **given)

    monkeypatch.setattr(machines, "dry_run", told)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert 0.001 < measured_for_real() < 60
        assert [*threads, torch.get_num_threads()] == [1, 2]
    finally:
        torch.set_num_threads(before)
