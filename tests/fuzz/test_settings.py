"""Options of any name and any value: settings, or one sentence that says what is wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pseudoshot.methods import METHODS
from pseudoshot.runs import train
from pseudoshot.settings.options import all_options
from pseudoshot.settings.resolve import resolve
from pseudoshot.settings.saved import saved_settings
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training import loop
from tests.pictures import draw_noise

from .damage import one_sentence

NAMES = sorted(all_options().keys() - {"data"})
STRANGE_NAMES = (
    "episode",
    "name",
    "optimisation",
    "self",
    "",
    "__class__",
    "leraning_rate",
    "Size",
    "a b",
    "\ud800",
)
NUMBERS = (
    *(0, -1, 1, 2, 3, 2**31, 2**63, 2**64, 10**30, 10**5000, -(10**5000)),
    *(0.0, -0.0, 0.5, 1e-300, 1e300, -1e300, float("nan"), float("inf"), float("-inf")),
)
numbers = st.sampled_from(NUMBERS) | st.integers() | st.floats(allow_subnormal=False)
names = st.sampled_from((*METHODS, "conv4", "resnet12", "sns", "amdim", "exhaustive", "sgd"))
values = (
    numbers
    | names
    | st.text(max_size=20)
    | st.sampled_from(("x" * 5000, "a\nb", b"bytes", [1], (), {}, {"a": 1}, {1}, object(), True))
    | st.builds(lambda: np.float32("nan"))
    | st.builds(lambda: np.array([1, 2]))
)
options = st.dictionaries(st.sampled_from((*NAMES, *STRANGE_NAMES)), values, max_size=4)


def check_resolved(given: dict[str, Any]) -> None:
    try:
        resolved = resolve({"data": "toy", **given})
    except PseudoshotError as error:
        one_sentence(error)
        return
    again = saved_settings(json.loads(json.dumps(resolved.model_dump())))
    assert again == resolved, "what is accepted can be written down and read again"


@settings(max_examples=600)
@given(options)
def test_any_options(given: dict[str, Any]) -> None:
    check_resolved(given)


@pytest.mark.slow
@settings(max_examples=30_000)
@given(options)
def test_any_options_by_the_thousand(given: dict[str, Any]) -> None:
    check_resolved(given)


ODD = (*NUMBERS, None, True, "", "x", "1", b"1", [], {}, (1,), object(), float, np.arange(3))


@pytest.mark.parametrize("name", NAMES)
def test_every_odd_value_of_every_option(name: str) -> None:
    for value in ODD:
        check_resolved({name: value})


@pytest.mark.parametrize("method", METHODS)
def test_every_odd_value_of_every_setting_of_a_method(method: str) -> None:
    for name in METHODS[method].Settings.model_fields:
        for value in ODD:
            check_resolved({"method": method, name: value})


class ReachedError(Exception):
    """Stands for the end of the first step."""


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("photos")
    draw_noise(folder, 12, 8)
    return str(folder)


SMALL = {"recipe": "paper", "size": 8, "images": 2, "query": 1, "tasks": 2, "epochs": 1}
HUGE = st.sampled_from((10**4, 2**31, 10**30, 1e300, float("inf"), float("nan"), -1, 0))


def check_trained(photos: str, out: Path, chosen: dict[str, Any]) -> None:
    """One step is made where the options are possible."""
    shutil.rmtree(out, ignore_errors=True)
    try:
        train(photos, out, **{**SMALL, **chosen})
    except ReachedError:
        pass
    except PseudoshotError as error:
        one_sentence(error)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(sorted(METHODS)),
    chosen=st.dictionaries(st.sampled_from((*NAMES, "lr")), HUGE, max_size=2),
)
def test_huge_numbers_do_not_reach_the_first_step(
    photos: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    chosen: dict[str, Any],
) -> None:
    step = loop.Trainer.train_step

    def one_step(trainer: loop.Trainer) -> None:
        step(trainer)
        raise ReachedError

    with monkeypatch.context() as patched:
        patched.setattr(loop.Trainer, "train_step", one_step)
        check_trained(photos, tmp_path / "run", {"method": method, **chosen})


@pytest.mark.parametrize(
    "data", ["~nobody-of-this-name/x", "x" * 5000, "\0", "", ":", "a:b:c", "\ud800"]
)
def test_data_that_could_never_be_a_folder(data: str, tmp_path: Path) -> None:
    with pytest.raises(PseudoshotError, match="neither a folder nor a known set"):
        train(data, tmp_path / "run", **SMALL)
