"""What every entry of CLASSIFIERS does, whatever it is fitted by."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from pseudoshot.backbones import Backbone
from pseudoshot.classifiers import (
    CLASSIFIERS,
    Classifier,
    Linear,
    Support,
    build_classifier,
    classifier_settings,
)
from pseudoshot.classifiers import with_head as with_head_module
from pseudoshot.heads import FiLM, Head, Projection, SetEncoder, TaskTransformer
from pseudoshot.tasks.similarity import SIMILARITIES, Similarity
from pseudoshot.tools.errors import PseudoshotError

DIM, WAY = 6, 3
LABELS = (0, 1, 1, 1, 1, 2, 2, 0, 1)  # of unequal number, in no order

every_classifier = pytest.mark.parametrize("name", CLASSIFIERS)


def head_for(name: str, dim: int = DIM) -> Head:
    """One that the classifier can use."""
    torch.manual_seed(0)
    if name != "semi-supervised-em":
        return TaskTransformer(dim, heads=2).double().eval()
    encoder = SetEncoder(dim, 3).double().eval()
    nn.init.constant_(encoder.linear.bias[3:], -6.0)  # sure of its latents, as a trained one is
    return encoder


class Bent(Backbone):
    """A network whose images are vectors."""

    def __init__(self, dim: int = DIM) -> None:
        super().__init__(1, 1)
        self.dim, self.layer = dim, nn.Linear(dim, dim)
        nn.init.eye_(self.layer.weight)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images + self.layer(images).tanh() / 2


def make(name: str, similarity: Similarity = "sns") -> Classifier:
    return build_classifier(name, similarity, head_for(name), Bent().double())


def supports(tasks: int = 4, labels: tuple[int, ...] = LABELS, dim: int = DIM) -> Support:
    """Classes about centres of their own."""
    generator = torch.Generator().manual_seed(1)
    shown = torch.tensor(labels).expand(tasks, -1)
    noise = torch.randn(tasks, len(labels), dim, generator=generator, dtype=torch.float64)
    return Support(3 * torch.eye(dim, dtype=torch.float64)[shown] + noise / 2, shown, WAY)


def some_queries(tasks: int = 4, count: int = 11) -> torch.Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randn(tasks, count, DIM, generator=generator, dtype=torch.float64)


@every_classifier
def test_scores_have_a_row_per_query_and_a_column_per_class(name):
    logits = make(name).fit(supports()).logits(some_queries())
    assert logits.shape == (4, 11, WAY)
    assert logits.dtype == torch.float64
    assert logits.isfinite().all()
    assert not logits.requires_grad


@every_classifier
def test_classes_apart_are_found_though_one_has_more_examples(name):
    queries = 3 * torch.eye(DIM, dtype=torch.float64)[:WAY].expand(4, WAY, DIM)
    found = make(name).fit(supports()).logits(queries).argmax(2)
    assert (found == torch.arange(WAY)).all()


@every_classifier
def test_a_batch_of_tasks_equals_batches_of_one(name):
    classifier, together, queries = make(name), supports(), some_queries()
    whole = classifier.fit(together).logits(queries)
    for t in range(4):
        alone = Support(together.embeddings[t : t + 1], together.labels[t : t + 1], WAY)
        torch.testing.assert_close(
            classifier.fit(alone).logits(queries[t : t + 1])[0], whole[t], rtol=1e-6, atol=1e-6
        )


@every_classifier
def test_the_order_of_examples_does_not_matter(name):
    classifier, shown, queries = make(name), supports(), some_queries()
    order = torch.randperm(len(LABELS), generator=torch.Generator().manual_seed(0))
    shuffled = Support(shown.embeddings[:, order], shown.labels[:, order], WAY)
    torch.testing.assert_close(
        classifier.fit(shuffled).logits(queries),
        classifier.fit(shown).logits(queries),
        rtol=1e-6,
        atol=1e-6,
    )


@every_classifier
def test_one_class_alone_and_one_example_alone(name):
    for count in (1, 3):
        labels = torch.zeros(2, count, dtype=torch.long)
        shown = Support(some_queries(2, count), labels, 1)
        logits = make(name).fit(shown).logits(some_queries(2, 5))
        assert logits.shape == (2, 5, 1)
        assert logits.isfinite().all()


@every_classifier
@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_examples_that_are_all_the_same_give_finite_scores(name, precision):
    labels = torch.tensor([[0, 0, 1, 1]])
    for value in (0.0, 2.0, 1e-9):
        same = Support(torch.full((1, 4, DIM), value, dtype=precision), labels, 2)
        classifier = make(name)
        if classifier.takes == "images":
            classifier.network.to(precision)
        assert classifier.fit(same).logits(some_queries(1).to(precision)).isfinite().all()


@every_classifier
@pytest.mark.parametrize("count", [3, 40])
def test_more_or_fewer_examples_than_dimensions_are_the_same_to_it(name, count):
    """Padding with a feature that is always zero changes the form that is solved, not the result:
    one of them has more dimensions than examples, the other fewer."""
    if not CLASSIFIERS[name].saveable or CLASSIFIERS[name].needs_head:
        pytest.skip("a head or network has a size of its own")
    labels = tuple(range(WAY)) * (count // WAY + 1)
    narrow = supports(labels=labels[:count], dim=4)
    padding = torch.zeros(4, count, 60, dtype=torch.float64)
    wide = Support(torch.cat((narrow.embeddings, padding), 2), narrow.labels, WAY)
    weights = [make(name).fit(shown).weight[..., :4] for shown in (narrow, wide)]
    torch.testing.assert_close(*weights, rtol=1e-5, atol=1e-6)


@every_classifier
def test_only_the_transductive_look_at_other_queries(name):
    classifier, queries = make(name), some_queries()
    fitted = classifier.fit(supports())
    together = fitted.logits(queries)
    alone = torch.cat([fitted.logits(queries[:, [i]]) for i in range(queries.shape[1])], 1)
    assert torch.allclose(together, alone) == (classifier.setting == "inductive")


@every_classifier
def test_it_says_what_it_is(name):
    kind = CLASSIFIERS[name]
    assert make(name).name == kind.Settings().name == name
    assert kind.__doc__
    assert kind.rule.endswith(".")
    assert kind.setting in ("inductive", "transductive")
    assert kind.saveable == isinstance(make(name).fit(supports()), Linear)
    assert kind.saveable == (kind.setting == "inductive" and kind.takes == "embeddings")
    assert kind.plain_reading == (kind.needs_head or kind.takes == "images")
    for field in kind.Settings.model_fields.values():
        assert field.description
    assert make(name).floats_a_task(80, DIM) >= 80 * DIM


@every_classifier
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_balanced_task_is_a_support_as_any_other(name, similarity):
    generator = torch.Generator().manual_seed(0)
    examples = torch.randn(2, WAY, 4, DIM, generator=generator, dtype=torch.float64)
    classifier = make(name, similarity)
    by_hand = Support(
        examples.reshape(2, WAY * 4, DIM), torch.arange(WAY).repeat_interleave(4).expand(2, -1), WAY
    )
    balanced = Support.balanced(examples)
    assert torch.equal(balanced.labels, by_hand.labels)
    assert torch.equal(balanced.balance, torch.ones(2, WAY * 4, dtype=torch.float64))
    torch.testing.assert_close(balanced.means, examples.mean(2))
    assert torch.equal(
        classifier.fit(balanced).logits(some_queries(2)),
        classifier.fit(by_hand).logits(some_queries(2)),
    )


@pytest.mark.parametrize("build", [Projection, FiLM])
@pytest.mark.parametrize("name", ["feat", "with-head"])
def test_any_head_can_be_kept_at_test(name, build):
    torch.manual_seed(0)
    classifier = build_classifier(name, "sns", build(DIM))
    assert classifier.floats_a_task(20, DIM) > 0
    assert classifier.fit(supports()).logits(some_queries()).shape == (4, 11, WAY)


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if CLASSIFIERS[name].needs_head])
def test_without_a_head_it_is_refused(name):
    with pytest.raises(PseudoshotError, match=f"'{name}' needs the head of a run"):
        build_classifier(name)


def test_feat_refuses_a_head_whose_vectors_no_embedding_can_be_compared_with():
    with pytest.raises(PseudoshotError, match="3 numbers, with embeddings of 6: choose with-head"):
        build_classifier("feat", "sns", SetEncoder(DIM, 3)).fit(supports())


def test_a_head_of_another_kind_is_refused():
    with pytest.raises(
        PseudoshotError, match=r"'semi-supervised-em' .* choose a run of meta-gmvae"
    ):
        build_classifier("semi-supervised-em", "sns", head_for("with-head"))


@pytest.mark.parametrize("name", ["with-head", "semi-supervised-em"])
def test_too_many_images_to_look_at_together_are_refused(name, monkeypatch):
    classifier = make(name)
    fitted = classifier.fit(supports(1))
    most = classifier.floats_a_task(len(LABELS) + 50, DIM)
    monkeypatch.setattr(with_head_module, "MOST_FLOATS", most)
    assert fitted.logits(some_queries(1, 50)).shape == (1, 50, WAY)
    with pytest.raises(PseudoshotError, match="cannot look at 509 images together"):
        fitted.logits(some_queries(1, 500))


def test_too_many_examples_for_an_svm_are_refused():
    labels = torch.zeros(1, 8193, dtype=torch.long)
    with pytest.raises(PseudoshotError, match="at most 8,192 examples, not 8,193: choose"):
        make("svm").fit(Support(torch.zeros(1, 8193, 2), labels, 1))


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ("rigde", "unknown classifier 'rigde', did you mean 'ridge'"),
        ({}, "unknown classifier ''"),
        ({"name": "ridge", "regularisation": -1}, "'ridge': regularisation: input should be great"),
        ({"name": "svm", "strength": 1}, "'svm': strength: extra inputs are not permitted"),
        ({"name": "prototype", "similarity": "l1"}, "'prototype': similarity: input should be"),
    ],
)
def test_settings_that_cannot_be_are_refused(chosen, words):
    with pytest.raises(PseudoshotError, match=words):
        classifier_settings(chosen)


def test_a_prototype_may_be_compared_otherwise_than_the_model_says():
    settings = classifier_settings({"name": "prototype", "similarity": "inner"})
    assert build_classifier(settings, "euclidean").similarity == "inner"
    assert build_classifier("prototype", "euclidean").similarity == "euclidean"
