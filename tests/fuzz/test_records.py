"""Records of evaluations whose files were damaged or replaced: the whole ones are found again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pseudoshot.evaluation.records import Record, append_record, read_records, read_scores
from pseudoshot.report.scores import accuracy_sections
from pseudoshot.tools.errors import PseudoshotError
from tests.evaluation.test_records import make_evaluation
from tests.report.reading import read

from .damage import damaged, one_sentence
from .test_run_folders import CONTENTS, json_values, odd_records


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder of three evaluations."""
    for number in range(3):
        append_record(tmp_path, f"{number}", make_evaluation(50.0 + number, 60.0))
    return tmp_path


def shown(run: Path) -> list[str]:
    """What is found, once a further evaluation was added and all were drawn."""
    append_record(run, "last", make_evaluation(70.0))
    records = read_records(run)
    for section in accuracy_sections(records):
        read(section)
    return [record.measured for record in records]


def test_damage_costs_no_line_but_the_damaged(run: Path) -> None:
    path = run / "evaluations.jsonl"
    first, middle, last = path.read_bytes().splitlines(keepends=True)
    for content in (*CONTENTS, *damaged(middle, times=200, seed=0)):
        path.write_bytes(first + content.removesuffix(b"\n") + b"\n" + last)
        found = shown(run)
        assert (found[0], found[-2:]) == ("0", ["2", "last"])


def test_a_value_of_any_kind_is_shown_or_passed_over(run: Path) -> None:
    path = run / "evaluations.jsonl"
    line = json.loads(path.read_bytes().splitlines()[0])
    for content in odd_records(line, limit=400, seed=0):
        path.write_bytes(content + b"\n")
        assert shown(run)[-1] == "last"


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.dictionaries(st.sampled_from([*Record.model_fields]), json_values)))
def test_lines_of_any_content(tmp_path: Path, lines: list[dict[str, object]]) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "evaluations.jsonl").write_text(text)
    assert shown(tmp_path) == ["last"]


def test_damaged_scores_are_refused_or_of_their_shape(run: Path) -> None:
    record = read_records(run)[0]
    path = run / "evaluations" / f"{record.id}.npy"
    good = path.read_bytes()
    for content in (*CONTENTS, *damaged(good, times=300, seed=0)):
        path.write_bytes(content)
        try:
            scores = read_scores(run, record)
        except PseudoshotError as error:
            one_sentence(error)
        else:
            assert (scores.dtype, scores.shape) == (np.float32, (2, 4))
