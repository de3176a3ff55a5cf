"""Run folders whose files were damaged or replaced: one clear sentence, or all is well."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save

import pseudoshot
from pseudoshot.report import write_report
from pseudoshot.runs import evaluate_run, train
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.state_file import load_state, save_state
from pseudoshot.training import loop
from pseudoshot.training.run_folder import RunFolder
from tests.pictures import draw_noise

from .damage import damaged, one_sentence

OPTIONS = {
    "recipe": "paper",
    "size": 16,
    "images": 4,
    "query": 1,
    "tasks": 2,
    "epochs": 3,
    "method": "tsp-head",
}
ODD_VALUES = (
    *(None, True, -1, 0, 0.5, 10**30, 1e308, float("nan"), float("inf"), "", "x", "\ud800"),
    *([], [1], {}, {"x": 1}, [[]] * 3, "9" * 5000),
)
MISSING = object()
CONTENTS = (
    *(b"", b"null", b"3", b"[]", b"{}", b'"text"', b"{", b"\xff\xfe\x00", b"\x00" * 50),
    *(b"[" * 50_000, b'{"a":' * 50_000, b"9" * 5000, b"NaN", b'{"settings": []}'),
)


class ReachedError(Exception):
    """Stands for the first step of a training that goes on."""


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("photos")
    draw_noise(folder, 24, 16)
    return str(folder)


@pytest.fixture(scope="module")
def finished(photos: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "finished"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PSEUDOSHOT_CACHE", str(tmp_path_factory.mktemp("cache")))
        train(photos, out, **OPTIONS)
    shown = ("step", "epoch", "seconds", "loss")  # a plot takes a tenth of a second: one is enough
    records = [{name: record[name] for name in shown} for record in RunFolder(out).read_log()]
    (out / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PSEUDOSHOT_CACHE", str(tmp_path_factory.mktemp("cache")))
        evaluate_run(out, photos, way=2, shots=[1], query=2, tasks=3)
    return out


@pytest.fixture(scope="module")
def unfinished(finished: Path) -> Path:
    """What the run was before it ended, with two checkpoints."""
    out = finished.with_name("unfinished")
    shutil.copytree(finished, out)
    for name in ("model.json", "model.safetensors", "head.safetensors", "report.html"):
        (out / name).unlink()
    folder = RunFolder(out)
    state = load_state(folder.checkpoint_path)
    save_state(folder.checkpoint_path, {**state, "step": 1})
    save_state(folder.previous_path, {**state, "step": 1})
    return out


@pytest.fixture(autouse=True)
def _no_step(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("finished")  # was trained before steps are taken away

    def reached(_trainer: object) -> None:
        raise ReachedError

    monkeypatch.setattr(loop.Trainer, "train_step", reached)


@pytest.fixture
def resume(unfinished: Path, photos: str, tmp_path: Path) -> Callable[[str, bytes], bool]:
    """Whether a copy of the unfinished run goes on with this content of one of its files."""

    def attempt(file: str, content: bytes) -> bool:
        run = tmp_path / "run"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(unfinished, run)
        (run / file).write_bytes(content)
        try:
            train(photos, run, resume=True, **OPTIONS)
        except ReachedError:
            return True
        except PseudoshotError as error:
            one_sentence(error)
        return False

    return attempt


@pytest.fixture
def measure(
    finished: Path, photos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, bytes], bool]:
    """Whether a copy of the finished run can be evaluated with this content of one of its files."""

    def attempt(file: str, content: bytes) -> bool:
        run = tmp_path / "run"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(finished, run)
        (run / file).write_bytes(content)
        if file.startswith(("model", "head")):
            monkeypatch.setattr(
                "pseudoshot.runs.evaluating.write_report", lambda *_, **__: None
            )  # reads neither
        else:
            monkeypatch.setattr("pseudoshot.runs.evaluating.write_report", write_report)
        try:
            if pseudoshot.load(run).card.size > 64:
                return True  # a description of another model, and a slow one
            evaluate_run(run, photos, way=2, shots=[1], query=2, tasks=3)
        except PseudoshotError as error:
            one_sentence(error)
            return False
        return True

    return attempt


def odd_records(whole: Any, limit: int, seed: int) -> Iterator[bytes]:
    """JSON in which one value, anywhere in it, is another or missing."""
    changes = [(place, value) for place in paths(whole) for value in (*ODD_VALUES, MISSING)]
    for place, value in random.Random(seed).sample(changes, min(limit, len(changes))):
        yield json.dumps(changed(whole, place, value)).encode()


def paths(node: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in inner:
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from paths(value, (*above, key))


def changed(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(node))
    place = copy
    for key in path[:-1]:
        place = place[key]
    if value is MISSING:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return copy


RESUMED = (
    "run.json",
    "log.jsonl",
    "checkpoint/latest.safetensors",
    "checkpoint/previous.safetensors",
)
MEASURED = (
    *("run.json", "log.jsonl", "model.json", "model.safetensors", "head.safetensors"),
    *("evaluations.jsonl", "report.html", "report/views.html"),
)


def damage_resumed(run: Path, resume: Callable[[str, bytes], bool], times: int, seed: int) -> None:
    for file in RESUMED:
        good = (run / file).read_bytes()
        assert resume(file, good)
        for content in (*CONTENTS, *damaged(good, times, seed)):
            goes_on = resume(file, content)
            if file != "run.json":
                assert goes_on, "one damaged file beside the settings costs nothing"
    for content in odd_records(json.loads((run / "run.json").read_bytes()), 5 * times, seed):
        resume("run.json", content)


def damage_measured(
    run: Path, measure: Callable[[str, bytes], bool], times: int, seed: int
) -> None:
    for file in MEASURED:
        good = (run / file).read_bytes()
        assert measure(file, good)
        for content in (*CONTENTS, *damaged(good, times, seed)):
            measured = measure(file, content)
            if not file.startswith(("run", "model", "head")):
                assert measured, "the model is whole"
    for file in ("run.json", "model.json"):
        for content in odd_records(json.loads((run / file).read_bytes()), 5 * times, seed):
            measure(file, content)


def test_damaged_files_of_an_unfinished_run(
    unfinished: Path, resume: Callable[[str, bytes], bool]
) -> None:
    damage_resumed(unfinished, resume, times=8, seed=0)


def test_damaged_files_of_a_finished_run(
    finished: Path, measure: Callable[[str, bytes], bool]
) -> None:
    damage_measured(finished, measure, times=4, seed=0)


@pytest.mark.slow
def test_damaged_runs_by_the_thousand(
    finished: Path,
    unfinished: Path,
    resume: Callable[[str, bytes], bool],
    measure: Callable[[str, bytes], bool],
) -> None:
    damage_resumed(unfinished, resume, times=150, seed=1)
    damage_measured(finished, measure, times=60, seed=1)


def test_both_checkpoints_replaced_by_other_states(
    unfinished: Path, resume: Callable[[str, bytes], bool], tmp_path: Path
) -> None:
    """Whole files with a right digest, that no training wrote."""
    folder = RunFolder(unfinished)
    state, kept = load_state(folder.checkpoint_path), folder.previous_path.read_bytes()
    needed = state.keys() - {"card", "epoch", "cpu_seconds"}  # earlier versions have none
    others = [{key: value for key, value in state.items() if key != name} for name in needed]
    others += [{**state, "step": value} for value in (None, "x", -1, float("nan"), [])]
    others += [{}, {"seconds": {}}]
    try:
        for other in others:
            save_state(tmp_path / "other", other)
            content = (tmp_path / "other").read_bytes()
            folder.previous_path.write_bytes(content)
            assert not resume("checkpoint/latest.safetensors", content)
    finally:
        folder.previous_path.write_bytes(kept)


WEIGHTS = {
    "none": {},
    "another name": {"x": torch.zeros(2)},
    "no sides": {"blocks.0.convolution.weight": torch.zeros(())},
}


@pytest.mark.parametrize("about", WEIGHTS)
@pytest.mark.parametrize("file", ["model.safetensors", "head.safetensors"])
def test_weights_of_something_else(
    about: str, file: str, measure: Callable[[str, bytes], bool]
) -> None:
    refused = not measure(file, save(WEIGHTS[about]))
    assert refused or file == "head.safetensors"  # which only some classifiers ask for


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_subnormal=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.dictionaries(st.sampled_from(("step", "epoch", "loss")), json_values)))
def test_a_log_of_any_records_is_cut_and_shown(
    finished: Path, tmp_path: Path, lines: list[dict[str, Any]]
) -> None:
    run = tmp_path / "logged"
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir()
    shutil.copy(finished / "run.json", run)
    (run / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    folder = RunFolder(run)
    write_report(folder)
    folder.truncate_log(1)
    assert all(record["step"] <= 1 for record in folder.read_log())


@pytest.mark.parametrize("value", [1e308, 3e38, -3e38, 1e-320, float("inf"), float("nan"), 0.0])
@pytest.mark.parametrize("name", ["epoch", "loss", "norm_mean", "norm_std", "seconds", "step"])
def test_extreme_numbers_in_a_log(finished: Path, tmp_path: Path, name: str, value: float) -> None:
    shutil.copy(finished / "run.json", tmp_path)
    record = {"epoch": 1.0, "loss": 1.0, "norm_mean": 1.0, "norm_std": 0.1, "seconds": 1.0}
    folder = RunFolder(tmp_path)
    for step in (1, 2):
        folder.append_log({"step": step, **record})
        folder.append_log({"step": step, **record, name: value})
    write_report(folder)
