"""The commands of someone with images and no labels."""

from __future__ import annotations

import csv
import os
import re
import shutil

import numpy as np
import pytest

import pseudoshot as package
from pseudoshot.sorting import FewShotClassifier, save_classifier
from tests.cli.entry import here, pseudoshot, refused
from tests.pictures import KINDS

MODEL = "conv4-cifar-fs"


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_classify_writes_a_table_and_sorts_links_beside_untouched_originals(
    support, images, tmp_path
):
    before = contents(images)
    table, sorted_into = tmp_path / "labels.csv", tmp_path / "sorted"
    result = pseudoshot(
        *("classify", MODEL, "--support", support, "--images", images),
        *("--csv", table, "--sort-into", sorted_into),
    )
    assert result.returncode == 0, result.stderr
    assert "not read: broken.jpg: not an image" in result.stdout
    assert "examples right when held out" in " ".join(result.stdout.split())
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 15
    assert sum(row["label"] == row["file"].split("/")[0] for row in rows) >= 13
    for row in rows:
        assert 1 / 3 <= float(row["confidence"]) <= 1
        assert row["runner_up"] in set(KINDS) - {row["label"]}
        link = sorted_into / row["label"] / row["file"]
        assert link.is_symlink()
        assert link.resolve() == (images / row["file"]).resolve()
    assert contents(images) == before


