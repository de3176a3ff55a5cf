"""Commands through their real entry point, as a user types them."""

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.entry import here, pseudoshot, refused
from tests.pictures import draw_trees

SMALL = ["--recipe=paper", "--size=16", "--images=8", "--query=2", "--tasks=4", "--epochs=1"]


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> Path:
    """Three classes of 20 images."""
    folder = tmp_path_factory.mktemp("photos")
    draw_trees(folder, 20)
    (folder / "elm" / "broken.jpg").write_bytes(b"\xff\xd8 not a photo")
    return folder


@pytest.fixture(scope="module")
def trained(photos, tmp_path_factory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "trees"
    result = pseudoshot("train", photos, "--out", run, *SMALL)
    assert result.returncode == 0, result.stderr
    assert "skipped 1 of 61 files" in result.stderr
    assert "60 images, 7 steps of" in result.stderr, "how long it will take, before it starts"
    assert f"pseudoshot evaluate {run} FOLDER" in result.stdout
    last = result.stdout.splitlines()[-1]
    for words in ("pseudoshot serve", "pseudoshot classify", "report.html"):
        assert words in last, "what comes next"
    return run


def test_a_folder_of_photos_trains_and_is_measured(photos, trained):
    page = (trained / "report.html").read_text()
    assert "pseudoshot evaluate" in page
    result = pseudoshot("evaluate", trained, photos, "--way", 3, "--tasks", 200, "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert (answer["way"], answer["tasks"], answer["query"]) == (3, 200, 15)
    assert [r["shot"] for r in answer["results"]] == [1, 5]
    assert all(r["accuracy"] > 60 for r in answer["results"]), answer
    assert f"{answer['results'][0]['accuracy']:.2f}" in (trained / "report.html").read_text()


def test_the_table_says_what_the_json_says(photos, trained):
    options = ("evaluate", trained, photos, "--way", 2, "--shot", 1, "--shot", 3, "--tasks", 100)
    answer = json.loads(here(*options, "--json").stdout)
    table = here(*options).stdout
    for result in answer["results"]:
        assert f"{result['accuracy']:.2f} ± {result['interval']:.2f}" in table


def test_help_teaches():
    assert "unlabelled" in here("--help").stdout
    for command in ("train", "evaluate", "demo", "data"):
        result = here(command, "--help")
        assert result.returncode == 0
        assert "Usage" in result.stdout


def test_data_lists_every_set(tmp_path):
    listing = here("data", "--data-root", tmp_path).stdout
    for name in (
        "glyphs",
        "cifar-fs",
        "fc100",
        "tiny-imagenet",
        "omniglot",
        "cub",
        "miniimagenet",
        "tieredimagenet",
    ):
        assert name in listing
    assert "cifar-100-python" in listing
    assert "missing" in listing


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "cifra-fs"], "'cifra-fs' is neither a folder nor a known set: .*cifar-fs"),
        (["train", "cifar-fs"], "'cifar-fs' was not found: get .* put it at"),
        (["train", "glyphs", "--method", "hmms"], "unknown method 'hmms'.*baseline"),
        (["train", "glyphs", "--backbone", "conv5"], "did you mean 'conv4'"),
        (["train", "glyphs", "--views", "amdin"], "amdin.*amdim"),
        (["train", "glyphs", "--strength", "1"], "method 'baseline' has no setting 'strength'"),
        (["train", "glyphs", "--way", "65"], "way 65 does not fit an episode of 64 images"),
        (["train", "glyphs", "--epochs", "0"], "--epochs 0: .*greater than 0"),
        (["train", "glyphs", "--epochs", "many"], "many"),
        (["train", "glyphs", "--size", "0"], "size"),
        (["train", "glyphs:val"], "'glyphs' has no split 'val'"),
        (["train", "glyphs", "--rotations"], "rotations.*omniglot"),
        (["train", "glyphs", "--resume"], "no run to resume"),
        (["train", "glyphs", "--episode", "3"], "episode"),
        (["train", "glyphs", "--data", "x"], "--data"),
        (
            ["train", "glyphs", "--method", "supervised", "--tasks", "9"],
            "no setting 'tasks': it has",
        ),
        (["train", "glyphs", "--seed", str(2**63)], "--seed"),
    ],
)
def test_training_refuses_bad_input_and_leaves_nothing(tmp_path, arguments, message):
    out = tmp_path / "run"
    refused(here(*arguments, "--out", out), message)
    assert not out.exists()


