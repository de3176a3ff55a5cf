"""What the README promises, measured again: minutes of training, so only in `make test-all`."""

import json
import resource
import sys
from pathlib import Path

import pytest

from tests.cli.entry import pseudoshot

pytestmark = pytest.mark.slow


def evaluate(run: Path, data: object, *options: object, root: Path | None = None) -> list[float]:
    result = pseudoshot("evaluate", run, data, *options, "--json", root=root)
    assert result.returncode == 0, result.stderr
    return [r["accuracy"] for r in json.loads(result.stdout)["results"]]


def test_the_demo_reads_new_alphabets(tmp_path):
    run = tmp_path / "demo"
    result = pseudoshot("demo", "--out", run)
    assert result.returncode == 0, result.stderr
    assert evaluate(run, "glyphs", "--shot", 1)[0] >= 94
    assert evaluate(run, "glyphs", "--shot", 1, "--way", 20)[0] >= 86
    assert "trained" in pseudoshot("demo", "--out", run).stdout, "scored again, not overwritten"
    refused = pseudoshot("demo", "--out", run, "--seed", 1)
    assert "holds another run" in refused.stderr


@pytest.mark.real_data
def test_photos_nobody_prepared(real_data, tmp_path):
    birds, run = real_data / "CUB_200_2011" / "images", tmp_path / "birds"
    result = pseudoshot("train", birds, "--out", run, "--epochs", 2)
    assert result.returncode == 0, result.stderr
    assert evaluate(run, birds, "--shot", 5)[0] > 30, "chance is 20"


@pytest.mark.real_data
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss counts kilobytes on Linux only")
def test_cifar_training_stays_below_two_and_a_half_gigabytes(real_data, tmp_path):
    result = pseudoshot(
        "train", "cifar-fs:val", "--out", tmp_path / "run", "--epochs", 1, root=real_data
    )
    assert result.returncode == 0, result.stderr
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2.5e6
