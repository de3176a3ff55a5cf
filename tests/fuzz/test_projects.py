"""Projects that were damaged: one clear sentence, or what was said before."""

from __future__ import annotations

from pathlib import Path

import pytest

from pseudoshot.serve.exchange import from_file, to_file
from pseudoshot.serve.store import Store
from pseudoshot.tools.errors import PseudoshotError
from tests.serve.test_store import filled

from .damage import damaged, one_sentence

TIMES = [80, pytest.param(2000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("times", TIMES, ids=["some", "thousands"])
def test_a_damaged_project_is_never_another(tmp_path: Path, times: int) -> None:
    file = tmp_path / "p.sqlite"
    store = filled(file)
    expected = store.read()
    store.close()
    for content in damaged(file.read_bytes(), times, 7):
        file.write_bytes(content)
        try:
            store = Store(file, "/photos")
        except PseudoshotError as error:
            one_sentence(error)
            assert file.read_bytes() == content  # it is never overwritten
            continue
        assert store.read() == expected
        store.close()


@pytest.mark.parametrize("times", TIMES, ids=["some", "thousands"])
def test_a_damaged_export_is_never_another_project(tmp_path: Path, times: int) -> None:
    store = filled(tmp_path / "p.sqlite")
    expected = store.read().project
    store.close()
    for content in damaged(to_file(expected), times, 8):
        try:
            found = from_file(content)
        except PseudoshotError as error:
            one_sentence(error)
            continue
        assert found == expected