def test_bad_folders_are_refused(tmp_path):
    empty, broken, few = tmp_path / "empty", tmp_path / "broken", tmp_path / "few"
    for folder in (empty, broken, few):
        folder.mkdir()
    for index in range(3):
        (broken / f"{index}.png").write_bytes(b"\x89PNG\r\n\x1a\n cut")
        Image.new("RGB", (20, 20)).save(few / f"{index}.png")
    out = tmp_path / "run"
    refused(here("train", empty, "--out", out), "empty")
    refused(here("train", broken, "--out", out), "broken")
    refused(here("train", few, "--out", out), "takes 128 images but there are 3")
    assert not out.exists()


def test_evaluation_refuses_bad_input(photos, trained, tmp_path):
    refused(here("evaluate", tmp_path / "no", photos), "holds no model")
    refused(
        here("evaluate", trained, "glyphs", "--query", 15),
        "1 shots and 15 queries need 16 images .* has 12",
    )
    refused(here("evaluate", trained, photos, "--way", 3, "--tasks", 0), "--tasks must be")
    refused(here("evaluate", trained, photos), "5-way tasks need 5 classes but .* has 3")
    refused(here("evaluate", trained, photos / "ash"), "has no labels")
    refused(
        here("evaluate", trained, photos, "--way", 3, "--shot", 10),
        "10 shots and 15 queries need 25 images .* has 20",
    )


def test_a_finished_run_is_never_overwritten(photos, trained):
    before = (trained / "model.safetensors").read_bytes()
    refused(here("train", photos, "--out", trained, *SMALL), "finished run, which is never")
    assert (trained / "model.safetensors").read_bytes() == before


def test_an_unknown_command_names_the_known():
    result = here("trian")
    assert result.returncode != 0
    assert "train" in result.stdout + result.stderr


def test_a_folder_that_cannot_be_written_is_one_sentence(photos, tmp_path):
    (tmp_path / "file").write_text("in the way")
    refused(here("train", photos, "--out", tmp_path / "file" / "run", *SMALL), "cannot write")


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["cifar-fs", pytest.param("omniglot", marks=pytest.mark.slow)])
def test_a_real_set_trains_an_epoch_and_is_measured(name, real_data, tmp_path):
    run = tmp_path / "run"
    options = ["--size", "16", "--images", "500", "--query", "1", "--epochs", "1"]
    result = here("train", f"{name}:val", "--out", run, *options, root=real_data)
    assert result.returncode == 0, result.stderr
    assert f"pseudoshot evaluate {run} {name}\n" in result.stdout
    result = here("evaluate", run, name, "--tasks", 200, "--json", root=real_data)
    answer = json.loads(result.stdout)
    assert answer["data"] == f"{name}:test"
    assert [r["shot"] for r in answer["results"]] == (
        [1, 5] if name == "omniglot" else [1, 5, 20, 50]
    )


@pytest.mark.real_data
def test_photos_of_another_size_and_domain_are_measured(real_data, trained):
    birds = real_data / "CUB_200_2011" / "images"
    result = here("evaluate", trained, birds, "--tasks", 200, "--json", root=real_data)
    assert result.returncode == 0, result.stderr
    assert [r["shot"] for r in json.loads(result.stdout)["results"]] == [1, 5, 20]


def test_methods_are_listed_with_their_settings():
    result = here("methods")
    assert result.returncode == 0
    for word in ("hms", "tsp-head", "metaoptnet", "strength 0.5", "Algorithm 4"):
        assert word in result.stdout
    one = here("methods", "tsp-head")
    assert "--attention-dropout" in one.stdout
    refused(here("methods", "hmss"), "did you mean 'hms'")


