"""Every setting stands once: command line, keywords, docs and `run.json` follow the models."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest

import pseudoshot
from pseudoshot.class_sources import CLASS_SOURCES
from pseudoshot.cli.options import of_settings
from pseudoshot.methods import METHODS
from pseudoshot.readings import PLAIN
from pseudoshot.runs import train
from pseudoshot.settings import options as options_module
from pseudoshot.settings.config import read_config, to_toml
from pseudoshot.settings.describe import help_text, markdown
from pseudoshot.settings.options import GROUPS, REGISTRIES, all_options, flatten, plain_type
from pseudoshot.settings.resolve import resolve, validated
from pseudoshot.settings.starting import Start
from pseudoshot.settings.train_options import TrainOptions
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.errors import PseudoshotError
from tests.cli.entry import here
from tests.pictures import draw_noise

ROOT = Path(__file__).parents[2]
SOURCE = Path(pseudoshot.__file__).parent


def test_the_command_line_the_keywords_and_the_models_have_the_same_settings():
    of_models = all_options().keys() - {"data"}
    of_command_line = {field.name for field in fields(of_settings())}
    assert of_command_line == set(TrainOptions.__annotations__) == of_models


def test_what_is_written_from_the_models_is_up_to_date():
    written = Path(inspect.getfile(TrainOptions)).read_text()
    assert written == options_module.typed_options(), "run `make options`"
    assert (ROOT / "docs" / "settings.md").read_text() == markdown(), "run `make options`"


def test_no_setting_is_written_down_a_second_time():
    """A field's name with a type stands in the models, and in the file that is made from them."""
    places = Counter()
    for path in SOURCE.rglob("*.py"):
        if path.name == "train_options.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and path.parts[-2] in ("cli", "runs", "training"):
                annotated = (x.target for x in node.body if isinstance(x, ast.AnnAssign))
                places.update((path.name, t.id) for t in annotated if isinstance(t, ast.Name))
    of_evaluations = {"way", "query", "tasks", "classifier", "reading", "rotations", "seed"}
    of_checkpoints = {"images", "method", "optimiser"}
    settings = all_options().keys() - of_evaluations - of_checkpoints
    assert not [place for place in places if place[1] in settings]


@pytest.mark.parametrize("name", sorted(all_options()))
def test_a_setting_is_of_one_type_and_explained(name):
    option = all_options()[name]
    assert option.help
    assert help_text(option).endswith(".")
    given = {str(plain_type(info.annotation | None)) for info in option.owners.values()}
    assert len(given) <= 1


def test_what_an_option_means_to_some_methods_is_told_beside_what_it_means_to_most():
    told = help_text(all_options()["temperature"])
    assert told.startswith("Divides the similarity: 0.5 for cosine and 1 for the others")
    assert "cpn: divides the squared distance of two views: 5 where not given" in told


@pytest.mark.parametrize("method", METHODS)
def test_every_method_goes_on_from_a_network_that_labels_were_behind(method):
    source = METHODS[method].defaults.get("class_source", "exemplars")
    needed = {"from_run": "x"} if "from_run" in CLASS_SOURCES[source].Settings.model_fields else {}
    start = Start("lite0", "lite0", 224, "cosine", PLAIN, knows_more=True)
    settings = resolve({"data": "folder", "start_from": "lite0", "method": method, **needed}, start)
    assert settings.optimisation.lr <= 1e-5 or settings.class_source.name == "labels"


def test_projections_learn_as_fast_as_the_network_whatever_it_is():
    for backbone in ("conv4", "resnet12"):
        for method, scale in (("simclr", 1.0), ("moco-v2", 1.0)):
            found = resolve({"data": "cifar-fs", "backbone": backbone, "method": method})
            assert found.method.head_lr_scale == scale


def test_no_two_parts_share_an_option():
    names = Counter()
    for part, registry in REGISTRIES.items():
        of_part = {f for entry in registry.values() for f in entry.Settings.model_fields}
        names.update(options_module.option_name(part, field) for field in of_part)
    for part, model in GROUPS.items():
        names.update(options_module.option_name(part, field) for field in model.model_fields)
    names.update(set(RunSettings.model_fields) - {*REGISTRIES, *GROUPS})
    assert max(names.values()) == 1


