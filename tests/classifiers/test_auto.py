"""The classifier that is chosen on the examples: which, when, and by which figures."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pseudoshot.classifiers import Auto, Support, build_classifier, folds
from pseudoshot.classifiers.auto import Trial
from pseudoshot.data import ImageSet
from pseudoshot.embedders import Embedder, load
from pseudoshot.evaluation import evaluate
from pseudoshot.sorting import FewShotClassifier, load_classifier, save_classifier


def along_a_line(shot: int, tasks: int = 3, seed: int = 0) -> Support:
    """Two classes that differ in one direction, and vary far more in another: the mean of a few is
    led astray, a regression is not."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.arange(2).repeat_interleave(shot).expand(tasks, -1)
    noise = torch.randn(tasks, 2 * shot, 6, generator=draw, dtype=torch.float64)
    noise *= torch.tensor([0.3, 6, 0.3, 0.3, 0.3, 0.3], dtype=torch.float64)
    return Support(
        noise + (2 * labels[..., None] - 1) * torch.eye(6, dtype=torch.float64)[0], labels, 2
    )


def test_below_three_examples_it_is_what_the_model_is_made_for():
    support = along_a_line(2)
    for own in ("ridge", "svm"):
        auto = Auto(Auto.Settings(), own=build_classifier(own))
        torch.testing.assert_close(
            auto.fit(support).weight, build_classifier(own).fit(support).weight
        )


def test_from_three_on_each_task_has_what_is_ahead_in_it():
    auto, support = Auto(Auto.Settings()), along_a_line(20, tasks=12)
    trial = auto.trial(support)
    fold = folds(support.labels[0], 2, 0)
    fits = [candidate.fit(support).weight for candidate in auto.candidates]
    for task in range(12):
        right = []
        for candidate in auto.candidates:
            said = torch.zeros(40, dtype=torch.long)
            for part in range(5):
                out = fold == part
                shown = Support(
                    support.embeddings[[task]][:, ~out], support.labels[[task]][:, ~out], 2
                )
                logits = candidate.fit(shown).logits(support.embeddings[[task]][:, out])
                said[out] = logits.argmax(2)[0]
            right.append(said == support.labels[task])
        wins, losses = ((right[1] & ~right[0]).sum().item(), (right[0] & ~right[1]).sum().item())
        expected = int(wins - losses > (wins + losses) ** 0.5)
        assert int(trial.best()[task]) == expected
        torch.testing.assert_close(auto.fit(support).weight[task], fits[expected][task])
    assert trial.best().sum() >= 6, "a regression is ahead in most of these"


def test_a_figure_is_not_flattered_by_the_choice():
    """Candidates that guess: the better one is above chance on the examples it was chosen by, what
    is said of each part by the choice of the others is not."""
    draw = torch.Generator().manual_seed(0)
    labels = torch.arange(2).repeat(10)
    scores = torch.randn(8, 2000, 20, 2, generator=draw)
    trial = Trial(scores, labels, torch.arange(20) % 5)
    flattered = trial.right[trial.best(), torch.arange(2000)].double().mean()
    told = (trial.unbiased().argmax(2) == labels).double().mean()
    assert flattered > 0.57
    assert abs(told - 0.5) < 0.01


def test_tasks_of_different_labels_are_chosen_for_one_by_one():
    even, odd = along_a_line(6, 1), along_a_line(6, 1, seed=1)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    mixed = Support(
        torch.cat((even.embeddings, odd.embeddings[:, order])),
        torch.cat((even.labels, odd.labels[:, order])),
        2,
    )
    auto = Auto(Auto.Settings())
    weights = auto.fit(mixed).weight
    torch.testing.assert_close(weights[:1], auto.fit(even).weight)
    assert weights.shape == (2, 2, 6)


def test_the_estimator_says_what_was_chosen_and_a_file_keeps_it(tmp_path):
    support = along_a_line(20, 1)
    features, labels = support.embeddings[0].numpy(), support.labels[0].numpy()
    fitted = FewShotClassifier().fit(features, labels)
    assert fitted.classifier_.name == "ridge"
    assert fitted.told_by_.startswith("told apart by ridge regression, chosen on the examples: ")
    assert "% right when held out against" in fitted.told_by_
    assert fitted.told_by_.endswith("% of nearest mean")
    assert fitted.quality().startswith(f"{fitted.told_by_}; ")
    assert len(fitted.held_out_.labels) == 40
    save_classifier(fitted, tmp_path / "c.safetensors")
    again = load_classifier(tmp_path / "c.safetensors")
    assert again.classifier_.name == "ridge"
    assert again.told_by_ == "told apart by ridge regression"
    np.testing.assert_array_equal(again.predict_proba(features), fitted.predict_proba(features))


def test_what_a_model_is_made_for_is_its_first_candidate():
    embedder = load("conv4-cifar-fs")
    assert embedder.classifier().name == "prototype", "what measures is the card's"
    assert [c.name for c in embedder.classifier("auto").candidates] == ["prototype", "ridge"]
    ridge = embedder.card.model_copy(update={"classifier": {"name": "ridge", "regularisation": 2}})
    embedder.card = ridge
    first = embedder.classifier("auto").candidates[0]
    assert first.settings.regularisation == 2


@pytest.mark.parametrize("name", ["prototype", "svm"])
def test_a_classifier_that_was_asked_for_is_kept(name):
    support = along_a_line(20, 1)
    fitted = FewShotClassifier(classifier=name)
    fitted.fit(support.embeddings[0].numpy(), support.labels[0].numpy())
    assert fitted.classifier_.name == name
    assert "chosen" not in fitted.told_by_


def test_tasks_are_measured_by_it_where_asked():
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 30)
    pixels = (60 * labels[:, None, None, None] + draw.integers(0, 40, (120, 8, 8, 3))).astype("u1")
    images = ImageSet("tones", pixels, labels, tuple("abcd"))
    tones = Embedder.of(lambda seen: seen.mean((2, 3)), size=8, similarity="euclidean")
    result = evaluate(tones, images, classifier="auto", way=4, shots=(1, 5), query=5, tasks=20)
    assert result.classifier == "auto"
    assert [r.accuracy for r in result.results] == [100, 100]
