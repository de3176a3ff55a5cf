"""Runs: exact continuation, a folder that is never overwritten, errors that say what to do."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from pseudoshot.embedders import load
from pseudoshot.runs import train
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training import journal, loop, trainer
from pseudoshot.training.run_folder import RunFolder

SMALL = {"recipe": "paper", "size": 16, "images": 8, "query": 2, "tasks": 4}


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("photos")
    pixels = np.random.default_rng(0).integers(0, 256, (60, 20, 24, 3), dtype=np.uint8)
    for index, image in enumerate(pixels):
        Image.fromarray(image).save(folder / f"{index:02d}.png")
    return str(folder)


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model.safetensors")


def same(a: Path, b: Path) -> bool:
    first, second = weights(a), weights(b)
    return all(torch.equal(first[name], second[name]) for name in first)


def interrupt_at(monkeypatch, step: int, checkpoints: bool = True) -> None:
    """End training as a power cut would, with or without a checkpoint after every step."""
    if checkpoints:
        monkeypatch.setattr(loop, "CHECKPOINT_EVERY", -1.0)
    draw = trainer.draw_views
    calls = iter(range(step))

    def failing_draw(*args):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return draw(*args)

    monkeypatch.setattr(trainer, "draw_views", failing_draw)


def test_a_run_leaves_what_it_promises(photos, tmp_path):
    run = tmp_path / "run"
    train(photos, run, epochs=2, **SMALL)
    assert {"run.json", "log.jsonl", "checkpoint", "model.json", "model.safetensors"} <= {
        path.name for path in run.iterdir()
    }
    record = json.loads((run / "run.json").read_text())
    assert record["settings"]["method"]["images"] == 8
    assert record["settings"]["optimisation"]["lr"] == 0.002
    assert record["versions"]["torch"] == torch.__version__
    log = RunFolder(run).read_log()
    assert {
        "loss", "norm_mean", "norm_std", "gradient_norm", "lr", "images_per_second"
    } <= log[0].keys()  # fmt: skip
    assert "pseudo_accuracy" in log[-1]
    assert log[-1]["step"] == 2 * (57 // 8), "57 of 60 images are trained on, three held out"
    assert load(run).embed(np.zeros((2, 20, 24, 3), np.uint8)).shape == (2, 64)


def test_same_seed_same_bits_and_another_seed_other_weights(photos, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        train(photos, tmp_path / name, epochs=1, seed=seed, **SMALL)
    assert same(tmp_path / "a", tmp_path / "b")
    assert not same(tmp_path / "a", tmp_path / "c")


@pytest.mark.parametrize(
    ("stop", "options"),
    [
        (0, {"epochs": 1}),
        (3, {"epochs": 2}),
        (9, {"epochs": 2, "method": "vanilla"}),
        (9, {"epochs": 2, "recipe": "fast", "warm_up": 5, "episodes_per_epoch": 7}),  # an average
        (2, {"epochs": 1, "backbone": "resnet12", "images": 16, "query": 1}),  # with dropout
    ],
)
def test_a_resumed_run_equals_an_unbroken_one(photos, tmp_path, monkeypatch, stop, options):
    options = {**SMALL, **options}
    train(photos, tmp_path / "unbroken", **options)
    with monkeypatch.context() as patched:
        interrupt_at(patched, stop)
        with pytest.raises(KeyboardInterrupt):
            train(photos, tmp_path / "broken", **options)
    train(photos, tmp_path / "broken", resume=True)
    assert same(tmp_path / "unbroken", tmp_path / "broken")
    logs = [RunFolder(tmp_path / name).read_log() for name in ("unbroken", "broken")]
    losses = [[(r["step"], r["loss"], r.get("pseudo_accuracy")) for r in log] for log in logs]
    assert losses[0] == losses[1]


def test_the_log_is_cut_back_to_the_checkpoint(photos, tmp_path, monkeypatch):
    """Steps that were logged after the last checkpoint are made, and logged, again."""
    options = {**SMALL, "epochs": 2}
    monkeypatch.setattr(journal, "LOG_EVERY", 1)
    train(photos, tmp_path / "unbroken", **options)
    with monkeypatch.context() as patched:
        interrupt_at(patched, 11, checkpoints=False)
        with pytest.raises(KeyboardInterrupt):
            train(photos, tmp_path / "broken", **options)
    assert RunFolder(tmp_path / "broken").read_log()[-1]["step"] == 11
    train(photos, tmp_path / "broken", resume=True)
    steps = [
        [(record["step"], record["loss"]) for record in RunFolder(tmp_path / name).read_log()]
        for name in ("unbroken", "broken")
    ]
    assert steps[0] == steps[1]
    assert [step for step, _ in steps[1]] == list(range(1, 15))


@pytest.mark.parametrize("change", ["remove", "replace"])
def test_a_changed_set_is_not_resumed(photos, tmp_path, monkeypatch, change):
    copy = tmp_path / "photos"
    shutil.copytree(photos, copy)
    with monkeypatch.context() as patched:
        interrupt_at(patched, 3)
        with pytest.raises(KeyboardInterrupt):
            train(copy, tmp_path / "run", epochs=1, **SMALL)
    if change == "remove":
        (copy / "00.png").unlink()
    else:
        Image.new("RGB", (20, 20)).save(copy / "00.png")
    with pytest.raises(PseudoshotError, match="are not those the run began with"):
        train(copy, tmp_path / "run", resume=True)


def test_a_run_is_not_resumed_with_other_views_and_other_versions_are_told(
    photos, tmp_path, monkeypatch, capsys
):
    run = tmp_path / "run"
    with monkeypatch.context() as patched:
        interrupt_at(patched, 3)
        with pytest.raises(KeyboardInterrupt):
            train(photos, run, epochs=1, **SMALL)
    record = json.loads((run / "run.json").read_text())
    other = {**record, "strengths": {**record["strengths"], "grayscale": 0.5}}
    (run / "run.json").write_text(json.dumps(other))
    with pytest.raises(PseudoshotError, match="views 'amdim' of this version are not those"):
        train(photos, run, resume=True)
    other = {**record, "versions": {**record["versions"], "torch": "1.0"}}
    (run / "run.json").write_text(json.dumps(other))
    train(photos, run, resume=True)
    assert "began with torch 1.0" in " ".join(capsys.readouterr().err.split())


def test_folders_are_never_overwritten(photos, tmp_path, monkeypatch):
    run = tmp_path / "run"
    with monkeypatch.context() as patched:
        interrupt_at(patched, 3)
        with pytest.raises(KeyboardInterrupt):
            train(photos, run, epochs=1, **SMALL)
    with pytest.raises(PseudoshotError, match="unfinished run: continue it with --resume"):
        train(photos, run, epochs=1, **SMALL)
    with pytest.raises(
        PseudoshotError,
        match=r"settings: tasks \(the run has 4, you gave 5\); leave",
    ):
        train(photos, run, resume=True, epochs=3, tasks=5)
    train(photos, run, resume=True, tasks=4)
    before = (run / "model.safetensors").stat().st_mtime_ns
    for resume in (False, True):
        with pytest.raises(PseudoshotError, match="finished"):
            train(photos, run, resume=resume, epochs=1, **SMALL)
    assert (run / "model.safetensors").stat().st_mtime_ns == before

    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "thesis.tex").write_text("precious")
    with pytest.raises(PseudoshotError, match=r"not empty and holds no run \(thesis.tex"):
        train(photos, strange, epochs=1, **SMALL)
    assert (strange / "thesis.tex").read_text() == "precious"


def test_a_run_in_use_is_refused(photos, tmp_path):
    run = tmp_path / "run"
    hold = (
        "import sys; from pathlib import Path\n"
        "from pseudoshot.training.run_folder import RunFolder\n"
        "with RunFolder(Path(sys.argv[1])).held(): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(PseudoshotError, match="in use by another training"):
            train(photos, run, epochs=1, **SMALL)
        assert (run / ".lock").is_file()


def test_a_refused_run_leaves_nothing_behind(photos, tmp_path):
    refusals = {
        "takes 128 images but there are 57": {"size": 16},
        "unknown method": {"method": "baselin"},
        "has no setting 'strength'": {"strength": "1"},
        "unknown backbone": {"backbone": "conv5"},
        "--lr -1.0": {"lr": -1.0},
        "--similarity dot": {"similarity": "dot"},
        "way 9 does not fit an episode of 8": {**SMALL, "way": 9},
    }
    for message, options in refusals.items():
        with pytest.raises(PseudoshotError, match=message):
            train(photos, tmp_path / "run", epochs=1, **options)
        assert not (tmp_path / "run").exists(), message


def test_a_loss_that_is_not_a_number_stops_the_run(photos, tmp_path, monkeypatch):
    draw = trainer.draw_views
    monkeypatch.setattr(trainer, "draw_views", lambda *args: draw(*args) * float("nan"))
    with pytest.raises(PseudoshotError, match=r"the loss became nan at step 0.*lower --lr"):
        train(photos, tmp_path / "run", epochs=1, **SMALL)
    assert not (tmp_path / "run" / "model.json").exists()


@pytest.mark.parametrize(
    "options", [{"method": "uflst", "class_source": "exemplars"}, {"views": "identity"}]
)
def test_views_that_are_all_the_same_are_refused(photos, tmp_path, options):
    small = SMALL if "method" not in options else {"recipe": "paper", "size": 16, "images": 8}
    with pytest.raises(PseudoshotError, match="'exemplars' are views of one image"):
        train(photos, tmp_path / "run", epochs=1, **small, **options)
    assert not (tmp_path / "run").exists()


def test_unaltered_images_that_are_mixed_are_not_refused(photos, tmp_path):
    options = {"recipe": "paper", "size": 16, "method": "ulda", "images": 10, "views": "identity"}
    train(photos, tmp_path / "run", epochs=1, episodes_per_epoch=1, **options)
    assert RunFolder(tmp_path / "run").finished
