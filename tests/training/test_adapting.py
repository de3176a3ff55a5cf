"""Starting from a trained network: what is then the default, refused, kept and told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from pseudoshot.embedders import Embedder, load
from pseudoshot.embedders.doors import lite0
from pseudoshot.runs import dry_run, finetune, train
from pseudoshot.runs.training import with_usual_start
from pseudoshot.settings.resolve import resolve
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training import trainer
from pseudoshot.training.adapting import (
    fix_statistics,
    judge,
    same_neighbours,
    weights_digest,
)
from pseudoshot.training.first_embedder import start_of
from pseudoshot.training.processes import SynchronisedBatchNorm, synchronise_batch_norm
from pseudoshot.training.run_folder import RunFolder
from tests.pictures import draw_noise
from tests.training.test_training import interrupt_at, same

START = "conv4-cifar-fs"
QUICK = {"start_from": START, "images": 8, "tasks": 4, "epochs": 1, "episodes_per_epoch": 3}
needs_lite0 = pytest.mark.skipif(
    not lite0.installed(), reason="the extra 'pretrained' is not installed"
)


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("photos")
    draw_noise(folder, 60, 20)
    return str(folder)


def resolved(**given):
    given = {"data": "somewhere", **given}
    return resolve(given, start_of(given))


def scored(monkeypatch, *scores: float) -> None:
    """What start and end are said to have, in this order; every epoch has what the end has."""
    start, end = (torch.tensor([-1.0, 0.0, 1.0]) + score for score in scores)
    monkeypatch.setattr(
        trainer,
        "pseudo_accuracies",
        lambda embedder, *_: end if "; then" in embedder.card.trained_on else start,
    )


@pytest.fixture(scope="module")
def with_labels(tmp_path_factory) -> str:
    """The same network, of which it is said that labels were behind it."""
    start, folder = load(START), tmp_path_factory.mktemp("with-labels")
    card = start.card.model_copy(update={"labels": "some"})
    Embedder(start.backbone, card).save(folder)
    return str(folder)


def test_what_is_not_given_is_as_the_start_is(with_labels):
    settings = resolved(start_from=START)
    assert (settings.backbone.name, settings.data.size) == ("conv4", 32)
    assert (settings.optimisation.lr, settings.optimisation.optimiser) == (0.004, "muon")
    gentle = resolved(start_from=with_labels).optimisation
    assert gentle.lr < 1e-4
    assert gentle.epochs * gentle.episodes_per_epoch < 50
    assert (settings.views.view_scale, settings.classifier.name) == (0.5, "prototype")
    given = resolved(start_from=START, lr=0.1, recipe="fast", view_scale=1, reading="joined")
    assert (given.optimisation.lr, given.views.view_scale, given.reading) == (0.1, 1, "joined")
    assert not hasattr(resolved(start_from=START, views="strokes").views, "view_scale")


@needs_lite0
def test_lite0_brings_its_reading_and_classifier():
    settings = resolved(start_from="lite0")
    assert (settings.backbone.name, settings.data.size) == ("lite0", 224)
    assert (settings.reading, settings.classifier.name) == ("centred", "ridge")
    assert resolved(start_from="lite0", method="feat").classifier.name == "feat"
    chosen = resolved(start_from="lite0", classifier="prototype", reading="plain")
    assert (chosen.reading, chosen.classifier.name) == ("plain", "prototype")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"backbone": "resnet12"}, "--backbone resnet12 is at odds with --start-from conv4-cifar"),
        ({"size": 64}, "--size 64 is at odds with --start-from conv4-cifar-fs, whose size is 32"),
        ({"frozen_epochs": 2, "epochs": 2}, "leaves no epoch of 2 in which the backbone is"),
    ],
)
def test_what_does_not_fit_the_start_is_refused(given, words):
    with pytest.raises(PseudoshotError, match=words):
        resolved(start_from=START, **given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"frozen_epochs": 1}, "give one by --start-from"),
        ({"backbone": "transformers"}, "unknown backbone 'transformers'"),
        ({"start_from": 3}, "start-from 3"),
    ],
)
def test_what_needs_a_start_is_refused_without(given, words):
    with pytest.raises(PseudoshotError, match=words):
        resolved(**given)


def test_frozen_epochs_need_something_else_to_train(photos, tmp_path):
    with pytest.raises(PseudoshotError, match="'baseline' has nothing that is trained beside"):
        train(photos, tmp_path / "run", **{**QUICK, "epochs": 2}, frozen_epochs=1)
    assert not (tmp_path / "run").exists()


def test_too_few_images_to_judge_by_are_refused(tmp_path):
    draw_noise(tmp_path / "few", 30, 20)
    with pytest.raises(PseudoshotError, match=r"30 images, .* use 'conv4-cifar-fs' as it is"):
        train(tmp_path / "few", tmp_path / "run", **QUICK)


def test_frozen_epochs_leave_the_backbone_alone(photos, tmp_path, monkeypatch):
    seen = []
    step = trainer.Trainer.train_step

    def noted(self):
        loss = step(self)
        seen.append((weights_digest(self.embedder), next(self.method.head.parameters()).sum()))
        return loss

    monkeypatch.setattr(trainer.Trainer, "train_step", noted)
    options = {**QUICK, "method": "projection-head", "epochs": 2, "episodes_per_epoch": 2}
    train(photos, tmp_path / "run", frozen_epochs=1, **options)
    networks, heads = zip(*seen, strict=True)
    assert networks[0] == networks[1] == weights_digest(_network(load(START)))
    assert len(set(networks)) == 3
    assert len(set(heads)) == 4


def _network(embedder):
    embedder.centre = {}
    return embedder


@pytest.mark.parametrize("labels", [True, False])
def test_weights_are_learnt_and_statistics_stay_where_labels_were(
    labels, photos, with_labels, tmp_path, monkeypatch
):
    scored(monkeypatch, 40, 50)
    monkeypatch.setattr(trainer, "same_neighbours", lambda *_: 100.0)
    start = with_labels if labels else START
    train(photos, tmp_path / "run", lr=1e-3, **{**QUICK, "start_from": start})
    before, after = load(START).weights(), load_file(tmp_path / "run" / "model.safetensors")
    for name, value in before.items():
        if "running" in name or "tracked" in name:
            assert torch.equal(after[name], value) == labels, name
        elif not name.startswith("centre"):
            assert not torch.equal(after[name], value), name


def test_fixed_statistics_stay_whatever_is_asked_of_the_module():
    module = nn.Sequential(nn.BatchNorm2d(3), nn.ReLU())
    fix_statistics(module)
    synchronise_batch_norm(module.train())
    assert not isinstance(module[0], SynchronisedBatchNorm)
    module(torch.randn(4, 3, 2, 2) + 5)
    assert torch.equal(module[0].running_mean, torch.zeros(3))
    assert module.training
    assert not module[0].training


@pytest.mark.parametrize(("start", "end", "kept"), [(40, 50, "end"), (50, 40, "start")])
def test_the_better_of_start_and_end_is_the_runs_model(
    start, end, kept, photos, tmp_path, monkeypatch, capsys
):
    scored(monkeypatch, start, end)
    run = tmp_path / "run"
    model = train(photos, run, method="projection-head", lr=1e-3, **QUICK)
    is_start = weights_digest(_network(load(run))) == weights_digest(_network(load(START)))
    assert is_start == (kept == "start")
    assert ("then" in model.card.trained_on) == (kept == "end")
    assert (run / "head.safetensors").is_file() == (kept == "end")
    told = json.loads((run / "run.json").read_text())["adapting"]
    assert (told["kept"], told["start"], told["end"]) == (kept, start, end)
    words = {"end": "kept: the adapted network", "start": "kept: the start as it was"}[kept]
    said = " ".join(capsys.readouterr().err.split())
    assert words in said
    assert f"{start}.0 % at the start, {end}.0 % at the end" in said
    page = (run / "report.html").read_text()
    shown = {"end": "the adapted network", "start": "the network it started from"}[kept]
    assert f"Kept: <strong>{shown}</strong>" in page
    assert f">{start}.0 %<" in page
    assert f">{end}.0 %<" in page


def usual_start(folder, **given):
    return with_usual_start({"data": str(folder), **given}, None).get("start_from")


def test_a_folder_of_photos_goes_on_from_the_bundled_model(photos, tmp_path):
    assert usual_start(photos) == "resnet-tiny-imagenet"
    assert usual_start(photos, method="hms", epochs=2) == "resnet-tiny-imagenet"
    assert usual_start("glyphs") is None, "a named set"
    assert usual_start(photos, recipe="fast") is None, "from scratch"
    assert usual_start(photos, method="protonet") is None, "with labels"
    assert usual_start(photos, start_from=START) == START
    draw_noise(tmp_path / "few", 20, 20)
    assert usual_start(tmp_path / "few") is None, "too few to tell whether it helped"
    draw_noise(tmp_path / "gray", 60, 20, gray=True)
    assert usual_start(tmp_path / "gray") is None, "no photos"


@pytest.mark.parametrize(("fast", "epochs"), [(True, None), (False, 4)])
def test_without_bfloat16_a_folder_is_trained_for_fewer_steps(photos, monkeypatch, fast, epochs):
    monkeypatch.setattr("pseudoshot.runs.training.multiplies_bfloat16", lambda: fast)
    assert with_usual_start({"data": str(photos)}, None).get("epochs") == epochs
    assert with_usual_start({"data": str(photos), "epochs": 7}, None)["epochs"] == 7


def test_a_run_that_adapts_nothing_says_nothing_of_it(photos, tmp_path):
    options = {name: value for name, value in QUICK.items() if name != "start_from"}
    train(photos, tmp_path / "run", size=16, **options)
    assert "adapting" not in json.loads((tmp_path / "run" / "run.json").read_text())
    assert "Did adapting help" not in (tmp_path / "run" / "report.html").read_text()


def test_with_labels_statistics_move_and_labels_judge(photos, tmp_path, monkeypatch):
    kept = lambda *given, **by: judge(*given, **by).model_copy(update={"kept": "end"})  # noqa: E731
    monkeypatch.setattr("pseudoshot.training.trainer.judge", kept)
    finetune(START, photos, tmp_path / "tuned", epochs=1, episodes_per_epoch=1)
    record = json.loads((tmp_path / "tuned" / "run.json").read_text())
    assert record["adapting"]["by_labels"]
    assert record["adapting"]["neighbours_kept"] is None
    assert "told by those trained on" in (tmp_path / "tuned" / "report.html").read_text()
    assert record["settings"]["views"]["view_scale"] == 1
    before, after = load(START).weights(), load_file(tmp_path / "tuned" / "model.safetensors")
    moving = [name for name in before if "running_mean" in name]
    assert moving
    assert not any(torch.equal(before[name], after[name]) for name in moving)


def test_where_labels_were_a_gain_must_be_more_than_chance_and_neighbours_must_stay():
    start = torch.tensor([40.0, 50.0, 60.0])
    assert judge(start, start + 1, None).kept == "end"
    assert judge(start, start, None).kept == "start"
    maybe = start + torch.tensor([9.0, -8, 1])
    assert judge(start, maybe, None).kept == "end"
    assert judge(start, maybe, 99.0).kept == "start"
    assert judge(start, maybe, None, by_labels=True).kept == "start"
    assert judge(start, start + 1, None, by_labels=True).kept == "end"
    assert judge(start, start + 1, 99.0).kept == "end"
    assert judge(start, start + 1, 10.0).kept == "start"


def test_neighbours_that_stay_are_counted():
    z = torch.randn(40, 8, generator=torch.Generator().manual_seed(0))
    assert same_neighbours(z, 3 * z) == 100
    other = torch.randn(40, 8, generator=torch.Generator().manual_seed(1))
    assert 10 < same_neighbours(z, other) < 45, "ten of 39 by chance"


def test_a_resumed_adaptation_equals_an_unbroken_one(photos, tmp_path, monkeypatch):
    scored(monkeypatch, 40, 50)
    options = {**QUICK, "method": "projection-head", "epochs": 2, "frozen_epochs": 1, "lr": 1e-3}
    train(photos, tmp_path / "unbroken", **options)
    with monkeypatch.context() as patched:
        interrupt_at(patched, 5)
        with pytest.raises(KeyboardInterrupt):
            train(photos, tmp_path / "broken", **options)
    train(photos, tmp_path / "broken", resume=True)
    assert same(tmp_path / "unbroken", tmp_path / "broken")
    runs = [RunFolder(tmp_path / name) for name in ("unbroken", "broken")]
    losses = [[(r["step"], r["loss"]) for r in run.read_log()] for run in runs]
    assert losses[0] == losses[1]
    assert runs[0].read_verdict() == runs[1].read_verdict() is not None


def test_a_run_whose_start_has_changed_is_not_resumed(photos, tmp_path, monkeypatch):
    start = tmp_path / "start"
    start.mkdir()
    load(START).save(start)
    with monkeypatch.context() as patched:
        interrupt_at(patched, 2)
        with pytest.raises(KeyboardInterrupt):
            train(photos, tmp_path / "run", **{**QUICK, "start_from": str(start)})
    model = load(start)
    nn.init.zeros_(next(model.parameters()))
    shutil.rmtree(start)
    start.mkdir()
    model.save(start)
    with pytest.raises(PseudoshotError, match="is not the network the run began with"):
        train(photos, tmp_path / "run", resume=True)


def test_a_dry_run_says_what_adapting_would_take(photos):
    told = dry_run(photos, options=QUICK)
    assert (told.settings.data.size, told.settings.backbone.name) == (32, "conv4")


@needs_lite0
def test_labels_of_the_start_are_not_forgotten(photos, tmp_path):
    """One small step from lite0, at the smallest views; neighbours are asked for."""
    options = {"images": 2, "query": 1, "tasks": 2, "epochs": 1, "episodes_per_epoch": 1}
    model = train(photos, tmp_path / "run", start_from="lite0", view_scale=0.2, **options)
    assert "ImageNet" in model.card.labels
    assert RunFolder(tmp_path / "run").read_verdict().neighbours_kept > 50
    assert Path(tmp_path / "run" / "model.json").is_file()


def test_a_transformers_model_is_adapted_too(photos, tmp_path):
    pytest.importorskip("transformers", reason="the extra is not installed")
    from tests.embedders.test_transformers_folder import made, written

    start = str(written(made("siglip"), tmp_path / "siglip"))
    model = train(photos, tmp_path / "run", **{**QUICK, "start_from": start})
    settings = RunFolder(tmp_path / "run").read_settings()
    assert (settings.backbone.name, settings.data.size) == ("transformers", 32)
    assert settings.views.view_scale == 1
    assert model.card.backbone == "transformers"
