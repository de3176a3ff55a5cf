"""The README's example in Python runs as it stands."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

README = Path(__file__).parent.parent / "README.md"


def test_the_five_lines_run(tmp_path, monkeypatch, capsys):
    if not README.is_file():
        pytest.skip("the README is not installed with the package")
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (code,) = (block for block in blocks if "FewShotClassifier" in block)
    assert len([line for line in code.splitlines() if line]) == 5
    draw = np.random.default_rng(0)
    for name in re.findall(r'"(\w+\.jpg)"', code):
        tint = (200, 60, 60) if name.startswith("cat") else (60, 60, 200)
        pixels = draw.integers(0, 56, (40, 50, 3)) + np.array(tint)
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert re.match(r"\['(cat|dog)' '(cat|dog)'\]\n\[\[0\.", printed)
