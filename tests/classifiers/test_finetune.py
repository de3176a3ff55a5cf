"""The classifier that adapts the network: its equations, and its way from a run to figures."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from pseudoshot.backbones import build_backbone
from pseudoshot.classifiers import Support, build_classifier
from pseudoshot.classifiers import finetune as finetune_module
from pseudoshot.data import load as load_data
from pseudoshot.embedders import Embedder, load
from pseudoshot.evaluation import evaluate
from pseudoshot.heads import LinearHead
from pseudoshot.runs import evaluate_run, train
from pseudoshot.serve.session import Session
from pseudoshot.settings.resolve import resolve
from pseudoshot.sorting import FewShotClassifier
from pseudoshot.sorting.folders import classify_folder
from pseudoshot.tools.errors import PseudoshotError
from tests.training.test_methods import photos

SIDE, WAY, STATISTICS = 8, 3, ("running", "batch")
LABELS = torch.tensor([[0, 0, 1, 2, 1], [2, 1, 0, 0, 0]])
SMALL = {"recipe": "paper", "size": 16, "epochs": 1, "episodes_per_epoch": 2}
TASKS = {"way": 3, "shots": (1,), "query": 2, "tasks": 3}


@pytest.fixture
def network():
    """Whose running statistics are not those it began with."""
    torch.manual_seed(0)
    network = build_backbone("conv4", 1, SIDE).double()
    network(torch.rand(20, 1, SIDE, SIDE).double())
    return network.eval()


def tasks() -> tuple[Support, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(2, 12, 1, SIDE, SIDE, generator=generator, dtype=torch.float64)
    return Support(images[:, :5], LABELS, WAY), images[:, 5:]


def slow_logits(network, layer, support: Support, queries: Tensor, chosen) -> Tensor:
    """Task by task and step by step; `layer(embeddings, labels)` is W and b of the first layer."""
    found = []
    for images, labels, asked in zip(support.embeddings, support.labels, queries, strict=True):
        module = nn.Sequential(network, nn.Linear(64, WAY)).double()
        module.train(chosen["statistics"] == "batch")
        buffers = {name: value.clone() for name, value in module.named_buffers()}
        weights = {name: value.detach().clone() for name, value in module.named_parameters()}
        embeddings = functional_call(module[0], dict(network.named_parameters()), (images,))
        weights["1.weight"], weights["1.bias"] = layer(embeddings, labels)
        for _ in range(chosen["steps"]):
            weights = {name: w.detach().requires_grad_() for name, w in weights.items()}
            logits = functional_call(module, {**weights, **buffers}, (images,))
            losses = [-row.log_softmax(0)[label] for row, label in zip(logits, labels, strict=True)]
            gradients = torch.autograd.grad(torch.stack(losses).mean(), list(weights.values()))
            pairs = zip(weights.items(), gradients, strict=True)
            weights = {name: w - chosen["lr"] * g for (name, w), g in pairs}
        found.append(functional_call(module, {**weights, **buffers}, (asked,)).detach())
    network.eval()
    return torch.stack(found)


def of_prototypes(embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    means = torch.stack([embeddings[labels == n].mean(0) for n in range(WAY)]).detach()
    return 2 * means, -means.square().sum(1)


@pytest.mark.parametrize("statistics", STATISTICS)
@pytest.mark.parametrize("classes", [None, 2, 5])
def test_it_equals_gradient_descent_task_by_task(network, statistics, classes):
    """A trained layer of more classes is begun with; of fewer, the prototypes are."""
    chosen = {"name": "finetune", "steps": 3, "lr": 0.2, "statistics": statistics}
    head = None if classes is None else LinearHead(64, classes).double()
    support, queries = tasks()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    found = build_classifier(chosen, "euclidean", head, network).fit(support).logits(queries)
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())
    layer = of_prototypes
    if classes == 5:

        def layer(embeddings, labels):
            return head.layer.weight[:WAY].detach(), head.layer.bias[:WAY].detach()

    torch.testing.assert_close(found, slow_logits(network, layer, support, queries, chosen))


def test_without_a_step_it_is_the_nearest_mean(network):
    support, queries = tasks()
    tuned = build_classifier({"name": "finetune", "steps": 0}, "sns", None, network)
    with torch.no_grad():
        embedded = network(support.embeddings.flatten(0, 1)).view(2, 5, 64)
        asked = network(queries.flatten(0, 1)).view(2, 7, 64)
    nearest = build_classifier("prototype", "sns").fit(Support(embedded, LABELS, WAY))
    torch.testing.assert_close(tuned.fit(support).logits(queries), nearest.logits(asked))


@pytest.mark.parametrize("statistics", STATISTICS)
def test_tasks_side_by_side_or_one_by_one_are_the_same(network, statistics, monkeypatch):
    chosen = {"name": "finetune", "steps": 2, "statistics": statistics}
    fitted = build_classifier(chosen, "sns", None, network).fit(tasks()[0])
    one_by_one = fitted.logits(tasks()[1])
    monkeypatch.setattr(finetune_module, "tasks_at_once", lambda *_: 2)
    torch.testing.assert_close(fitted.logits(tasks()[1]), one_by_one)


@pytest.mark.parametrize("statistics", STATISTICS)
def test_statistics_of_the_batch_are_transductive_and_it_says_so(network, statistics):
    chosen = {"name": "finetune", "steps": 1, "statistics": statistics}
    classifier = build_classifier(chosen, "sns", None, network)
    support, queries = tasks()
    fitted = classifier.fit(support)
    same = torch.allclose(fitted.logits(queries)[:, :2], fitted.logits(queries[:, :2]))
    assert same == (classifier.setting == "inductive") == (statistics == "running")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return photos(tmp_path_factory.mktemp("photos"))


@pytest.fixture(scope="module")
def umtra(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "umtra"
    options = {"way": 4, "images": 8, "inner_steps": 1, "inner_lr": 0.1, "classifier_steps": 2}
    train(data, folder, method="umtra", **options, **SMALL)
    return folder


def test_a_run_of_maml_is_tested_from_the_layer_it_trained(umtra, data):
    result = evaluate_run(umtra, data, **TASKS)
    assert (result.classifier, result.setting) == ("finetune", "transductive")
    classifier = load(umtra).classifier()
    assert (classifier.settings.lr, classifier.settings.statistics) == (0.1, "batch")
    support = Support(torch.rand(2, 3, 3, 16, 16), torch.arange(3).expand(2, -1), 3)
    trained, layer = classifier._head.layer, classifier.first_layer(support, 1)
    assert trained.weight.shape == (4, 64)
    assert torch.equal(layer["weight"], trained.weight[:3].expand(2, -1, -1))
    by_prototypes = train_prototypes(data, umtra.parent / "aal")
    assert evaluate_run(by_prototypes, data, **TASKS).classifier == "prototype"


def train_prototypes(data, folder):
    train(data, folder, method="aal", learner="prototype", way=2, images=4, **SMALL)
    return folder


def test_any_model_can_be_adapted_and_is_inductive_by_default(data):
    images = load_data(data, size=32)
    chosen = {"name": "finetune", "steps": 1}
    result = evaluate(load("conv4-cifar-fs"), images, classifier=chosen, **TASKS)
    assert (result.classifier, result.setting, result.reading) == (
        "finetune",
        "inductive",
        "plain",
    )


def test_a_fast_run_of_maml_is_read_plainly(data):
    fast = {"data": data, "recipe": "fast", "images": 40, "start_from": None}
    readings = {
        method: resolve({**fast, "method": method}).reading
        for method in ("umtra", "feat", "baseline")
    }
    assert readings == {"umtra": "plain", "feat": "plain", "baseline": "described"}


def test_where_it_cannot_be_it_is_refused_in_a_sentence(umtra, data, tmp_path):
    here = {"support": data, "csv": tmp_path / "l.csv"}
    for refused in (
        lambda: FewShotClassifier(umtra, classifier="finetune").fit(data),
        lambda: classify_folder(umtra, data, classifier="finetune", **here),
        lambda: Session(umtra, classifier="finetune"),
    ):
        with pytest.raises(PseudoshotError, match="which `pseudoshot evaluate` alone does: choose"):
            refused()
    with pytest.raises(PseudoshotError, match="here there are vectors alone: choose another"):
        FewShotClassifier(classifier="finetune").fit(np.eye(3), [0, 1, 2])
    with pytest.raises(PseudoshotError, match="goes on from the plain embedding: add --reading"):
        evaluate_run("conv4-cifar-fs", data, classifier="finetune", reading="joined", **TASKS)
    tones = Embedder.of(lambda images: images.mean((2, 3)), size=16)
    with pytest.raises(PseudoshotError, match="'function' has no weights that could be adapted"):
        evaluate(tones, None, classifier="finetune")


def test_a_person_sorts_by_the_embeddings_of_such_a_run(umtra, data):
    estimator = FewShotClassifier(umtra).fit(data)
    assert estimator.classifier_.name in ("prototype", "ridge")
    assert Session(umtra).embedder.classifier().name == "finetune"
