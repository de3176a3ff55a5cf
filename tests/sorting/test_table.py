"""A table of labels is what was said, harmless in a spreadsheet, and read back exactly."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pseudoshot.sorting.table import Sorted, harmless, read_labels, write_csv
from pseudoshot.tools.console import shown
from pseudoshot.tools.errors import PseudoshotError

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n/"), min_size=1)
labels = st.lists(st.tuples(texts, texts), min_size=1, max_size=5)


@given(labels)
def test_a_table_is_read_back_exactly_and_no_cell_is_a_formula(tmp_path_factory, pairs) -> None:
    names, given_labels = zip(*((f"a{f}", label) for f, label in pairs), strict=True)
    result = Sorted(names, given_labels, (0.5,) * len(names), given_labels)
    text = io.StringIO()
    write_csv(result, text)
    for row in csv.reader(io.StringIO(text.getvalue())):
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)
    folder = tmp_path_factory.mktemp("table")
    (folder / "l.csv").write_text(text.getvalue(), encoding="utf-8", newline="")
    files, found = read_labels(folder / "l.csv", folder)
    assert [Path(file).name for file in files] == [Path(name).name for name in names]
    assert found == list(given_labels)


@pytest.mark.parametrize("cell", ["=1+1", "+a", "-a", "@a", "\ta", "\ra", "'a", "''", "a", ""])
def test_a_cell_keeps_its_text(cell: str, tmp_path: Path) -> None:
    rows = [["file", "label"], [harmless("x.png"), harmless(cell)], ["y.png", "known"]]
    with (tmp_path / "l.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    _, found = read_labels(tmp_path / "l.csv", tmp_path)
    assert found == ([cell, "known"] if cell else ["known"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no row with a label"),
        (b"file,label\r\n", "no row with a label"),
        (b"name,label\r\na,b\r\n", "columns file and label"),
        (b"\xff\xfe\x00", "columns file and label"),
        (b"file,label\r\n../../etc/passwd,b\r\n", "leads out of the folder"),
    ],
)
def test_what_is_no_such_table_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_bytes(content)
    with pytest.raises(PseudoshotError, match=words):
        read_labels(tmp_path / "l.csv", tmp_path)


def test_a_terminal_is_shown_no_control_character() -> None:
    assert shown("a\x1b[31m\u202e\nb é\udce9") == "a\\x1b[31m\\u202e\\nb é\\udce9"
