"""Classifiers at test equal a loop over tasks; what each may look at is what it says."""

import pytest
import torch

from pseudoshot.classifiers import CLASSIFIERS
from pseudoshot.evaluation import few_shot
from pseudoshot.evaluation.few_shot import TaskSampler, predict, score_tasks
from pseudoshot.heads import FiLM, Projection, TaskTransformer
from tests.core.reference import slow_similarity
from tests.core.reference_methods import slow_attention
from tests.evaluation.test_few_shot import labelled

DIM = 5


@pytest.fixture
def head() -> TaskTransformer:
    torch.manual_seed(0)
    return TaskTransformer(DIM, heads=2).double().eval()


def table(count: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.rand(count, DIM, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("name", ["feat", "with-head"])
def test_the_head_sees_the_support_or_the_whole_task(name, head):
    images = labelled([8, 9, 10, 11])
    z = table(len(images))
    tasks = TaskSampler(images).draw(3, 2, 4, 6, torch.Generator().manual_seed(1))
    expected = []
    for support, query in zip(tasks.support, tasks.query, strict=True):
        seen = z[support.flatten()]
        queries = z[query.flatten()]
        if name == "with-head":
            adapted = slow_attention(head.layers[0], torch.cat((seen, queries)))
            seen, queries = adapted[:6], adapted[6:]
        else:
            seen = slow_attention(head.layers[0], seen)
        prototypes = [seen[2 * n : 2 * n + 2].mean(0) for n in range(3)]
        answers = [
            max(range(3), key=lambda n: slow_similarity("sns", q, prototypes[n]).item())
            for q in queries
        ]
        expected.append(torch.tensor(answers).view(3, 4))
    assert torch.equal(predict(z, tasks, CLASSIFIERS[name]("sns", head)), torch.stack(expected))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_only_the_transductive_look_at_other_queries(name, head):
    classifier = CLASSIFIERS[name]("sns", head)
    support, queries = table(12).view(1, 3, 4, DIM), table(30)[12:].view(1, 18, DIM)
    together = classifier.logits(support, queries)
    alone = torch.cat([classifier.logits(support, queries[:, [i]]) for i in range(18)], 1)
    same = torch.allclose(together, alone)
    assert same == (classifier.setting == "inductive")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_batches_do_not_change_scores(name, head, monkeypatch):
    images = labelled([8, 9, 10, 11])
    z = table(len(images))
    tasks = TaskSampler(images).draw(3, 2, 4, 13, torch.Generator().manual_seed(1))
    classifier = CLASSIFIERS[name]("sns", head)
    whole = score_tasks(z, tasks, classifier)
    monkeypatch.setattr(few_shot, "_FLOATS_A_BATCH", 100)
    assert torch.equal(score_tasks(z, tasks, classifier), whole)


@pytest.mark.parametrize("build", [Projection, FiLM])
def test_any_head_can_be_kept_at_test(build):
    torch.manual_seed(0)
    classifier = CLASSIFIERS["with-head"]("sns", build(DIM).double())
    assert classifier.floats_a_task(20, DIM) > 0
    assert classifier.logits(table(12).view(1, 3, 4, DIM), table(6)[None]).shape == (1, 6, 3)
