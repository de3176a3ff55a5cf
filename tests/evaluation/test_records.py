"""Evaluations are kept whole, found again, and survive what happens to files."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from pseudoshot.evaluation import Accuracy, Evaluation
from pseudoshot.evaluation.records import append_record, find_record, read_records, read_scores
from pseudoshot.tools.errors import PseudoshotError


def make_evaluation(
    *accuracies: float, way: int = 5, tasks: int = 4, data: str = "toy:test", note: str = ""
) -> Evaluation:
    """With scores that tell the shots apart."""
    results = tuple(Accuracy(1 + 4 * n, accuracy, 0.25) for n, accuracy in enumerate(accuracies))
    scores = np.arange(len(results) * tasks, dtype=np.float32).reshape(len(results), tasks)
    return Evaluation(
        *(data, note, way, 15, tasks, 0, "sns", "prototype", "inductive", results),
        fingerprint="f" * 64,
        labelling="e" * 64,
        scores=scores,
    )


def test_a_record_says_what_was_measured_how_and_by_which_versions(tmp_path):
    evaluation = make_evaluation(60.0, 70.0)
    append_record(tmp_path, "trained", evaluation)
    (record,) = read_records(tmp_path)
    line = json.loads((tmp_path / "evaluations.jsonl").read_text())
    assert {name: line[name] for name in evaluation.as_dict()} == json.loads(
        json.dumps(evaluation.as_dict())
    )
    assert (line["format"], line["measured"], line["fingerprint"]) == (1, "trained", "f" * 64)
    assert set(line["versions"]) == {"pseudoshot", "torch", "numpy", "python"}
    assert timedelta(0) <= datetime.now(UTC) - record.time < timedelta(minutes=1)
    assert record.results == evaluation.results
    np.testing.assert_array_equal(read_scores(tmp_path, record), evaluation.scores)


def test_records_are_added_in_order_and_none_is_touched(tmp_path):
    ids = [append_record(tmp_path, f"{n}", make_evaluation(50.0 + n)).id for n in range(5)]
    assert [record.id for record in read_records(tmp_path)] == ids
    assert len(set(ids)) == 5
    assert sorted(path.stem for path in (tmp_path / "evaluations").iterdir()) == sorted(ids)


def test_an_evaluation_finds_its_own_record_whoever_wrote_the_last(tmp_path):
    ours, theirs = make_evaluation(50.0, 60.0), make_evaluation(50.0, 61.0)
    assert find_record(tmp_path, ours) is None
    kept = append_record(tmp_path, "trained", ours)
    append_record(tmp_path, "trained", theirs)
    assert find_record(tmp_path, ours) == kept
    assert find_record(tmp_path, make_evaluation(50.0, 60.0, tasks=5)) is None


def test_a_folder_name_that_is_not_unicode_is_recorded(tmp_path):
    append_record(tmp_path, "trained", make_evaluation(60.0, data="caf\udce9"))
    assert read_records(tmp_path)[0].data == "caf?"


@pytest.mark.parametrize("cut", [1, 2, 40, 400])
def test_a_line_cut_short_costs_that_line_alone(tmp_path, cut, capsys):
    append_record(tmp_path, "first", make_evaluation(60.0))
    append_record(tmp_path, "cut", make_evaluation(61.0))
    path = tmp_path / "evaluations.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    found = [record.measured for record in read_records(tmp_path)]
    assert found == ["first", "cut"][: 2 if cut == 1 else 1]  # only the end of the line is missing
    assert capsys.readouterr().err == ""
    append_record(tmp_path, "next", make_evaluation(62.0))
    assert [record.measured for record in read_records(tmp_path)] == [*found, "next"]


@pytest.mark.parametrize(
    "change",
    [
        *({"format": 2}, {"id": "../../etc/passwd"}, {"id": ""}, {"time": "yesterday"}),
        *({"way": 0}, {"way": 10**30}, {"tasks": "many"}, {"seed": -1}, {"results": 3}),
        {"results": [{"shot": 1, "accuracy": float("nan"), "interval": 0.1}]},
        {"results": [{"shot": 1, "accuracy": 101.0, "interval": 0.1}]},
        {"results": [{"shot": 0, "accuracy": 50.0, "interval": 0.1}]},
    ],
)
def test_a_line_this_version_cannot_read_is_passed_over_with_a_word(tmp_path, change, capsys):
    append_record(tmp_path, "strange", make_evaluation(60.0))
    path = tmp_path / "evaluations.jsonl"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}) + "\n\n")
    append_record(tmp_path, "good", make_evaluation(61.0))
    assert [record.measured for record in read_records(tmp_path)] == ["good"]
    assert "1 of 2 lines were passed over" in capsys.readouterr().err.replace("\n", " ")


def test_a_line_with_more_than_is_known_is_read(tmp_path):
    append_record(tmp_path, "trained", make_evaluation(60.0))
    path = tmp_path / "evaluations.jsonl"
    path.write_text(json.dumps({**json.loads(path.read_text()), "mood": "good"}) + "\n")
    assert len(read_records(tmp_path)) == 1


def content(array: np.ndarray, path: Path) -> bytes:
    np.save(path, array)
    return path.read_bytes()


def test_scores_that_are_not_there_or_not_scores_are_told(tmp_path):
    record = append_record(tmp_path, "trained", make_evaluation(60.0, tasks=4))
    path = tmp_path / "evaluations" / f"{record.id}.npy"
    good, other = path.read_bytes(), tmp_path / "other.npy"
    for wrong in (
        content(np.zeros((1, 5), np.float32), other),
        content(np.zeros((1, 4)), other),
        content(np.array([{"a": 1}], dtype=object), other),  # would have to be unpickled
        good.replace(b"(1, 4)", b"(9, 9)"),
        good[:-3],
        b"",
    ):
        path.write_bytes(wrong)
        with pytest.raises(PseudoshotError, match="evaluate the run again"):
            read_scores(tmp_path, record)
    path.unlink()
    with pytest.raises(PseudoshotError, match="cannot be read"):
        read_scores(tmp_path, record)
