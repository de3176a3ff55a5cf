"""Runs that are trained further than they were to be, and models of runs that have not finished."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import pseudoshot
from pseudoshot.embedders import load, unfinished
from pseudoshot.evaluation.records import read_records
from pseudoshot.runs import evaluate_run, finetune, train
from pseudoshot.sorting import FewShotClassifier, load_classifier
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training import keeping, run_folder
from pseudoshot.training.optimiser import learning_rate
from pseudoshot.training.run_folder import RunFolder
from tests.pictures import draw_trees
from tests.training.test_training import SMALL, interrupt_at, same, weights

STEPS = 7  # per epoch


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("photos")
    draw_trees(folder, 20)
    return str(folder)


@pytest.fixture(scope="module")
def one_epoch(photos, tmp_path_factory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "one"
    train(photos, run, epochs=1, **SMALL)
    evaluate_run(run, photos, way=2, shots=[1], query=2, tasks=3)
    return run


@pytest.fixture
def run(one_epoch, tmp_path) -> Path:
    return Path(shutil.copytree(one_epoch, tmp_path / "run"))


@pytest.fixture
def stopped(run, photos, monkeypatch) -> Path:
    """One epoch, then a power cut in the third of three."""
    with monkeypatch.context() as patched:
        interrupt_at(patched, STEPS + 2)
        with pytest.raises(KeyboardInterrupt):
            train(photos, run, resume=True, epochs=3)
    return run


def test_interrupted_anywhere_a_run_that_is_trained_further_has_the_same_bits(
    one_epoch, photos, stopped, tmp_path
):
    unbroken = Path(shutil.copytree(one_epoch, tmp_path / "unbroken"))
    train(photos, unbroken, resume=True, epochs=3)
    train(photos, stopped, resume=True)  # for the three epochs it was last asked for
    assert same(stopped, unbroken)
    assert not same(unbroken, one_epoch)
    assert load(unbroken).card.unfinished == ""
    record = json.loads((stopped / "run.json").read_text())
    assert record["settings"]["optimisation"]["epochs"] == 3
    assert record["continued"] == [{"step": STEPS, "epochs": 1}]


def test_the_learning_rate_is_that_of_so_many_epochs_from_there_on(photos, run):
    train(photos, run, resume=True, epochs=3)
    folder = RunFolder(run)
    optimisation = folder.read_settings().optimisation
    rates = {record["step"]: record["lr"] for record in folder.read_log()}
    assert max(rates) == 3 * STEPS
    for step, rate in rates.items():
        if step > STEPS:
            assert rate == learning_rate(optimisation, step - 1, STEPS)
    assert rates[2 * STEPS] == pytest.approx(0.75 * optimisation.lr)


def test_the_model_before_is_kept_as_a_run_of_its_own(photos, run, one_epoch):
    train(photos, run, resume=True, epochs=2)
    kept = run / "epoch-1"
    assert same(kept, one_epoch)
    assert len(read_records(kept)) == 1
    assert read_records(run) == [], "they were of the model before"
    assert RunFolder(kept).read_settings().optimisation.epochs == 1
    assert "Epochs</dt><dd>2<" in (run / "report.html").read_text()


@pytest.mark.parametrize("files", [0, 3, 9])
def test_stopped_while_it_is_kept_nothing_is_lost(photos, run, one_epoch, monkeypatch, files):
    """After so many of the files that go were deleted."""
    unlink, calls = Path.unlink, iter(range(files))

    def cut(path: Path, missing_ok: bool = False) -> None:
        if path.parent == run and not path.name.startswith(".") and next(calls, None) is None:
            raise KeyboardInterrupt
        unlink(path, missing_ok=missing_ok)

    with monkeypatch.context() as patched:
        patched.setattr(keeping.Path, "unlink", cut)
        if files == 9:  # all are gone, and the new settings were not written
            patched.setattr(run_folder, "write_text", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(photos, run, resume=True, epochs=2)
    assert same(run / "epoch-1", one_epoch)
    train(photos, run, resume=True, epochs=2)
    assert same(run / "epoch-1", one_epoch)
    assert load(run).card.unfinished == ""


def test_a_finished_run_is_trained_further_only_for_more_epochs_than_it_had(photos, run):
    before = weights(run)
    for epochs in (None, 1):
        with pytest.raises(PseudoshotError, match=r"finished, after 1 epochs: .* above 1"):
            train(photos, run, resume=True, epochs=epochs)
    shutil.rmtree(run / "checkpoint")
    with pytest.raises(PseudoshotError, match="its checkpoint is not there any more"):
        train(photos, run, resume=True, epochs=2)
    assert weights(run).keys() == before.keys()
    assert not (run / "epoch-1").exists()


def test_fewer_epochs_than_are_done_are_refused(photos, stopped):
    with pytest.raises(PseudoshotError, match=r"trained for 2\.286 epochs already: .*not 2"):
        train(photos, stopped, resume=True, epochs=2)
    assert RunFolder(stopped).read_settings().optimisation.epochs == 3
    train(photos, stopped, resume=True, epochs=4)
    assert RunFolder(stopped).read_log()[-1]["step"] == 4 * STEPS


def test_fine_tuning_goes_on_for_the_epochs_it_has(one_epoch, photos, tmp_path, monkeypatch):
    tuned = tmp_path / "tuned"
    finetune(one_epoch, photos, tuned, epochs=1)
    with monkeypatch.context() as patched:
        interrupt_at(patched, 5)
        with pytest.raises(KeyboardInterrupt):
            finetune(one_epoch, photos, tuned, resume=True, epochs=2)
    finetune(one_epoch, photos, tuned, resume=True)
    assert RunFolder(tuned).read_settings().optimisation.epochs == 2
    assert RunFolder(tuned).finished


def test_an_unfinished_run_is_used_as_its_checkpoint_has_it(photos, stopped, tmp_path, capsys):
    unfinished._say_once.cache_clear()
    embedder = load(stopped)
    assert embedder.card.unfinished == "epoch 2.286 of 3"
    line = f"note: the training of '{stopped}' has not finished, this is epoch 2.286 of 3"
    assert line in capsys.readouterr().err
    evaluate_run(stopped, photos, way=2, shots=[1], query=2, tasks=3)
    assert [record.measured for record in read_records(stopped)] == ["epoch 2.286 of 3"]
    classifier = FewShotClassifier(stopped).fit(photos)
    classifier.save(tmp_path / "c.safetensors")
    assert load_classifier(tmp_path / "c.safetensors").embedder_.card.unfinished
    assert line not in capsys.readouterr().err, "said once"
    with pytest.raises(PseudoshotError, match=r"not finished, it is at epoch 2\.286 of 3"):
        train(photos, tmp_path / "other", start_from=str(stopped))


def test_it_is_the_model_that_the_run_would_leave_behind_now(photos, tmp_path, monkeypatch):
    """Of weights that are averaged the average, read about the mean of the images."""
    options = {**SMALL, "recipe": "fast", "epochs": 1, "episodes_per_epoch": 3}
    train(photos, tmp_path / "whole", **options)
    with monkeypatch.context() as patched:
        patched.setattr("pseudoshot.embedders.Embedder.save", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(photos, tmp_path / "cut", **options)
    pixels = np.random.default_rng(0).integers(0, 256, (3, 16, 16, 3), np.uint8)
    expected, found = (load(tmp_path / name).embed(pixels) for name in ("whole", "cut"))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    shutil.move(photos, f"{photos}-away")
    with pytest.raises(PseudoshotError, match=r"are not to be had .* give --reading plain"):
        load(tmp_path / "cut")
    assert load(tmp_path / "cut", "plain").dim
    shutil.move(f"{photos}-away", photos)


def _interrupted(*_args: object) -> None:
    raise KeyboardInterrupt


def test_the_head_of_an_unfinished_run_is_used_too(photos, tmp_path, monkeypatch):
    run = tmp_path / "run"
    options = {**SMALL, "epochs": 1, "method": "feat"}
    with monkeypatch.context() as patched:
        interrupt_at(patched, 3)
        with pytest.raises(KeyboardInterrupt):
            train(photos, run, **options)
    assert evaluate_run(run, photos, way=2, shots=[1], query=2, tasks=3).classifier == "feat"


def test_a_run_without_a_checkpoint_yet_is_refused(photos, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        interrupt_at(patched, 0)
        with pytest.raises(KeyboardInterrupt):
            train(photos, tmp_path / "run", epochs=1, **SMALL)
    with pytest.raises(PseudoshotError, match="nor come to a checkpoint; continue with --resume"):
        pseudoshot.load(tmp_path / "run")
