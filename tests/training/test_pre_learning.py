"""A run whose embeddings another one clusters: given, or trained first by the same command."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pseudoshot import load
from pseudoshot.class_sources.exemplars import Exemplars
from pseudoshot.methods import METHODS
from pseudoshot.runs import dry_run, train
from pseudoshot.runs.pre_learning import PRE_LEARNT
from pseudoshot.tools.errors import PseudoshotError
from tests.cli.entry import here, refused
from tests.pictures import draw_noise
from tests.training.test_methods import check_resumed_equals_unbroken, photos

SMALL = {"recipe": "paper", "size": 16, "epochs": 1, "episodes_per_epoch": 1}
NEAR = ("--k1", 8, "--min-samples", 2, "--query", 2)
CLUSTERS = {"images": 4, "way": 2, "query": 2, "partitions": 2}


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> str:
    return photos(tmp_path_factory.mktemp("photos"))


@pytest.fixture(scope="module")
def run(data, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "first"
    train(data, out, images=4, tasks=2, **SMALL)
    return out


def test_a_command_pre_learns_and_resumes_exactly(data, tmp_path, monkeypatch):
    """Cut off in the first of the two trainings, and in the second."""
    options = {"method": "cactus", "learner": "prototype", **CLUSTERS}
    options |= {"pre_learn": "simclr", "pre_learn_epochs": 2}
    stops = (1, 4)
    check_resumed_equals_unbroken(data, tmp_path, monkeypatch, stops, **options)
    whole, *broken = (
        load_file(tmp_path / name / PRE_LEARNT / "model.safetensors")
        for name in ("unbroken", *(f"broken{stop}" for stop in stops))
    )
    assert all(torch.equal(whole[key], other[key]) for other in broken for key in whole)
    settings = [
        json.loads((tmp_path / "unbroken" / place / "run.json").read_text())["settings"]
        for place in ("", PRE_LEARNT)
    ]
    assert settings[0]["pre_learn"] == "simclr"
    assert settings[0]["class_source"]["from_run"] == str(tmp_path / "unbroken" / PRE_LEARNT)
    assert settings[1]["method"]["name"] == "simclr"
    assert settings[1]["optimisation"]["epochs"] == 2
    assert settings[1]["method"]["images"] == 57, "as many as there are, not SimCLR's 192"
    for same in ("seed", "recipe", "backbone"):
        assert settings[0][same] == settings[1][same]


def test_a_command_pre_learns_what_stays_as_it_is(data, tmp_path, monkeypatch):
    """Meta-GMVAE on frozen embeddings; cut off in the first of the two trainings, and later."""
    options = {"method": "meta-gmvae", "frozen": True, "images": 10, "samples": 2}
    options |= {"pre_learn": "simclr", "pre_learn_epochs": 2}
    check_resumed_equals_unbroken(data, tmp_path, monkeypatch, (1, 4), **options)
    run = tmp_path / "unbroken"
    settings = json.loads((run / "run.json").read_text())["settings"]
    assert settings["start_from"] == str(run / PRE_LEARNT)
    assert settings["method"]["similarity"] == "cosine", "that of SimCLR's embeddings"
    first, second = (load_file(place / "model.safetensors") for place in (run / PRE_LEARNT, run))
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_the_run_is_found_again_from_another_folder(data, run, tmp_path, monkeypatch):
    monkeypatch.chdir(run.parent)
    options = {**SMALL, **CLUSTERS, "class_source": "clusters", "tasks": 2}
    train(data, tmp_path / "clustered", from_run=run.name, **options)
    settings = json.loads((tmp_path / "clustered" / "run.json").read_text())["settings"]
    assert settings["class_source"]["from_run"] == str(run)


def test_ses_and_sns_take_clusters_as_they_are(data, run, tmp_path):
    """As the paper has CACTUs and CUMCA beside its own: `baseline`, on their class sources."""
    for source in ("clusters", "distinct-clusters"):
        out = tmp_path / source
        options = {**SMALL, **CLUSTERS, "class_source": source, "from_run": str(run), "tasks": 2}
        train(data, out, method="baseline", **options)
        assert load(out).card.similarity == "sns"


def test_rounds_are_in_the_log(data, tmp_path):
    options = {"k1": 8, "min_samples": 2, "round_epochs": 1, "views_per_class": 3}
    train(data, tmp_path / "run", method="uflst", **{**SMALL, "epochs": 2}, **options)
    lines = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["round"] for line in lines] == [1, 2]
    assert all(json.loads(line)["clusters"] >= 2 for line in lines)


@pytest.mark.parametrize(
    ("method", "options"),
    [("ulda", {"way": 2}), ("meta-gmvae", {"set_size": 2, "components": 2}), ("aal", {"way": 2})],
)
def test_of_fewer_pseudo_classes_an_episode_has_whole_tasks_or_sets(
    method, options, data, tmp_path, monkeypatch
):
    """A source that has three pseudo-classes left, where tasks and sets have two."""
    draw, seen = Exemplars.draw, []
    monkeypatch.setattr(Exemplars, "draw", lambda *given: draw(*given).first(3))
    loss = METHODS[method].loss
    monkeypatch.setattr(
        METHODS[method],
        "loss",
        lambda self, batch: (seen.append(len(batch.views)), loss(self, batch))[1],
    )
    train(data, tmp_path / "run", method=method, images=20, **SMALL, **options)
    assert seen == [2]


def test_a_dry_run_says_what_both_trainings_take_and_finds_no_clusters(data, monkeypatch):
    monkeypatch.setattr("pseudoshot.class_sources.clusters.whitened", None)
    options = {**SMALL, **CLUSTERS, "method": "cactus", "pre_learn": "simclr"}
    options |= {"learner": "prototype"}
    found = dry_run(data, options=options, measured=1)
    assert found.first.settings.method.name == "simclr"
    assert found.cost.startswith("simclr: 60 images, 100 steps")
    assert "; then 60 images, 1 steps" in found.cost
    assert "find clusters" in found.cost


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--method", "cactus"), "'clusters' groups images by .*: give --from RUN, or --pre-learn"),
        (("--method", "cumca"), "'distinct-clusters' groups images by .*: give --from RUN"),
        (("--method", "cactus", "--from", "x", "--pre-learn", "simclr"), "not both"),
        (("--method", "cactus", "--from", "nowhere"), "'nowhere' holds no model: give a run"),
        (("--method", "cactus", "--from", "RUN", "--size", 20), "16 pixels a side, .* have 20"),
        (("--method", "cactus", "--from", "GRAY"), "trained on images of 1 channels, .* have 3"),
        (
            ("--method", "cactus", "--from", "OTHER"),
            "trained on '.*other' and not on '.*': give a run of the same",
        ),
        (("--method", "cactus", "--pre-learn", "simcrl"), "unknown method 'simcrl', did you mean"),
        (("--method", "cactus", "--pre-learn", "protonet"), "needs labels or clusters itself"),
        (("--method", "cactus", "--pre-learn", "cumca"), "needs labels or clusters itself"),
        (
            ("--from", "RUN"),
            "'exemplars' has no setting 'from-run': .* a setting of clusters",
        ),
        (("--pre-learn-epochs", 3), "give a method to --pre-learn, such as simclr"),
        (
            ("--method", "cactus", "--pre-learn", "simclr", "--images", 30, "--query", 2),
            "an episode takes 30 clusters of 3 images but 57 images are put into 9",
        ),
        (
            ("--method", "cactus", "--pre-learn", "meta-gmvae"),
            "60 images are too few for --pre-learn meta-gmvae, whose episodes are made of 100",
        ),
        (("--pre-learn", "simclr"), "class source 'exemplars' with method 'baseline' needs none"),
        (("--method", "meta-gmvae", "--frozen"), "--start-from, train one first by --pre-learn"),
        (
            ("--method", "meta-gmvae", "--frozen", "--pre-learn", "simclr", "--start-from", "RUN"),
            "give --start-from, a run to learn from, or --pre-learn, which trains one: not both",
        ),
        (
            ("--method", "cactus", "--from", "RUN", "--images", 30, "--query", 2),
            "an episode takes 30 clusters of 3 images but 57 images are put into 9",
        ),
        (
            ("--method", "cactus", "--from", "RUN", "--images", 15, "--clusters", 20),
            "of 20 clusters only .* have as many",
        ),
        (
            ("--method", "cactus", "--class-source", "reciprocal-clusters", "--way", 20, *NEAR),
            "'reciprocal-clusters' has made .* and method 'cactus' needs 20: choose another class",
        ),
        (
            ("--method", "meta-gmvae", "--class-source", "reciprocal-clusters", *NEAR[:4]),
            "'reciprocal-clusters' has made .* and method 'meta-gmvae' needs 100: choose another",
        ),
        (("--method", "uflst", "--rho", "0.00001"), "clusters were made, .* give another --rho"),
        (("--method", "uflst", "--k1", 60), "57 images are too few to train on by their 60"),
    ],
)
def test_bad_input_is_one_sentence(arguments, words, data, run, tmp_path):
    places = {"RUN": run, "GRAY": tmp_path / "gray", "OTHER": tmp_path / "other-run"}
    if "GRAY" in arguments:
        draw_noise(tmp_path / "data", 24, 16, gray=True)
        train(tmp_path / "data", places["GRAY"], images=4, tasks=2, **SMALL)
    if "OTHER" in arguments:
        draw_noise(tmp_path / "other", 24, 16)
        train(tmp_path / "other", places["OTHER"], images=4, tasks=2, **SMALL)
    given = [places.get(argument, argument) for argument in arguments]
    given += [] if "--size" in given else ["--size", 16]
    given += ["--learner", "prototype"] if "cactus" in given else []
    shape = ("--recipe", "paper", "--epochs", 1, "--episodes-per-epoch", 1)
    result = here("train", data, "--out", tmp_path / "run", *shape, *given)
    refused(result, words)
    assert not (tmp_path / "run" / "model.json").exists()


def test_an_unfinished_run_and_several_devices_are_refused(data, run, tmp_path):
    begun = tmp_path / "begun"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pseudoshot.training.loop.Trainer.finished", None)
        with pytest.raises(TypeError):
            train(data, begun, images=4, tasks=2, **SMALL)
    options = {**SMALL, **CLUSTERS, "method": "cactus"}
    with pytest.raises(PseudoshotError, match="has not finished, it is at epoch 1 of 1: continue"):
        train(data, tmp_path / "a", from_run=str(begun), **options)
    with pytest.raises(PseudoshotError, match="--pre-learn trains on one device"):
        train(data, tmp_path / "b", pre_learn="simclr", devices=2, **options)
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()
