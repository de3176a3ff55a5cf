"""Run folders of the versions before the tree are read as what they were."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from pseudoshot.runs import evaluate_run, train
from pseudoshot.settings.saved import saved_settings
from pseudoshot.training import loop
from tests.pictures import draw_noise

EPISODE = {
    "images": 4, "way": None, "shot": 1, "query": 2, "tasks": 3, "similarity": "sns",
    "temperature": None,
}  # fmt: skip
FLAT = {
    "data": "glyphs", "size": None, "rotations": False, "recipe": "paper", "method": "baseline",
    "episode": EPISODE, "backbone": "conv4", "views": "typefaces", "view_scale": 1.0,
    "optimiser": "adam", "lr": 0.002, "annealing": "epoch", "warm_up": 0, "averaging": 0.0,
    "epochs": 2, "seed": 0, "precision": "32-true", "sync_bn": False, "episodes_per_epoch": None,
    "labels": 1.0, "start_from": None,
}  # fmt: skip


def test_the_flat_form_is_read():
    settings = saved_settings(FLAT)
    assert (settings.data.name, settings.method.name) == ("glyphs", "baseline")
    assert (settings.class_source.name, settings.views.name) == ("exemplars", "typefaces")
    assert (settings.method.images, settings.optimisation.epochs) == (4, 2)
    assert settings.classifier.name == "prototype"


@pytest.mark.parametrize(
    ("method", "now", "fraction"),
    [
        ("protonet", "protonet", 1.0),
        ("supervised", "supervised", 1.0),
        ("finetune", "baseline", 0.1),
    ],
)
def test_methods_that_decided_on_labels_have_a_class_source(method, now, fraction):
    settings = saved_settings({**FLAT, "method": method, "labels": fraction})
    assert settings.method.name == now
    assert settings.class_source.model_dump() == {"name": "labels", "labels": fraction}
    assert settings.method.V == 3


def flatten_as_before(run) -> None:
    """Rewrite `run.json` and `model.json` as the version before the tree wrote them."""
    record = json.loads((run / "run.json").read_text())
    tree = record["settings"]
    method = dict(tree["method"])
    flat = {**FLAT, **tree["optimisation"], "seed": tree["seed"], "method": method.pop("name")}
    flat |= {"data": tree["data"]["name"], "size": tree["data"]["size"], "episode": method}
    flat |= {"views": tree["views"]["name"], "backbone": tree["backbone"]["name"]}
    (run / "run.json").write_text(json.dumps({**record, "settings": flat}))
    card = run / "model.json"
    if card.exists():
        fields = json.loads(card.read_text())
        del fields["classifier"]
        card.write_text(json.dumps(fields))
        weights = run / "model.safetensors"
        save_file(load_file(weights), weights)  # no digest


def test_a_run_of_before_goes_on_exactly_and_is_measured_as_its_method_means_it(
    tmp_path, monkeypatch
):
    draw_noise(tmp_path / "photos", 30, 16)
    options = {
        "recipe": "paper",
        "size": 16,
        "images": 4,
        "query": 2,
        "tasks": 3,
        "epochs": 2,
        "method": "feat",
    }
    train(tmp_path / "photos", tmp_path / "unbroken", **options)
    monkeypatch.setattr(loop, "CHECKPOINT_EVERY", -1.0)
    step, done = loop.Trainer.train_step, []

    def cut(self):
        if len(done) == 8:
            raise KeyboardInterrupt
        done.append(1)
        return step(self)

    with monkeypatch.context() as power_cut:
        power_cut.setattr(loop.Trainer, "train_step", cut)
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / "photos", tmp_path / "broken", **options)
    flatten_as_before(tmp_path / "broken")
    train(tmp_path / "photos", tmp_path / "broken", resume=True)
    first, second = (load_file(tmp_path / r / "model.safetensors") for r in ("unbroken", "broken"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    flatten_as_before(tmp_path / "unbroken")
    result = evaluate_run(tmp_path / "unbroken", "glyphs", shots=(1,), query=5, tasks=10)
    assert result.classifier == "feat"