def test_classify_takes_a_corrected_table_for_examples(images, tmp_path):
    chosen = [(f"{kind}/{index}.jpg", kind) for kind in KINDS for index in (0, 1)]
    with (tmp_path / "known.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("file", "label"), *chosen, ("elm/2.jpg", "")])
    result = here(
        *("classify", MODEL, "--support", tmp_path / "known.csv", "--images", images),
        *("--csv", tmp_path / "l.csv"),
    )
    assert result.returncode == 0, result.stderr
    with (tmp_path / "l.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(row["label"] == row["file"].split("/")[0] for row in rows) >= 12


def test_classify_copies_where_asked_and_rejects_the_doubtful(support, images, tmp_path):
    result = here(
        *("classify", MODEL, "--support", support, "--images", images, "--reject", "1"),
        *("--csv", tmp_path / "l.csv", "--sort-into", tmp_path / "out", "--copy"),
        *("--classifier", "ridge"),
    )
    assert result.returncode == 0, result.stderr
    assert "none of these" in result.stdout
    copies = list((tmp_path / "out" / "none of these").rglob("*.jpg"))
    assert len(copies) == 15
    assert not any(path.is_symlink() for path in copies)


def test_classify_takes_a_saved_classifier_whatever_its_classes_are_called(
    support, images, tmp_path
):
    names = ["../../up", "a/b", "con:"]
    shown = [str(support / kind / "0.jpg") for kind in KINDS]
    save_classifier(FewShotClassifier(MODEL).fit(shown, names), tmp_path / "c.safetensors")
    result = here(
        *("classify", tmp_path / "c.safetensors", "--images", images),
        *("--csv", tmp_path / "l.csv", "--sort-into", tmp_path / "out"),
    )
    assert result.returncode == 0, result.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {"_.._up", "a_b", "con_"}
    assert {path.name for path in tmp_path.iterdir()} == {"c.safetensors", "l.csv", "out"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("classify", MODEL, "--images", "{images}"), "give --support"),
        (("classify", "nowhere", "--support", "{support}", "--images", "{images}"), "no model"),
        (("classify", MODEL, "--support", "{support}", "--images", "{tmp}/no"), "is not a folder"),
        (
            ("classify", MODEL, "--support", "{support}/ash", "--images", "{images}"),
            "has no labels: put the images of each class",
        ),
        (
            (*("classify", MODEL, "--support", "{support}", "--images", "{images}"),
             *("--sort-into", "{images}/x")),
            "lies within",
        ),
        (
            (*("classify", MODEL, "--support", "{support}", "--images", "{images}"),
             *("--sort-into", "{support}/..")),
            "is not empty",
        ),
        (("suggest", MODEL, "--images", "{images}", "--count", "0"), "at least 1"),
        (("embed", MODEL, "{images}", "--out", "{tmp}/e.csv"), "must end in .npz"),
        (("export", MODEL, "{tmp}/model.pt"), "must end in .onnx"),
        (("export", MODEL, "{tmp}/no/model.onnx"), "no folder"),
        (("classify", MODEL, "--support", "{support}", "--images", "glyphs"), "is not a folder"),
        (("suggest", MODEL, "--images", "{images}", "--seed", "-1"), "a seed is at least 0"),
        (("serve", MODEL, "--images", "{tmp}/no", "--port", "0"), "is not a folder"),
        (("serve", MODEL, "--images", "glyphs", "--port", "0"), "is not a folder"),
        (("serve", MODEL, "--port", "70000"), "cannot listen"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_a_sentence(change, words, support, images, tmp_path):
    known = {"support": support, "images": images, "tmp": tmp_path}
    arguments = [part.format(**known) for part in change]
    if arguments[0] == "classify":
        arguments += ["--csv", str(tmp_path / "l.csv")]
    refused(here(*arguments), words)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(support, images, tmp_path):
    for name in ("l.csv", "e.npz", "m.onnx"):
        (tmp_path / name).write_text("precious")
    classify = ("classify", MODEL, "--support", support, "--images", images)
    for arguments in (
        (*classify, "--csv", tmp_path / "l.csv"),
        ("embed", MODEL, images, "--out", tmp_path / "e.npz"),
        ("export", MODEL, tmp_path / "m.onnx"),
    ):
        refused(here(*arguments), "exists and is not overwritten")
    assert set(contents(tmp_path).values()) == {b"precious"}


def test_a_saved_classifier_is_refused_what_it_cannot_do(support, images, tmp_path):
    shown = [str(support / kind / "0.jpg") for kind in KINDS]
    save_classifier(FewShotClassifier(MODEL).fit(shown, KINDS), tmp_path / "c.safetensors")
    classify = ("classify", tmp_path / "c.safetensors", "--images", images)
    classify += ("--csv", tmp_path / "l.csv")
    refused(here(*classify, "--reject", "50"), "from 0 to 1")
    refused(here(*classify, "--reject", "nan"), "from 0 to 1")
    refused(
        here(*classify, "--classifier", "ridge"),
        "leave out --support, --classifier and --reading",
    )
    refused(here(*classify, "--support", support), "leave out --support")
    assert [path.name for path in tmp_path.iterdir()] == ["c.safetensors"]


def test_home_folders_and_names_that_are_no_text(support, images, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    shutil.copytree(images, tmp_path / "images")
    shutil.copytree(support / "ash", tmp_path / "examples" / os.fsdecode(b"caf\xe9"))
    shutil.copytree(support / "elm", tmp_path / "examples" / "elm")
    result = here(
        *("classify", MODEL, "--support=~/examples", "--images=~/images"),
        *("--csv", tmp_path / "l.csv", "--sort-into", tmp_path / "sorted"),
    )
    assert result.returncode == 0, result.stderr
    assert "caf?" in (tmp_path / "l.csv").read_text()
    links = list((tmp_path / "sorted").rglob("*.jpg"))
    assert len(links) == 15
    assert all(link.exists() for link in links)


def test_suggest_names_files_of_every_kind(images):
    result = here("suggest", MODEL, "--images", images, "--count", "3")
    assert result.returncode == 0, result.stderr
    named = result.stdout.split()
    assert len(named) == 3
    assert {name.split("/")[-2] for name in named} == set(KINDS)


def test_embed_writes_arrays_without_objects(images, support, tmp_path):
    result = here("embed", MODEL, support, "--out", tmp_path / "e.npz")
    assert result.returncode == 0, result.stderr
    with np.load(tmp_path / "e.npz", allow_pickle=False) as arrays:
        assert arrays["embeddings"].shape == (6, 64)
        assert arrays["classes"][arrays["labels"]].tolist() == sorted(2 * KINDS)
        assert arrays["files"][0] == "ash/0.jpg"
    result = here("embed", MODEL, images, "--out", tmp_path / "f.npz")
    with np.load(tmp_path / "f.npz", allow_pickle=False) as arrays:
        assert sorted(arrays) == ["embeddings", "files"]


def test_every_probability_is_in_the_table_where_asked_for(support, images, tmp_path):
    """Also of a class that is called like a column."""
    examples = shutil.copytree(support, tmp_path / "examples")
    (examples / "elm").rename(examples / "label")
    result = here(
        *("classify", MODEL, "--support", examples, "--images", images, "--all-probabilities"),
        *("--csv", tmp_path / "l.csv", "--save", tmp_path / "c.safetensors"),
    )
    assert result.returncode == 0, result.stderr
    with (tmp_path / "l.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        found = {kind: float(row[f"probability of {kind}"]) for kind in ("ash", "birch", "label")}
        assert sum(found.values()) == pytest.approx(1, abs=2e-4)
        assert max(found, key=found.get) == row["label"]
        assert f"{max(found.values()):.4f}" == row["confidence"]
    again = here(
        *("classify", tmp_path / "c.safetensors", "--images", images, "--all-probabilities"),
        *("--csv", tmp_path / "again.csv"),
    )
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "l.csv").read_text()
    corrected = ("classify", MODEL, "--support", tmp_path / "l.csv", "--images", images)
    assert here(*corrected, "--csv", tmp_path / "third.csv").returncode == 0


def test_one_file_is_classified_and_embedded(support, images, tmp_path):
    one = images / "elm" / "0.jpg"
    classify = ("classify", MODEL, "--support", support, "--csv", tmp_path / "l.csv")
    result = here(*classify, "--images", one, "--sort-into", tmp_path / "sorted", "--copy")
    assert result.returncode == 0, result.stderr
    with (tmp_path / "l.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["file"] == "0.jpg"
    copied = tmp_path / "sorted" / row["label"] / "0.jpg"
    assert copied.read_bytes() == one.read_bytes()
    assert here("embed", MODEL, one, "--out", tmp_path / "e.npz").returncode == 0
    expected = package.load(MODEL).embed(package.load_data(images / "elm", size=32)).numpy()[:1]
    with np.load(tmp_path / "e.npz", allow_pickle=False) as arrays:
        np.testing.assert_allclose(arrays["embeddings"], expected, atol=1e-5)
    broken = ("--images", images / "broken.jpg", "--csv", tmp_path / "other.csv")
    refused(here("classify", MODEL, "--support", support, *broken), r"broken\.jpg' cannot be read")


def test_a_classifier_is_saved_under_a_name_that_is_free_and_can_be_read(support, images, tmp_path):
    classify = ("classify", MODEL, "--support", support, "--images", images)
    classify += ("--csv", tmp_path / "l.csv", "--save")
    refused(here(*classify, tmp_path / "c.onnx"), r"must end in \.safetensors")
    (tmp_path / "c.safetensors").write_text("precious")
    refused(here(*classify, tmp_path / "c.safetensors"), "exists and is not overwritten")
    assert contents(tmp_path) == {tmp_path / "c.safetensors": b"precious"}


@pytest.mark.parametrize("copy", [True, False])
def test_suggested_images_are_laid_out_and_then_are_examples(images, tmp_path, copy):
    into = tmp_path / "examples"
    suggest = ("suggest", MODEL, "--images", images, "--count", "6", "--into", into)
    result = here(*suggest, *(["--copy"] if copy else []))
    assert result.returncode == 0, result.stderr
    assert f"--support {into}" in result.stderr
    named = result.stdout.splitlines()
    laid_out = sorted(into.iterdir())
    assert [path.name for path in laid_out] == [
        f"{number:03d} {os.path.basename(name)}"  # noqa: PTH119
        for number, name in enumerate(named, 1)
    ]
    for path, name in zip(laid_out, named, strict=True):
        assert path.is_symlink() != copy
        assert path.read_bytes() == (images / name).read_bytes()
        kind = into / os.path.dirname(name).rpartition("/")[2]  # noqa: PTH120
        kind.mkdir(exist_ok=True)
        path.rename(kind / path.name)
    refused(here(*suggest), "is not of this sorting; name a new folder")
    refused(here(*suggest[:-1], images / "x"), "lies within")
    classify = ("classify", MODEL, "--support", into, "--images", images)
    assert here(*classify, "--csv", tmp_path / "l.csv").returncode == 0


def test_long_commands_say_how_long_and_how_far(support, images, tmp_path, monkeypatch):
    """As if two seconds, ten and a minute had gone by at once."""
    for name in ("MEASURED", "WORTH_SAYING", "SAID_EVERY", "SOON"):
        monkeypatch.setattr(f"pseudoshot.tools.console.{name}", 0.0)
    monkeypatch.setattr("pseudoshot.embedders.room.MOST_AT_ONCE", 4)
    classify = ("classify", MODEL, "--support", support, "--images", images)
    for command in (
        (*classify, "--csv", tmp_path / "l.csv"),
        ("suggest", MODEL, "--images", images),
        ("embed", MODEL, images, "--out", tmp_path / "e.npz"),
    ):
        told = here(*command).stderr
        assert re.search(r"^embedding: 15 images, about \d+ s$", told, re.MULTILINE), told
        assert re.search(r"^embedding: 8 of 15 images, about \d+ s left$", told, re.MULTILINE)
