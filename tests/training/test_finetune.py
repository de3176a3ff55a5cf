"""Labels where there are some: which are looked at, and what training goes on from."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from safetensors.torch import load_file

from pseudoshot.class_sources.labels import LabelsSettings, balanced_part
from pseudoshot.data import ImageSet
from pseudoshot.embedders import load
from pseudoshot.runs import evaluate_run, finetune, train
from pseudoshot.runs.training import lasting_name
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.adapting import judge
from pseudoshot.training.base_images import BaseImages
from tests.training.test_methods import photos

SMALL = {"recipe": "paper", "size": 16, "images": 8, "query": 2, "tasks": 4, "epochs": 1}


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> str:
    return photos(tmp_path_factory.mktemp("photos"))


@pytest.fixture(scope="module")
def run(data, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "baseline"
    train(data, out, **SMALL)
    return out


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=6),
    st.floats(0.01, 1),
    st.integers(0, 1000),
)
def test_every_class_gives_the_same_part_of_its_labels(counts, fraction, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    part = balanced_part(labels, fraction, torch.Generator().manual_seed(seed))
    assert len(set(part.tolist())) == len(part)
    chosen = np.bincount(labels[part.numpy()], minlength=len(counts))
    for count, total in zip(chosen, counts, strict=True):
        assert abs(count - max(1, total * fraction)) <= 0.5


def test_the_seed_decides_which_labels():
    labels = np.repeat(np.arange(3), 40)
    parts = [
        balanced_part(labels, 0.2, torch.Generator().manual_seed(s)).tolist() for s in (0, 0, 1)
    ]
    assert parts[0] == parts[1] != parts[2]


def test_labels_beyond_the_part_are_never_drawn():
    labels = np.repeat(np.arange(4), 50)
    images = ImageSet("toy", np.zeros((200, 2, 2, 1), np.uint8), labels, ("a", "b", "c", "d"))
    source = LabelsSettings(name="labels", labels=0.1)
    base = BaseImages(images, source, torch.Generator().manual_seed(0))
    drawn, classes = map(torch.cat, zip(*(base.draw(4, 3)[:2] for _ in range(50)), strict=True))
    assert len(set(drawn.flatten().tolist())) <= 20
    assert (labels[drawn.numpy()] == labels[drawn.numpy()][:, :1]).all()
    assert torch.equal(classes, torch.from_numpy(labels[drawn[:, 0].numpy()]))


@pytest.fixture
def end_is_kept(monkeypatch):
    """Whatever it is worth."""

    def verdict(start, end, neighbours, by_labels=False):
        found = judge(start, end, neighbours, by_labels)
        return found.model_copy(update={"kept": "end"})

    monkeypatch.setattr("pseudoshot.training.trainer.judge", verdict)


def test_fine_tuning_goes_on_from_the_run(run, data, tmp_path, end_is_kept):
    finetune(run, data, tmp_path / "tuned", labels=0.5, epochs=1, lr=1e-12)
    before, after = (load_file(r / "model.safetensors") for r in (run, tmp_path / "tuned"))
    convolutions = [name for name in before if "convolution" in name]
    assert convolutions
    for name in convolutions:
        torch.testing.assert_close(after[name], before[name])
    settings = json.loads((tmp_path / "tuned" / "run.json").read_text())["settings"]
    assert settings["start_from"] == str(run.resolve())
    assert settings["class_source"] == {"name": "labels", "labels": 0.5}
    optimisation, method = settings["optimisation"], settings["method"]
    assert (optimisation["optimiser"], optimisation["episodes_per_epoch"]) == ("sgd", 10)
    assert method["images"] == 3, "as many classes as there are"
    assert method["query"] + method["shot"] == 4
    card = json.loads((tmp_path / "tuned" / "model.json").read_text())
    assert "then 50% labels of" in card["trained_on"]


@pytest.mark.parametrize(("labels", "epochs"), [(0.05, 50), (0.1, 50), (0.2, 100)])
def test_the_papers_epochs(labels, epochs, monkeypatch, run, data, tmp_path):
    seen = {}
    monkeypatch.setattr(
        "pseudoshot.runs.training.train", lambda *a, **options: seen.update(options)
    )
    finetune(run, data, tmp_path / "tuned", labels=labels)
    assert (seen["epochs"], seen["lr"]) == (epochs, 1e-4)


def folder_of(tmp_path, counts) -> Path:
    """A subfolder of so many pictures per class, each class of a tone of its own."""
    draw = np.random.default_rng(0)
    for kind, count in enumerate(counts):
        (tmp_path / "few" / f"class {kind}").mkdir(parents=True)
        for number in range(count):
            pixels = draw.integers(0, 60, (16, 16, 3)) + draw.permutation(
                [10 * (kind % 18), 180, 0]
            )
            image = Image.fromarray(pixels.astype(np.uint8))
            image.save(tmp_path / "few" / f"class {kind}" / f"{number}.png")
    return tmp_path / "few"


@pytest.mark.parametrize(
    "counts", [(2, 2, 2, 2, 2, 2), (3,) * 4, (5, 5), (1, 1, 2, 9, 30), (2,) * 30, (1, 5, 5)]
)
def test_a_few_images_per_class_are_enough(run, counts, tmp_path, capsys):
    model = finetune(run, folder_of(tmp_path, counts), tmp_path / "tuned", epochs=1)
    assert model.card.size == 16
    told = capsys.readouterr().err
    assert "kept: the " in told.replace("\n", " ")
    verdict = json.loads((tmp_path / "tuned" / "run.json").read_text())["adapting"]
    assert verdict["by_labels"]
    assert (verdict["kept"] == "end") == (verdict["gain"] > 0)


@pytest.mark.parametrize("counts", [(1,) * 6, (1, 2), (2, 2)])
def test_where_nothing_can_be_held_out_it_is_refused_in_true_words(run, counts, tmp_path):
    n, way = sum(counts), len(counts)
    with pytest.raises(PseudoshotError, match=f"{n} of {way} classes, of which two must be held"):
        finetune(run, folder_of(tmp_path, counts), tmp_path / "tuned", epochs=1)
    assert not (tmp_path / "tuned").exists()


def test_one_class_and_no_classes_are_refused_in_true_words(run, tmp_path):
    folder = folder_of(tmp_path, (6,))
    with pytest.raises(PseudoshotError, match=r"needs two classes or more, .* has 1"):
        finetune(run, folder, tmp_path / "tuned")
    with pytest.raises(PseudoshotError, match="has no labels"):
        finetune(run, folder / "class 0", tmp_path / "tuned")


def test_more_classes_than_there_are_is_refused_with_their_number(run, tmp_path):
    with pytest.raises(
        PseudoshotError, match="takes 9 classes but the set has 4: lower --images t"
    ):
        finetune(run, folder_of(tmp_path, (4,) * 4), tmp_path / "tuned", images=9)


def test_a_bundled_name_is_taken_beside_a_folder_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conv4-cifar-fs").mkdir()
    assert lasting_name("conv4-cifar-fs") == "conv4-cifar-fs"
    assert lasting_name("lite0") == "lite0"
    (tmp_path / "conv4-cifar-fs" / "model.json").touch()
    assert lasting_name("conv4-cifar-fs") == str(tmp_path / "conv4-cifar-fs")


@given(st.lists(st.integers(1, 40), min_size=2, max_size=30), st.integers(0, 99))
def test_no_class_loses_its_last_image_to_those_held_out(counts, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    classes = tuple(map(str, range(len(counts))))
    images = ImageSet("toy", np.zeros((len(labels), 2, 2, 1), np.uint8), labels, classes)
    base = BaseImages(images, LabelsSettings(name="labels"), torch.Generator().manual_seed(seed))
    assert set(labels[base.rows.numpy()]) == set(range(len(counts)))
    assert len(base.held_out) <= len(labels) // 5
    drawn = base.draw(len(counts), 4)
    for rows, kind in zip(drawn.rows.numpy(), drawn.classes.tolist(), strict=True):
        assert (labels[rows] == kind).all()
        there = (labels[base.rows.numpy()] == kind).sum()
        assert len(set(rows.tolist())) == min(4, there), "none twice before all are drawn"


def test_a_fine_tuning_that_makes_it_worse_keeps_the_start(run, data, tmp_path):
    """A step so long that nothing is left of the network."""
    finetune(run, data, tmp_path / "tuned", epochs=1, lr=1e3, tasks=1)
    verdict = json.loads((tmp_path / "tuned" / "run.json").read_text())["adapting"]
    assert verdict["end"] < verdict["start"]
    assert verdict["kept"] == "start"
    before, after = (load_file(r / "model.safetensors") for r in (run, tmp_path / "tuned"))
    for name in before:
        if not name.startswith("centre."):
            torch.testing.assert_close(after[name], before[name])


def test_the_end_is_kept_whatever_it_scored_where_it_is_asked_for(run, data, tmp_path):
    tuned = tmp_path / "tuned"
    finetune(run, data, tuned, epochs=1, lr=1e3, tasks=1, keep="end")
    assert "adapting" not in json.loads((tuned / "run.json").read_text())
    before, after = (load_file(r / "model.safetensors") for r in (run, tuned))
    weights = [name for name in before if name.endswith("weight")]
    assert not any(torch.equal(after[name], before[name]) for name in weights)


def test_images_of_other_channels_are_refused(run, tmp_path):
    with pytest.raises(PseudoshotError, match="3 channels, those of 'glyphs:train' have 1"):
        finetune(run, "glyphs", tmp_path / "tuned")


def test_a_labelled_method_needs_labels(tmp_path):
    tree, flat = tmp_path / "tree", tmp_path / "flat"
    tree.mkdir()
    flat.mkdir()
    for path in Path(photos(tree)).glob("*/*.png"):
        path.rename(flat / path.name)
    with pytest.raises(PseudoshotError, match="has no labels"):
        train(flat, tmp_path / "run", method="protonet", **SMALL)


@pytest.mark.parametrize(
    ("method", "classifier", "setting"),
    [
        ("tsp-head", "prototype", "inductive"),
        ("feat", "feat", "inductive"),
        ("metaoptnet", "ridge", "inductive"),
    ],
)
def test_a_run_is_tested_as_its_method_means_it(method, classifier, setting, data, tmp_path):
    train(data, tmp_path / "run", method=method, **SMALL)
    result = evaluate_run(tmp_path / "run", data, way=3, shots=(1,), query=5, tasks=20)
    assert (result.classifier, result.setting) == (classifier, setting)
    if method == "tsp-head":
        kept = evaluate_run(
            tmp_path / "run", data, way=3, shots=(1,), query=5, tasks=20, classifier="with-head"
        )
        assert kept.setting == "transductive"


def test_the_card_says_what_the_method_is_made_for(data, tmp_path, end_is_kept):
    options = {"solver": "svm", "regularisation": 0.3, **SMALL}
    model = train(data, tmp_path / "run", method="metaoptnet", **options)
    assert model.card.classifier == {"name": "svm", "regularisation": 0.3}
    assert load(tmp_path / "run").classifier().settings.regularisation == 0.3
    finetune(tmp_path / "run", data, tmp_path / "tuned", labels=0.5, epochs=1)
    assert load(tmp_path / "tuned").card.classifier == model.card.classifier  # as the start is used


def test_a_tuned_model_is_read_as_its_start(data, tmp_path, end_is_kept):
    train(data, tmp_path / "run", reading="described", classifier="ridge", **SMALL)
    finetune(tmp_path / "run", data, tmp_path / "tuned", labels=0.5, epochs=1)
    start, tuned = (load(tmp_path / name).card for name in ("run", "tuned"))
    assert str(tuned.reading) == str(start.reading) == "described"
    assert tuned.classifier["name"] == "ridge"


def test_a_model_just_trained_has_its_head(data, tmp_path):
    model = train(data, tmp_path / "run", method="feat", **SMALL)
    assert model.classifier().name == "feat"


def test_a_head_is_asked_of_a_run_that_has_one(run, data):
    with pytest.raises(PseudoshotError, match="'baseline', which has no head"):
        evaluate_run(run, data, way=3, shots=(1,), query=5, tasks=20, classifier="with-head")


def test_pseudo_tasks_need_no_labels(run):
    result = evaluate_run(run, "glyphs", way=5, shots=(1, 2), query=5, tasks=50, pseudo=True)
    assert [r.shot for r in result.results] == [1, 2]
    assert "pseudo tasks" in result.note
    assert result.results[0].accuracy > 25, "views of one image are closer than those of another"


def test_another_domain_of_another_size_and_colour(run):
    """A colour run at 16 px on gray glyphs at 28."""
    result = evaluate_run(run, "glyphs", shots=(1,), query=7, tasks=50)
    assert 20 < result.results[0].accuracy <= 100
