"""The pages: every public name is in the reference, and the notebook runs as it stands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pseudoshot

DOCS = Path(__file__).parent.parent / "docs"
if not DOCS.is_dir():
    pytest.skip("the pages are not installed with the package", allow_module_level=True)


def test_every_public_name_is_in_the_reference():
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    named = re.findall(r"^\.\. auto\w+:: (\w+)$", page, re.MULTILINE)
    assert sorted(named) == sorted(pseudoshot.__all__)


@pytest.mark.parametrize("name", sorted(pseudoshot.__all__))
def test_an_example_below_sections_has_one_of_its_own(name):
    """Else it is shown as a part of the last, `>>>` and all."""
    text = getattr(pseudoshot, name).__doc__
    assert "-----" not in text or ">>>" not in text or "Examples\n" in text


def test_every_page_is_in_the_contents():
    contents = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"<([\w./-]+)>$", contents, re.MULTILINE))
    pages = {path.stem for pattern in ("*.md", "*.ipynb") for path in DOCS.glob(pattern)}
    assert pages - {"index"} <= listed


def cells(notebook: Path) -> list[dict]:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    assert content["nbformat"] == 4
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_prints_what_it_says(tmp_path):
    """Its figures too, up to what another processor may round otherwise."""
    (notebook,) = DOCS.glob("*.ipynb")
    code = "\n".join("".join(cell["source"]) for cell in cells(notebook))
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    kept = "".join(
        "".join(output["text"])
        for cell in cells(notebook)
        for output in cell["outputs"]
        if output["output_type"] == "stream"
    )
    number = re.compile(r"\d+(?:\.\d+)?")
    assert number.sub("N", result.stdout) == number.sub("N", kept)
    found, expected = (list(map(float, number.findall(text))) for text in (result.stdout, kept))
    assert found == pytest.approx(expected, abs=3)
