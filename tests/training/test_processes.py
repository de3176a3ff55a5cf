"""Several processes give what one gives; their runs resume like any other."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pseudoshot.backbones import build_backbone
from pseudoshot.backbones.base import BlockBackbone
from pseudoshot.methods import METHODS
from pseudoshot.runs import train
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.processes import check_shares
from pseudoshot.training.refusing import refuse_statistics
from tests.training.test_methods import photos

ROOT = Path(__file__).parents[2]
SMALL = ["--recipe=paper", "--size=16", "--images=8", "--query=2", "--tasks=4"]


def run(*command: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )


def test_two_processes_give_the_loss_and_gradient_of_one_on_the_joined_batch():
    methods = ("baseline", "hms-tsp-head", "supervised", "meta-gmvae", "uflst", "simclr", "moco-v2")
    result = run(ROOT / "tests" / "training" / "two_processes.py", *methods)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("equal") == len(methods), result.stdout


ENTRY = Path(sys.executable).with_name("pseudoshot")


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> str:
    return photos(tmp_path_factory.mktemp("photos"))


@pytest.mark.slow
def test_a_run_of_two_processes_stops_resumes_and_ends_with_the_same_bits(data, tmp_path):
    arguments = (ENTRY, "train", data, *SMALL, "--devices", 2, "--sync-bn", "--epochs", 12)
    unbroken = run(*arguments, "--out", tmp_path / "unbroken")
    assert unbroken.returncode == 0, unbroken.stderr
    assert "Traceback" not in unbroken.stderr
    assert unbroken.stdout.count("trained:") == 1, "one process speaks"

    broken = tmp_path / "broken"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, *map(str, arguments), "--out", str(broken)],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        while not (broken / "checkpoint" / "latest.safetensors").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM, errors
    assert "stopped by SIGTERM" in errors
    resumed = run(ENTRY, "train", data, "--devices", 2, "--resume", "--out", broken)
    assert resumed.returncode == 0, resumed.stderr
    first, second = (load_file(r / "model.safetensors") for r in (tmp_path / "unbroken", broken))
    assert all(torch.equal(first[name], second[name]) for name in first)
    settings = json.loads((broken / "run.json").read_text())["settings"]
    assert settings["optimisation"]["sync_bn"] is True


def test_an_episode_that_cannot_be_shared_is_refused(data, tmp_path):
    odd = [*SMALL[:2], "--images=7", *SMALL[3:]]
    result = run(
        ENTRY, "train", data, *odd, "--devices", 2, "--epochs", 1, "--out", tmp_path / "run"
    )
    assert result.returncode == 1
    assert "multiple of 2" in " ".join(result.stderr.split())
    assert not (tmp_path / "run").exists(), "refused before anything was written"


def test_tasks_are_not_cut_by_the_borders_of_processes():
    settings = METHODS["umtra"].Settings(images=40, way=20)
    check_shares(settings, 1)
    check_shares(settings, 2)
    with pytest.raises(
        PseudoshotError, match="by 4 processes: choose --images as a multiple of 80"
    ):
        check_shares(settings, 4)


@pytest.mark.parametrize(("learner", "own"), [("maml", True), ("prototype", False)])
def test_statistics_of_tasks_are_not_joined(learner, own):
    settings = METHODS["umtra"].Settings(name="umtra", learner=learner)
    method = METHODS["umtra"](build_backbone("conv4", 3, 16), settings)
    with (
        pytest.raises(PseudoshotError, match="'umtra' has those of each") if own else nullcontext()
    ):
        refuse_statistics(method, sync_bn=True)
    refuse_statistics(method, sync_bn=False)


def test_statistics_that_tell_a_querys_own_key_are_joined():
    settings = METHODS["mochi"].Settings(name="mochi")
    method = METHODS["mochi"](build_backbone("conv4", 3, 16), settings)
    with pytest.raises(PseudoshotError, match=r"'mochi' needs BatchNorm's .*: add --sync-bn"):
        refuse_statistics(method, sync_bn=False)
    refuse_statistics(method, sync_bn=True)


@pytest.mark.parametrize("number", [{"devices": 0}, {"nodes": -1}])
def test_there_is_at_least_one_process(data, tmp_path, number):
    with pytest.raises(PseudoshotError, match="at least 1"):
        train(data, tmp_path / "run", **number)


def test_an_unknown_precision_is_refused(data, tmp_path):
    with pytest.raises(PseudoshotError, match="--precision 8: input should be"):
        train(data, tmp_path / "run", precision="8")


def test_half_precision_trains_and_leaves_full_weights(data, tmp_path):
    options = {"recipe": "paper", "size": 16, "images": 8, "query": 2, "tasks": 4, "epochs": 1}
    train(data, tmp_path / "run", precision="bf16-mixed", **options)
    weights = load_file(tmp_path / "run" / "model.safetensors")
    assert all(w.dtype in (torch.float32, torch.int64) for w in weights.values())
    assert all(w.isfinite().all() for w in weights.values())


def test_half_precision_holds_on_one_device(data, tmp_path, monkeypatch):
    forward, seen = BlockBackbone.forward, set()

    def noted(self, images):
        seen.add(torch.is_autocast_enabled("cpu"))
        return forward(self, images)

    monkeypatch.setattr(BlockBackbone, "forward", noted)
    options = {"recipe": "paper", "size": 16, "images": 8, "query": 2, "tasks": 4, "epochs": 1}
    train(data, tmp_path / "run", precision="bf16-mixed", **options)
    assert seen == {True, False}, "in training, not at test"
