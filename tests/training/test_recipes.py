"""What a recipe fills in, the learning rate of each step, and the average of weights."""

import copy

import pytest
import torch
from torch import nn

from pseudoshot.data import load as load_data
from pseudoshot.methods import METHODS
from pseudoshot.settings import recipes
from pseudoshot.settings.resolve import resolve
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.averaging import averaged
from pseudoshot.training.first_embedder import first_embedder
from pseudoshot.training.optimiser import build_optimiser, learning_rate


def settings(**options):
    return resolve({"data": "glyphs", **options})


def test_the_paper_is_followed_unless_told_otherwise():
    paper = settings()
    assert (paper.recipe, paper.backbone.name, paper.optimisation.averaging) == (
        "paper",
        "conv4",
        0,
    )
    assert (paper.method.images, paper.method.query) == (64, 5)
    fast = settings(recipe="fast")
    assert (fast.backbone.name, fast.optimisation.annealing) == ("resnet-pyramid", "end")
    assert (fast.method.images, fast.method.query) == (128, 2)


def test_a_folder_is_trained_on_by_the_fast_recipe(tmp_path):
    assert settings(data=str(tmp_path)).recipe == "fast"
    assert settings(data=str(tmp_path), recipe="paper").backbone.name == "conv4"
    assert settings(data="cifar-fs").recipe == "paper"


def test_photos_are_told_apart_by_ridge_regression_unless_the_method_knows_better():
    classifiers = {
        "cifar-fs": settings(data="cifar-fs", recipe="fast"),
        "glyphs": settings(recipe="fast"),
        "paper": settings(data="cifar-fs"),
        "feat": settings(data="cifar-fs", recipe="fast", method="feat"),
    }
    assert {name: chosen.classifier.name for name, chosen in classifiers.items()} == {
        "cifar-fs": "ridge",
        "glyphs": "prototype",
        "paper": "prototype",
        "feat": "feat",
    }
    assert classifiers["cifar-fs"].reading == "described"
    assert classifiers["feat"].reading == "plain", "its head goes on from it"


def test_a_character_is_not_read_with_its_mirror_image():
    letters = load_data("glyphs:test")
    described = [
        first_embedder(settings(recipe="fast", views=v), letters) for v in ("amdim", "typefaces")
    ]
    assert [embedder.card.reading.mirror for embedder in described] == [True, False]
    assert all(embedder.card.reading.descriptors for embedder in described)


def test_fast_and_best_take_as_many_steps_of_any_set():
    steps = [
        chosen.epochs * chosen.episodes_per_epoch
        for chosen in (settings(recipe=name).optimisation for name in ("fast", "best"))
    ]
    assert steps == [1_500, 15_000]


@pytest.mark.parametrize(("able", "precision"), [(True, "bf16-mixed"), (False, "32-true")])
def test_half_precision_only_where_the_processor_multiplies_it(monkeypatch, able, precision):
    monkeypatch.setattr(recipes, "multiplies_bfloat16", lambda: able)
    assert settings(recipe="best").optimisation.precision == precision
    assert settings().optimisation.precision == "32-true"


def test_a_method_prefers_and_the_user_decides(monkeypatch):
    assert settings(method="protonet").class_source.name == "labels"
    assert settings(method="protonet", class_source="exemplars").class_source.name == "exemplars"
    preferred = {"epochs": 7, "optimiser": "sgd", "views": "simclr", "query": 4, "strength": 9}
    monkeypatch.setattr(METHODS["baseline"], "defaults", preferred)
    chosen = settings(recipe="fast", epochs=9)
    assert (chosen.optimisation.epochs, chosen.optimisation.optimiser) == (9, "sgd")
    assert (chosen.views.name, chosen.method.query, chosen.method.images) == ("simclr", 4, 128)


def test_what_is_given_stands_whatever_the_recipe():
    chosen = settings(recipe="fast", backbone="resnet12", query=7)
    assert (chosen.backbone.name, chosen.optimisation.optimiser) == ("resnet12", "muon")
    assert (chosen.method.images, chosen.method.query) == (64, 7)


