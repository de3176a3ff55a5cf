"""What became of images as a table, written and read back."""

from __future__ import annotations

import csv as csv_format
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from pseudoshot.data.folder import path_inside
from pseudoshot.tools.console import printable
from pseudoshot.tools.errors import PseudoshotError, first_line

COLUMNS = ("file", "label", "confidence", "runner_up")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")  # what a harmful cell begins with, and its cure


@dataclass(frozen=True)
class Sorted:
    """What became of a folder: a label for each file that could be read."""

    files: tuple[str, ...]
    labels: tuple[str, ...]
    confidences: tuple[float, ...]  # of the likeliest class, rejected or not
    runners_up: tuple[str, ...]  # the likeliest class but that one; '' where there is one class
    skipped: tuple[str, ...] = ()  # files that could not be read, and why
    quality: str = ""  # how good it is by the examples, in words; "": a saved classifier has none
    classes: tuple[str, ...] = ()
    probabilities: npt.NDArray[np.float64] = field(  # of each file and class
        default_factory=lambda: np.empty((0, 0)), repr=False, compare=False
    )

    def counts(self) -> Counter[str]:
        return Counter(self.labels)


def write_csv(result: Sorted, file: IO[str], all_probabilities: bool = False) -> None:
    """A row per image; with all probabilities, a column more per class."""
    writer = csv_format.writer(file)
    if not all_probabilities:
        writer.writerow(COLUMNS)
        writer.writerows(_rows(result))
        return
    # no class, whatever it is called, can be taken for a column of another kind
    writer.writerow([*COLUMNS, *(f"probability of {printable(name)}" for name in result.classes)])
    for row, probabilities in zip(_rows(result), result.probabilities, strict=True):
        writer.writerow([*row, *(f"{value:.4f}" for value in probabilities)])


def _rows(result: Sorted) -> Iterator[tuple[str, str, str, str]]:
    for name, label, confidence, runner_up in zip(
        result.files, result.labels, result.confidences, result.runners_up, strict=True
    ):
        yield harmless(name), harmless(label), f"{confidence:.4f}", harmless(runner_up)


def harmless(cell: str) -> str:
    """A spreadsheet takes for a formula what begins so; an apostrophe before it makes it a text.

    >>> harmless("=1+1.png"), harmless("a.png")
    ("'=1+1.png", 'a.png')
    """
    cell = printable(cell)
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def read_labels(csv: Path, images: Path) -> tuple[list[str], list[str]]:
    """Images of a folder and their labels, as `write_csv` or a person wrote them in a table with
    the columns file and label; rows without a label are no examples."""
    try:
        with csv.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv_format.DictReader(file))
        pairs = [(row["file"], row["label"]) for row in rows]
    except (OSError, ValueError, KeyError, csv_format.Error) as error:
        raise PseudoshotError(
            f"'{csv}' is no table with the columns file and label: {first_line(error)}"
        ) from error
    named = [(_as_written(f or ""), _as_written(label or "")) for f, label in pairs]
    examples = [(str(path_inside(images, f)), label) for f, label in named if label]
    if not examples:
        raise PseudoshotError(f"'{csv}' has no row with a label")
    files, labels = zip(*examples, strict=True)
    return list(files), list(labels)


def _as_written(cell: str) -> str:
    """What `harmless` was given."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA) else cell
