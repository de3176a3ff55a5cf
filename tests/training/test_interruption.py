"""A run that is killed, stopped, out of disk or damaged: nothing of it is lost."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pseudoshot.runs import train
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.state_file import load_state
from pseudoshot.training import loop, trainer
from pseudoshot.training.run_folder import RunFolder
from tests.training.test_methods import photos

SMALL = {
    "recipe": "paper",
    "size": 16,
    "images": 8,
    "query": 2,
    "tasks": 4,
    "epochs": 4,
    "method": "hms",
}
# A process that trains and checkpoints after every step; its output is a line a step.
CHILD = """
import sys
from pseudoshot.runs import train
from pseudoshot.training import loop, trainer
loop.CHECKPOINT_EVERY = -1.0
step = trainer.Trainer.train_step
def told(self):
    print(self.step, flush=True)
    return step(self)
trainer.Trainer.train_step = told
data, out, resume = sys.argv[1:]
train(data, out, resume=bool(int(resume)), **{settings})
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> str:
    return photos(tmp_path_factory.mktemp("photos"))


@pytest.fixture(scope="module")
def unbroken(data, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "unbroken"
    with pytest.MonkeyPatch.context() as one_thread:
        one_thread.setattr(loop, "CHECKPOINT_EVERY", -1.0)
        train(data, out, **SMALL)
    return out


def start(data: str, out: Path) -> subprocess.Popen[str]:
    resume = RunFolder(out).started
    code = CHILD.replace("{settings}", repr({} if resume else SMALL))
    return subprocess.Popen(
        [sys.executable, "-c", code, data, str(out), str(int(resume))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_and_resume(data: str, out: Path, kills: int, draw: random.Random) -> None:
    """Kill the process `kills` times, each at a random moment after its first step, then let it
    end. Killed before it has begun or after it has ended, it is simply started again."""
    for _ in range(kills):
        with start(data, out) as process:
            process.stdout.readline()  # it has begun to train, or has nothing left to do
            time.sleep(draw.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
        assert_readable(out)
        if RunFolder(out).finished:
            return
    if not RunFolder(out).finished:
        with start(data, out) as process:
            _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors


def assert_readable(out: Path) -> None:
    """Every checkpoint that is there is whole, also right after a kill."""
    for path in out.glob("checkpoint/[!.]*"):
        load_state(path)


def assert_same(first: Path, second: Path) -> None:
    ours, theirs = (load_file(run / "model.safetensors") for run in (first, second))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_killed_thrice_the_run_ends_with_the_same_bits(data, unbroken, tmp_path):
    kill_and_resume(data, tmp_path / "run", 3, random.Random(0))
    assert_same(tmp_path / "run", unbroken)


@pytest.mark.slow
def test_fifty_kills(data, unbroken, tmp_path):
    """Runs one after the other, each killed up to five times, until there were fifty kills."""
    draw = random.Random(1)
    for run in range(10):
        kill_and_resume(data, tmp_path / f"{run}", 5, draw)
        assert_same(tmp_path / f"{run}", unbroken)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_checkpoints_and_leaves(data, unbroken, tmp_path, number):
    entry = Path(sys.executable).with_name("pseudoshot")
    options = [part for name, value in SMALL.items() for part in (f"--{name}", str(value))]
    options[options.index("--epochs") + 1] = "400"
    run = tmp_path / "run"
    with subprocess.Popen(
        [str(entry), "train", data, "--out", str(run), *options],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not (run / "checkpoint" / "latest.safetensors").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert f"stopped by {number.name} after step" in " ".join(errors.split())
    assert "continue with --resume" in " ".join(errors.split())
    assert "Traceback" not in errors
    step = load_state(run / "checkpoint" / "latest.safetensors")["step"]
    assert f"after step {step} of" in " ".join(errors.split())


def stopped_run(data: str, out: Path, monkeypatch: pytest.MonkeyPatch, steps: int = 5) -> Path:
    with monkeypatch.context() as patched:
        patched.setattr(loop, "CHECKPOINT_EVERY", -1.0)
        draw, calls = trainer.draw_views, iter(range(steps))

        def cut(*args):
            if next(calls, None) is None:
                raise KeyboardInterrupt
            return draw(*args)

        patched.setattr(trainer, "draw_views", cut)
        with pytest.raises(KeyboardInterrupt):
            train(data, out, **SMALL)
    return out / "checkpoint" / "latest.safetensors"


def flip_a_bit(content: bytes) -> bytes:
    spoilt = bytearray(content)
    spoilt[-100] ^= 1
    return bytes(spoilt)


@pytest.mark.parametrize("spoil", [flip_a_bit, lambda b: b[: len(b) // 2], lambda b: b""])
def test_a_damaged_checkpoint_is_told_and_the_one_before_is_used(
    data, unbroken, tmp_path, monkeypatch, capsys, spoil
):
    latest = stopped_run(data, tmp_path / "run", monkeypatch)
    latest.write_bytes(spoil(latest.read_bytes()))
    train(data, tmp_path / "run", resume=True)
    errors = capsys.readouterr().err.replace("\n", "")
    assert "latest.safetensors cannot be read" in errors
    assert "going on from" in errors
    assert_same(tmp_path / "run", unbroken)


def test_with_both_checkpoints_damaged_the_run_is_left_alone(data, tmp_path, monkeypatch):
    latest = stopped_run(data, tmp_path / "run", monkeypatch)
    for path in (latest, latest.with_name("previous.safetensors")):
        path.write_bytes(b"not a checkpoint")
    with pytest.raises(PseudoshotError, match=r"latest\.safetensors cannot be read"):
        train(data, tmp_path / "run", resume=True)
    assert latest.read_bytes() == b"not a checkpoint"


def test_what_a_killed_writer_left_is_removed(data, tmp_path, monkeypatch):
    latest = stopped_run(data, tmp_path / "run", monkeypatch)
    left = latest.with_name(".fresh.safetensors.123-0.tmp")
    left.write_bytes(b"half")
    train(data, tmp_path / "run", resume=True)
    assert not left.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_full_disk_is_a_clear_error_and_the_last_checkpoint_stays(
    data, unbroken, tmp_path, monkeypatch
):
    """A limit on the size of files: a checkpoint is larger, run.json and the log are not."""
    latest = stopped_run(data, tmp_path / "run", monkeypatch)
    before = latest.read_bytes()
    entry = Path(sys.executable).with_name("pseudoshot")
    result = subprocess.run(
        [str(entry), "train", data, "--out", str(tmp_path / "run"), "--resume"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    assert result.returncode == 1
    assert "File too large" in result.stderr
    assert "Traceback" not in result.stderr
    assert latest.read_bytes() == before
    train(data, tmp_path / "run", resume=True)
    assert_same(tmp_path / "run", unbroken)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_a_clear_error(data, tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(PseudoshotError, match="cannot write to"):
        train(data, tmp_path / "run", **SMALL)
    tmp_path.chmod(0o755)
