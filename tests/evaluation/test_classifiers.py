"""Test tasks by each classifier equal a loop over tasks, in batches of any size."""

import pytest
import torch

from pseudoshot.classifiers import CLASSIFIERS, build_classifier
from pseudoshot.evaluation import few_shot
from pseudoshot.evaluation.few_shot import TaskSampler, predict, score_tasks
from pseudoshot.heads import TaskTransformer
from tests.classifiers.test_common import Bent, head_for
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
    assert torch.equal(
        predict(z, tasks, build_classifier(name, "sns", head)), torch.stack(expected)
    )


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_batches_do_not_change_scores(name, monkeypatch):
    images = labelled([8, 9, 10, 11])
    z = table(len(images))
    tasks = TaskSampler(images).draw(3, 2, 4, 13, torch.Generator().manual_seed(1))
    classifier = build_classifier(name, "sns", head_for(name, DIM), Bent(DIM).double())
    whole = score_tasks(z, tasks, classifier)
    monkeypatch.setattr(few_shot, "_FLOATS_A_BATCH", 100)
    assert torch.equal(score_tasks(z, tasks, classifier), whole)