def test_run_json_holds_the_tree(tmp_path):
    draw_noise(tmp_path / "photos", 24, 16)
    few = {"images": 4, "tasks": 2, "size": 16, "epochs": 1, "episodes_per_epoch": 1}
    train(tmp_path / "photos", tmp_path / "run", seed=3, **few)
    tree = json.loads((tmp_path / "run" / "run.json").read_text())["settings"]
    assert tree.keys() == RunSettings.model_fields.keys()
    for part, registry in REGISTRIES.items():
        assert tree[part].keys() == registry[tree[part]["name"]].Settings.model_fields.keys()
    assert flatten(tree).keys() <= all_options().keys()
    assert validated(flatten(tree)).model_dump() == tree


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"method": "supervised", "tasks": 99},
            "'supervised' has no setting 'tasks': it has images",
        ),
        ({"method": "supervised", "temperature": 7.0}, "no setting 'temperature'"),
        ({"strength": 0.2}, "method 'baseline' has no setting 'strength': it has images, way"),
        ({"labels": 0.1}, "class source 'exemplars' has no setting 'labels': it has none"),
        ({"views": "strokes", "view_scale": 0.5}, "views 'strokes' has no setting 'view-scale'"),
        (
            {"classifier": "ridge", "classifier_similarity": "sns"},
            "it has classifier-regularisation",
        ),
        ({"epocs": 3}, "unknown setting 'epocs', did you mean 'epochs'?"),
        ({"class_source": "cluster"}, "unknown class source 'cluster'"),
        ({"way": 9, "images": 8}, "way 9 does not fit an episode of 8 images"),
        ({"images": 40_000}, "240,000 views, above the limit of 32,768: lower --images"),
        ({"tasks": 10**7}, "above the limit of 268,435,456 in all: lower --tasks"),
    ],
)
def test_an_option_that_the_parts_do_not_have_is_refused_and_theirs_are_named(given, words):
    with pytest.raises(PseudoshotError, match=re.escape(words)):
        resolve({"data": "glyphs", **given})


def test_the_classifier_is_the_methods_unless_given():
    def classifier(**given):
        return resolve({"data": "glyphs", **given}).classifier.model_dump(exclude_none=True)

    assert classifier() == {"name": "prototype"}
    assert classifier(method="feat") == {"name": "feat"}
    solved = classifier(method="metaoptnet", solver="svm", regularisation=0.5)
    assert solved == {"name": "svm", "regularisation": 0.5}
    other = classifier(method="metaoptnet", classifier_regularisation=2.0)
    assert other == {"name": "ridge", "regularisation": 2.0}
    assert classifier(method="feat", classifier="logistic")["name"] == "logistic"


@pytest.mark.parametrize("method", ["baseline", "hms-tsp-head", "supervised", "metaoptnet"])
def test_a_config_file_says_the_same_as_options(method, tmp_path):
    settings = resolve({"data": 'odd "name" é', "method": method, "epochs": 7, "size": 20})
    (tmp_path / "run.toml").write_text(to_toml(settings), encoding="utf-8")
    assert validated(read_config(tmp_path / "run.toml")) == settings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[method\n", "cannot be read"),
        ("[method]\nlr = 1\n", "no place for 'method.lr'"),
        ("[metod]\nname = 'hms'\n", "no place for 'metod.name'"),
        ("epochs = 3\n", "no place for 'epochs'"),
        ("[seed]\nname = 3\n", "no place for 'seed.name'"),
        ("[method]\nname = 3\n", "unknown method 3"),
        (
            "[method]\nname = 'hms'\nstrength = 'x'\n",
            "--strength x: input should be a valid number",
        ),
    ],
)
def test_a_wrong_config_file_is_one_sentence(text, words, tmp_path):
    (tmp_path / "run.toml").write_text(text)
    with pytest.raises(PseudoshotError, match=re.escape(words)):
        resolve({**read_config(tmp_path / "run.toml"), "data": "glyphs"})


def test_options_win_over_the_config_file_and_a_dry_run_leaves_nothing(tmp_path):
    draw_noise(tmp_path / "photos", 24, 16)
    (tmp_path / "run.toml").write_text(
        "recipe = 'paper'\n[method]\nname = 'hms'\nimages = 4\ntasks = 2\n"
        "[data]\nsize = 16\n[optimisation]\nepochs = 5\n"
    )
    before = sorted(tmp_path.rglob("*"))
    result = here(
        "train", tmp_path / "photos", "--config", tmp_path / "run.toml", "--dry-run", "--epochs", 2
    )
    assert result.returncode == 0, result.stderr
    assert sorted(tmp_path.rglob("*")) == before
    assert re.search(r"# 24 images, 10 steps of [\d.]+ s: about .* on this machine", result.stdout)
    (tmp_path / "resolved.toml").write_text(result.stdout)
    chosen = resolve(read_config(tmp_path / "resolved.toml"))
    assert (chosen.method.name, chosen.method.images, chosen.optimisation.epochs) == ("hms", 4, 2)
