"""What was measured of a run, kept in its folder: a line of `evaluations.jsonl` per evaluation.

The accuracy of every task lies beside it, in `evaluations/<id>.npy`, so that two evaluations on the
same tasks can be compared task by task at any later time.
"""

from __future__ import annotations

import os
import platform
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt
import torch
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from pseudoshot._version import __version__
from pseudoshot.evaluation.few_shot import Accuracy, Evaluation
from pseudoshot.tools.console import console, printable
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import replaced, room_for

_ID = r"^\d{8}T\d{6}Z-[0-9a-f]{8}$"  # names a file: nothing but letters, digits and a dash

_OF_BOTH = (
    *("fingerprint", "labelling", "note", "way", "query", "tasks", "seed"),
    *("similarity", "classifier", "setting", "reading", "results"),
)

_Count = Annotated[int, Field(ge=1, lt=2**63)]


class Record(BaseModel):
    """One line: a result, the protocol it was obtained by, and what it depends on besides."""

    model_config = ConfigDict(frozen=True)  # what a later version adds to a line is passed over

    format: Literal[1] = 1
    id: str = Field(pattern=_ID)
    time: AwareDatetime
    measured: str  # "trained", "epoch 3 of 10", or what it is compared with: "untrained"
    data: str
    fingerprint: str
    labelling: str
    note: str
    way: _Count
    query: _Count
    tasks: _Count
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    similarity: str
    classifier: str
    setting: str
    reading: str = "plain"
    results: tuple[Accuracy, ...]
    pretrained_labels: str = ""
    versions: dict[str, str]

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for result in self.results:
            percent = 0 <= result.accuracy <= 100 and 0 <= result.interval <= 100
            if not (percent and 1 <= result.shot < 2**63):
                raise ValueError("no evaluation gives such a result")
        return self


def append_record(folder: Path, measured: str, evaluation: Evaluation) -> Record:
    """Keep an evaluation in a run folder; what is there already is not touched.

    >>> append_record(Path("runs/demo"), "trained", evaluation)  # doctest: +SKIP
    """
    time = datetime.now(UTC).replace(microsecond=0)
    record = Record(
        id=f"{time:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
        time=time,
        measured=measured,
        fingerprint=evaluation.fingerprint,
        labelling=evaluation.labelling,
        versions=_versions(),
        **_as_text(evaluation.as_dict()),
    )
    scores = _scores_path(folder, record)
    scores.parent.mkdir(exist_ok=True)
    with replaced(scores) as temporary, temporary.open("wb") as file:
        np.save(file, evaluation.scores, allow_pickle=False)
    _append_line(_records_path(folder), record.model_dump_json())
    return record


def find_record(folder: Path, evaluation: Evaluation) -> Record | None:
    """That of an evaluation, whoever wrote the last line; None where it could not be kept."""
    same = [
        record
        for record in read_records(folder)
        if all(getattr(record, name) == getattr(evaluation, name) for name in _OF_BOTH)
    ]
    return same[-1] if same else None


def read_records(folder: Path) -> list[Record]:
    """The evaluations of a run, the earliest first.

    A last line cut short by a crash is passed over; other lines that are no records, or those of a
    newer version, are passed over with a word.

    >>> read_records(Path("runs/none"))
    []
    """
    path = _records_path(folder)
    if not path.is_file():
        return []
    *lines, last = path.read_bytes().split(b"\n")
    records = [_parsed(line) for line in lines if line.strip()]
    strange = records.count(None)
    if strange:
        console.print(
            f"{printable(str(path))}: {strange} of {len(records)} lines were passed over, which "
            f"this version of pseudoshot cannot read",
            markup=False,
            soft_wrap=True,
        )
    return [record for record in (*records, _parsed(last)) if record is not None]


def read_scores(folder: Path, record: Record) -> npt.NDArray[np.float32]:
    """The percentage of queries that were right in every task of an evaluation, (shots, tasks).

    >>> first, *_, last = read_records(Path("runs/demo"))  # doctest: +SKIP
    >>> read_scores(Path("runs/demo"), last).shape  # doctest: +SKIP
    (1, 10000)
    """
    path = _scores_path(folder, record)
    expected = (len(record.results), record.tasks)
    try:
        # mapped, so that a header of any claim cannot ask for more memory than the file has bytes
        scores = np.array(np.load(path, mmap_mode="r", allow_pickle=False))
    except Exception as error:  # a header of any content leads to errors of any kind
        reason = next(iter(str(error).splitlines()), type(error).__name__)[:200]
        raise PseudoshotError(
            f"the scores of the tasks in {path} cannot be read: {reason}; evaluate the run again"
        ) from error
    shaped = scores.dtype == np.float32 and scores.shape == expected
    if not (shaped and ((scores >= 0) & (scores <= 100)).all()):
        raise PseudoshotError(
            f"{path} holds {scores.dtype} of shape {scores.shape}, not the scores of the tasks, "
            f"percentages as float32 of shape {expected}: evaluate the run again"
        )
    return scores


def _parsed(line: bytes) -> Record | None:
    try:
        return Record.model_validate_json(line)
    except (ValidationError, ValueError, RecursionError):
        return None


def _append_line(path: Path, line: str) -> None:
    """At once, and on a line of its own: an evaluation before it may have been cut short."""
    with room_for(path), path.open("a+b") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        missing = b"" if file.read() in (b"", b"\n") else b"\n"
        file.write(missing + line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _as_text(values: dict[str, Any]) -> dict[str, Any]:
    """A folder's name may hold bytes that are no text, which no JSON can hold either."""
    return {k: printable(v) if isinstance(v, str) else v for k, v in values.items()}


def _versions() -> dict[str, str]:
    return {
        "pseudoshot": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _records_path(folder: Path) -> Path:
    return folder / "evaluations.jsonl"


def _scores_path(folder: Path, record: Record) -> Path:
    return folder / "evaluations" / f"{record.id}.npy"
