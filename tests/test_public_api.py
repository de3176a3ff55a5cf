"""What a user imports: typed, listed, and each name with an example."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pseudoshot

GOOD = """
import pseudoshot

model = pseudoshot.train("photos", "runs/mine", method="hms", strength=0.2, epochs=3)
result = pseudoshot.evaluate(model, pseudoshot.load_data("glyphs:test"), classifier="ridge")
accuracy: float = result.results[0].accuracy
tuned = pseudoshot.finetune("runs/mine", "photos", "runs/tuned", labels=0.1)
files: list[str] = pseudoshot.suggest("runs/mine", "photos", count=5)
comparison = pseudoshot.compare(["runs/mine", "runs/tuned"], "cifar-fs", shots=[1], tasks=100)
classifier = pseudoshot.FewShotClassifier(model, classifier="logistic")
pseudoshot.save_classifier(classifier, "classifier.safetensors")
"""
BAD = {
    "pseudoshot.lod('x')": 'Module has no attribute "lod"',
    "pseudoshot.train('photos', 'runs/mine', epocs=3)": 'Unexpected keyword argument "epocs"',
    "pseudoshot.train('photos', 'runs/mine', epochs='three')": 'incompatible type "str"',
    "pseudoshot.finetune('runs/a', 'photos', 'runs/b', label=0.1)": 'keyword argument "label"',
    "pseudoshot.compare(['a', 'b'], 'cub', shot=[1])": 'keyword argument "shot"',
    "pseudoshot.evaluate(pseudoshot.load('x'), classifer='ridge')": '"classifer"',
}


def check(text: str, folder: Path) -> str:
    (folder / "user.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache")]
    result = subprocess.run(
        [*command, "user.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    return result.stdout + result.stderr


def test_a_type_checker_sees_what_is_wrong_in_a_users_file_and_nothing_else(tmp_path):
    lines = "\n".join(BAD)
    errors = check(f"{GOOD}{lines}\n", tmp_path).splitlines()
    first = len(GOOD.splitlines()) + 1
    found = {int(line.split(":")[1]): line for line in errors if ": error:" in line}
    assert sorted(found) == list(range(first, first + len(BAD))), "\n".join(errors)
    for number, words in enumerate(BAD.values(), first):
        assert words in found[number]


def test_dir_lists_the_public_names_and_all_of_them_are_there():
    assert set(pseudoshot.__all__) <= set(dir(pseudoshot))
    for name in pseudoshot.__all__:
        assert getattr(pseudoshot, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'lod'"):
        _ = pseudoshot.lod


@pytest.mark.parametrize("name", sorted(set(pseudoshot.__all__) - {"__version__"}))
def test_every_public_name_shows_how_it_is_used(name):
    documentation = getattr(pseudoshot, name).__doc__
    assert documentation
    assert ">>>" in documentation, f"{name} has no example"
