"""Runs of Meta-GMVAE: from images, and from the frozen embeddings of another run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from pseudoshot import FewShotClassifier
from pseudoshot.data import load as load_data
from pseudoshot.embedders import Embedder, ModelCard, load
from pseudoshot.evaluation.few_shot import evaluate
from pseudoshot.heads import SetEncoder
from pseudoshot.runs import train
from pseudoshot.settings.resolve import resolve
from pseudoshot.sorting import save_classifier
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.first_embedder import start_of
from tests.cli.entry import here
from tests.training.test_methods import check_resumed_equals_unbroken, photos

START = "conv4-cifar-fs"
SMALL = {
    **{"method": "meta-gmvae", "recipe": "paper", "images": 8, "set_size": 4, "samples": 2},
    **{"components": 2, "epochs": 1, "episodes_per_epoch": 2},
}
FROZEN = {**SMALL, "start_from": START, "frozen": True}


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> str:
    return photos(tmp_path_factory.mktemp("photos"))


@pytest.fixture(scope="module")
def frozen(data, tmp_path_factory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "frozen"
    train(data, run, **FROZEN)
    return run


@pytest.fixture(scope="module")
def learnt(data, tmp_path_factory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "learnt"
    train(data, run, size=16, **SMALL)
    return run


def test_the_network_stays_to_the_bit_and_its_head_is_kept(frozen):
    before, after = load(START).weights(), load_file(frozen / "model.safetensors")
    network = [name for name in before if not name.startswith("centre")]
    assert any("running_mean" in name for name in network)
    assert all(torch.equal(before[name], after[name]) for name in network)
    assert isinstance(load(frozen)._head, SetEncoder)


def test_nothing_is_said_of_adapting_where_nothing_was_adapted(frozen):
    assert "adapting" not in json.loads((frozen / "run.json").read_text())
    assert "Did adapting help" not in (frozen / "report.html").read_text()
    card, start = load(frozen).card, load(START).card
    assert card.trained_on.startswith(f"{start.trained_on}; a head beside it")
    assert "then" not in card.trained_on
    kept = ("backbone", "size", "mean", "std", "similarity", "characters", "labels")
    assert all(getattr(card, name) == getattr(start, name) for name in kept)


def test_the_head_is_trained(data, frozen, tmp_path):
    train(data, tmp_path / "longer", **{**FROZEN, "epochs": 2})
    first, second = (load_file(r / "head.safetensors") for r in (frozen, tmp_path / "longer"))
    assert not any(torch.equal(first[name], second[name]) for name in first)


def test_a_frozen_run_resumes_exactly(data, tmp_path, monkeypatch):
    options = {name: value for name, value in FROZEN.items() if "epoch" not in name}
    check_resumed_equals_unbroken(data, tmp_path, monkeypatch, **options, size=32)


@pytest.mark.parametrize("run", ["frozen", "learnt"])
def test_both_classifiers_measure_a_run_in_tasks_of_any_way(run, data, request):
    embedder = load(request.getfixturevalue(run))
    images = load_data(data, size=embedder.card.size, labelled=True)
    tasks = {"shots": (1, 2), "query": 5, "tasks": 8}
    for way in (2, 3):
        own, again = (evaluate(embedder, images, way=way, **tasks) for _ in range(2))
        assert (own.classifier, own.setting) == ("semi-supervised-em", "transductive")
        assert own.results == again.results
        plain = evaluate(embedder, images, way=way, classifier="prototype", **tasks)
        assert (plain.classifier, plain.setting) == ("prototype", "inductive")


def test_a_person_gets_it_for_all_images_together_and_cannot_save_it(learnt, tmp_path):
    features = np.random.default_rng(0).normal(size=(30, load(learnt).dim))
    estimator = FewShotClassifier(learnt, classifier="semi-supervised-em")
    estimator.fit(features[:3], [0, 1, 2])
    together = estimator.predict_proba(features)
    assert np.allclose(together.sum(1), 1)
    parts = np.concatenate([estimator.predict_proba(features[i : i + 2]) for i in range(0, 30, 2)])
    assert not np.allclose(together, parts)
    with pytest.raises(PseudoshotError, match="'semi-supervised-em' looks at all images together"):
        save_classifier(estimator, tmp_path / "c.safetensors")
    with pytest.raises(PseudoshotError, match="cannot look at 40,003 images together"):
        estimator.predict(np.zeros((40_000, features.shape[1])))


def test_a_network_that_stays_brings_its_own_and_no_gentle_steps(tmp_path):
    start = load(START)
    card = start.card.model_copy(update={"labels": "some", "similarity": "cosine"})
    Embedder(start.backbone, card).save(tmp_path)
    given = {"data": "somewhere", **FROZEN, "start_from": str(tmp_path)}
    given = {name: value for name, value in given.items() if "epoch" not in name}
    settings = resolve(given, start_of(given))
    assert (settings.backbone.name, settings.data.size, settings.reading) == ("conv4", 32, "plain")
    assert settings.method.similarity == "cosine"
    assert (settings.optimisation.lr, settings.optimisation.optimiser) == (1e-3, "adam")
    assert settings.optimisation.epochs > 3


def test_pixels_are_what_they_were_before_they_were_normalised():
    card = ModelCard(
        backbone="conv4", channels=3, size=4, mean=(0.2, 0.5, 0.7), std=(0.1, 0.2, 0.4),
        similarity="sns",
    )  # fmt: skip
    embedder, images = Embedder(load(START).backbone, card), torch.rand(2, 3, 4, 4)
    torch.testing.assert_close(embedder.unnormalise(embedder.normalise(images)), images)


def test_what_is_refused_ends_in_a_sentence(data, frozen, tmp_path):
    run = tmp_path / "run"
    small = ("--recipe=paper", "--images=8", "--set-size=4", "--method=meta-gmvae")
    refused = {
        ("train", data, "--out", run, *small, "--frozen"): "give one by --start-from",
        ("train", data, "--out", run, "--method=baseline", "--frozen"): "no setting 'frozen'",
        ("train", data, "--out", run, *small[2:], "--images=7"): "7 images cannot be cut into sets",
        ("evaluate", START, data, "--classifier=semi-supervised-em"): "no run and so no head",
        ("evaluate", frozen, data, "--reading=joined"): "goes on from the plain embedding",
    }
    for arguments, words in refused.items():
        result = here(*arguments)
        assert result.returncode != 0
        assert words in " ".join(result.stderr.split())
        assert "Traceback" not in result.stderr
    assert not run.exists()
