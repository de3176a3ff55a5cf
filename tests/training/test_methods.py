"""One suite over every method."""

import itertools

import pytest
import torch

from pseudoshot.backbones import build_backbone
from pseudoshot.methods import METHODS, Batch, Method
from tests.core.reference import slow_loss

# images, way, shot, query
SHAPES = [(4, None, 1, 2), (5, 3, 1, 1), (4, 2, 2, 1)]


def build(name: str, **settings: object) -> Method:
    torch.manual_seed(0)
    method = METHODS[name]
    return method(build_backbone("conv4", 1, 16), method.Settings(**settings))


def episode(method: Method, seed: int = 0) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    C, V = method.settings.images, method.settings.views
    return Batch(torch.rand(C, V, 1, 16, 16, generator=generator), generator)


@pytest.mark.parametrize(("name", "shape"), list(itertools.product(METHODS, SHAPES)))
def test_any_legal_episode_works_and_everything_learns(name, shape):
    images, way, shot, query = shape
    method = build(name, images=images, way=way, shot=shot, query=query, tasks=3)
    loss = method.loss(episode(method))
    loss.value.backward()
    assert loss.value.isfinite()
    assert loss.embeddings.shape == (images * (shot + query), method.backbone.dim)
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in method.parameters())


@pytest.mark.parametrize("name", METHODS)
def test_the_generator_decides(name):
    method = build(name, images=6, way=3, tasks=2).eval()
    first, same, other = (method.loss(episode(method, seed)).value for seed in (0, 0, 1))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("name", METHODS)
def test_the_state_survives_save_and_load(name):
    method, copy = build(name, images=4), build(name, images=4)
    method.loss(episode(method))  # moves the running statistics
    copy.load_state_dict(method.state_dict())
    pair = (m.eval().loss(episode(m)).value for m in (method, copy))
    assert torch.equal(*pair)


@pytest.mark.parametrize("name", METHODS)
def test_the_loss_is_that_of_the_equations(name):
    method = build(name, images=5, way=3, tasks=4).double()
    batch = episode(method)
    views = batch.views.double()
    loss = method.loss(Batch(views, torch.Generator().manual_seed(5)))
    tasks = method.settings.draw_tasks(5, torch.Generator().manual_seed(5))
    slow = slow_loss(loss.embeddings, tasks, method.settings.similarity, 1.0)
    torch.testing.assert_close(loss.value, slow)


def test_the_paper_defaults():
    baseline, vanilla = (METHODS[name].Settings() for name in ("baseline", "vanilla"))
    assert (baseline.tasks, baseline.similarity, baseline.resolved_temperature) == (512, "sns", 1)
    assert (vanilla.tasks, vanilla.similarity) == (1, "euclidean")
    assert METHODS["baseline"].Settings(similarity="cosine").resolved_temperature == 0.5
    assert baseline.views == 6