def test_fast_takes_smaller_views_where_views_are_crops():
    assert settings(data="cifar-fs", recipe="fast").views.view_scale == 0.5
    assert settings(data="cifar-fs").views.view_scale == 1
    assert not hasattr(settings(recipe="fast").views, "view_scale")  # letters are not cropped


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"views": "strokes", "view_scale": 0.5},
            "views 'strokes' has no setting 'view-scale': it has none",
        ),
        ({"views": "amdim", "view_scale": 0.5, "backbone": "conv4-flat"}, "images of one size"),
        ({"views": "amdim", "view_scale": 0}, "greater than 0"),
        ({"views": "amdim", "view_scale": 2}, "less than or equal to 1"),
    ],
)
def test_smaller_views_that_cannot_be_are_refused(options, words):
    with pytest.raises(PseudoshotError, match=words):
        settings(**options)


def test_an_unknown_recipe_names_the_known():
    with pytest.raises(PseudoshotError, match="unknown recipe 'fats', did you mean 'fast'"):
        settings(recipe="fats")


def test_the_learning_rate_falls_by_epoch_or_by_step_and_rises_first():
    by_epoch = settings(epochs=4, lr=1.0, annealing="epoch")
    rates = [learning_rate(by_epoch.optimisation, step, 10) for step in range(40)]
    assert rates[:10] == [1.0] * 10
    assert rates[20] == pytest.approx(0.5)
    assert len(set(rates)) == 4
    by_step = settings(epochs=4, lr=1.0, annealing="step", warm_up=8)
    rates = [learning_rate(by_step.optimisation, step, 10) for step in range(40)]
    assert rates[0] == pytest.approx(1 / 8)
    assert rates == [*sorted(rates[:8]), *sorted(rates[8:], reverse=True)]
    assert rates[39] < 0.01
    at_the_end = settings(epochs=4, lr=1.0, annealing="end", warm_up=0)
    rates = [learning_rate(at_the_end.optimisation, step, 10) for step in range(40)]
    assert rates[:33] == pytest.approx([1.0] * 33)
    assert rates[36] == pytest.approx(0.5)
    assert rates[39] == pytest.approx(1 / 8)


def test_the_average_is_that_of_weights_and_statistics():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    average = averaged(model, 0.75)
    expected = copy.deepcopy(dict(model.named_parameters())), model[1].running_mean.clone()
    for turn in range(3):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter))
            model(torch.rand(4, 1, 5, 5))
        average.update_parameters(model)
        kept = 0.75 if turn else 0.0  # the first weights of all count for nothing
        for name, parameter in model.named_parameters():
            value = kept * expected[0][name] + (1 - kept) * parameter
            expected[0][name] = value.detach()
        expected = expected[0], kept * expected[1] + (1 - kept) * model[1].running_mean
    for name, parameter in average.module.named_parameters():
        torch.testing.assert_close(parameter.detach(), expected[0][name])
    torch.testing.assert_close(average.module[1].running_mean, expected[1])


def test_no_average_where_none_is_asked():
    assert averaged(nn.Linear(1, 1), 0.0) is None


@pytest.mark.parametrize(
    ("name", "after"),
    [("adam", [2.0, 2.0]), ("sgd", [2 - 0.1 * 1.9 * 1e-3, 2 - 0.2 * 1.9 * 1e-3])],
)
def test_a_weight_without_gradient_decays_under_sgd_alone(name, after):
    """By 5e-4 of itself times the learning rate, and 1.9 times that, for Nesterov looks ahead."""
    weights = [nn.Parameter(torch.tensor(2.0, dtype=torch.float64)) for _ in range(2)]
    groups = [{"params": [weights[0]]}, {"params": [weights[1]], "lr": 0.2}]
    optimiser = build_optimiser(name, groups, lr=0.1)
    for weight in weights:
        weight.grad = torch.zeros_like(weight)
    optimiser.step()
    assert [weight.item() for weight in weights] == pytest.approx(after, abs=1e-12)