def test_a_methods_setting_is_given_by_name_and_an_unknown_one_names_the_valid(photos, tmp_path):
    run = tmp_path / "run"
    arguments = ("train", photos, "--out", run, "--method", "hms", *SMALL)
    refused(here(*arguments, "--strenght", "0.5"), "strenght.*--strength")
    refused(here(*arguments, "--strength", "2"), "--strength 2.0: .*less than or equal to 1")
    result = here(*arguments, "--strength", "0.2", "--neighbours-from", "batch")
    assert result.returncode == 0, result.stderr
    settings = json.loads((run / "run.json").read_text())["settings"]["method"]
    assert (settings["strength"], settings["neighbours_from"]) == (0.2, "batch")


def test_fine_tuning_and_classifiers(trained, photos, tmp_path):
    tuned = tmp_path / "tuned"
    result = here("finetune", trained, photos, "--labels", "0.5", "--epochs", "1", "--out", tuned)
    assert result.returncode == 0, result.stderr
    assert "60 images, 10 steps of" in result.stderr, "how long it will take, before it starts"
    arguments = ("evaluate", tuned, photos, "--way", "3", "--query", "5", "--tasks", "20", "--json")
    scores = json.loads(here(*arguments, "--shot", "1", "--classifier", "svm").stdout)
    assert (scores["classifier"], scores["setting"]) == ("svm", "inductive")
    assert json.loads(here(*arguments, "--pseudo").stdout)["note"]
    refused(here(*arguments, "--classifier", "feat"), "has no head")
    refused(here(*arguments, "--classifier", "fate"), "did you mean 'feat'")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "cifra-fs", "--out", "run"], "neither a folder nor a known set"),
        (["classify", "nowhere", "--images", "nowhere"], "give --support"),
    ],
)
def test_a_process_of_its_own_refuses_alike(arguments, message, tmp_path):
    result = pseudoshot(*arguments)
    refused(result, message)
    assert result.stderr.strip() == here(*arguments).stderr.strip()


COMMANDS = {
    *("train", "finetune", "classify", "suggest", "embed", "export", "serve"),
    *("evaluate", "compare", "methods", "demo", "data"),
}


def test_every_command_has_an_example_of_itself():
    listed = here("--help").stdout
    for command in COMMANDS:
        assert command in listed
        told = " ".join(here(command, "--help").stdout.split())
        assert f"pseudoshot {command}" in told.partition("Example")[2], command
    assert "pseudoshot serve" in " ".join(listed.split()).partition("Examples:")[2]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["train", "glyphs", "--epoch", "3"], "--epochs"),
        (["trian", "glyphs"], '"train"'),
        (["finetune", "a", "b", "--out", "c", "--label", "1"], "--labels"),
        (["classify", "--image", "x"], "--images"),
        (["suggest", "--images", "x", "--cuont", "3"], "--count"),
        (["embed", "lite0", "x", "--ouput", "y"], "--out"),
        (["export", "lite0", "x", "--raeding", "y"], "--reading"),
        (["serve", "--prot", "3"], "--port"),
        (["evaluate", "a", "b", "--shots", "1"], "--shot"),
        (["compare", "a", "b", "c", "--task", "1"], "--tasks"),
        (["demo", "--sede", "1"], "--seed"),
        (["data", "--root", "x"], "--data-root"),
        (["train", "glyphs", "--out", "x", "--recipe", "fst"], '"fast"'),
        (["evaluate", "conv4-omniglo", "glyphs"], "'conv4-omniglot'"),
        (["evaluate", "conv4-omniglot", "glyph"], "'glyphs'"),
        (["evaluate", "conv4-omniglot", "glyphs:tets"], "'test'"),
        (["evaluate", "conv4-omniglot", "glyphs", "--classifier", "rigde"], "'ridge'"),
        (["evaluate", "conv4-omniglot", "glyphs", "--reading", "joind"], "'joined'"),
    ],
)
def test_what_was_meant_is_named(typed, meant):
    result = here(*typed)
    refused(result, f"[Dd]id you mean {meant}")
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_finished_run_is_trained_further(photos, trained, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run")
    refused(here("train", photos, "--out", run, "--resume"), "finished, after 1 epochs")
    result = here("train", photos, "--out", run, "--resume", "--epochs", 2)
    assert result.returncode == 0, result.stderr
    assert "the model of 1 epochs is kept as" in result.stderr
    assert (run / "epoch-1" / "model.safetensors").is_file()
