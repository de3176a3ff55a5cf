"""Loss and logits read off the Gram matrix equal the equations in plain loops, with gradients."""

import pytest
import torch

from pseudoshot.tasks import gram
from pseudoshot.tasks.gather import sum_of_rows
from pseudoshot.tasks.gram import task_logits, task_loss
from pseudoshot.tasks.similarity import SIMILARITIES, prototype_similarity
from pseudoshot.tasks.tasks import exhaustive_tasks, resample_tasks
from tests.core.reference import slow_logits, slow_loss

# C, way, shot, query, tasks
SHAPES = [(2, 2, 1, 1, 3), (5, 5, 1, 5, 4), (6, 3, 1, 2, 7), (6, 2, 3, 2, 5), (4, 4, 2, 3, 3)]


def random_embeddings(count: int, dim: int = 7, scale: float = 1.0, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    z = torch.rand(count, dim, generator=generator, dtype=torch.float64) * scale
    return z.requires_grad_()


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_loss_and_gradient_equal_the_reference(similarity, shape, temperature):
    C, way, shot, query, count = shape
    tasks = resample_tasks(C, way, shot, query, count, torch.Generator().manual_seed(1))
    z = random_embeddings(C * (shot + query))
    fast = task_loss(z @ z.T, tasks, similarity, temperature)
    slow = slow_loss(z, tasks, similarity, temperature)
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-12)
    (fast_gradient,) = torch.autograd.grad(fast, z)
    (slow_gradient,) = torch.autograd.grad(slow, z)
    torch.testing.assert_close(fast_gradient, slow_gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("shape", SHAPES)
def test_logits_equal_the_reference(similarity, shape):
    C, way, shot, query, count = shape
    tasks = resample_tasks(C, way, shot, query, count, torch.Generator().manual_seed(2))
    z = random_embeddings(C * (shot + query))
    torch.testing.assert_close(
        task_logits(z @ z.T, tasks, similarity, 0.5), slow_logits(z, tasks, similarity, 0.5)
    )


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_exhaustive_splits_equal_the_reference(similarity):
    tasks = exhaustive_tasks(4, 3)
    z = random_embeddings(12)
    fast, slow = task_loss(z @ z.T, tasks, similarity), slow_loss(z, tasks, similarity, 1.0)
    torch.testing.assert_close(fast, slow)


def test_one_shot_takes_the_matrix_product(monkeypatch):
    monkeypatch.setattr(gram, "task_logits", lambda *_: pytest.fail("took the long way"))
    z = random_embeddings(12)
    task_loss(z @ z.T, exhaustive_tasks(4, 3), "sns")


def test_logits_far_apart_do_not_underflow():
    """Float32 exponentials vanish some 90 below the largest logit; the loss must not."""
    tasks = resample_tasks(8, 3, 1, 2, 20, torch.Generator().manual_seed(3))
    z = (random_embeddings(24, scale=30.0).detach().float() - 15).requires_grad_()
    fast = task_loss(z @ z.T, tasks, "euclidean")
    exact = slow_loss(z.double(), tasks, "euclidean", 1.0)
    torch.testing.assert_close(fast.double(), exact, rtol=1e-4, atol=1e-4)
    (gradient,) = torch.autograd.grad(fast, z)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_an_embedding_of_zero_gives_finite_gradients(similarity):
    z = random_embeddings(12).detach()
    z[0] = 0
    z.requires_grad_()
    (gradient,) = torch.autograd.grad(task_loss(z @ z.T, exhaustive_tasks(4, 3), similarity), z)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_similarity_from_embeddings_equals_that_from_the_gram_matrix(similarity):
    tasks = resample_tasks(5, 5, 2, 3, 1, torch.Generator().manual_seed(4))
    z = random_embeddings(25)
    prototypes = z[tasks.support[0]].mean(1)
    from_embeddings = prototype_similarity(similarity, z[tasks.query[0]].flatten(0, 1), prototypes)
    torch.testing.assert_close(
        task_logits(z @ z.T, tasks, similarity)[0].flatten(0, 1), from_embeddings
    )


def test_sns_and_cosine_predict_the_same():
    z = random_embeddings(40)
    queries, prototypes = z[:30], z[30:]
    sns = prototype_similarity("sns", queries, prototypes).argmax(-1)
    cosine = prototype_similarity("cosine", queries, prototypes).argmax(-1)
    assert torch.equal(sns, cosine)


def test_gradients_of_several_shots_have_the_same_bits_on_any_number_of_threads():
    tasks = resample_tasks(32, 32, 5, 5, 64, torch.Generator().manual_seed(5))
    z = random_embeddings(320).detach().float().requires_grad_()
    gradients = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3, 2):
            torch.set_num_threads(threads)
            gram_of_z = (z @ z.T).detach().requires_grad_()  # the product itself is not at issue
            (gradient,) = torch.autograd.grad(task_loss(gram_of_z, tasks, "sns"), gram_of_z)
            gradients.append(gradient)
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(gradient, gradients[0]) for gradient in gradients)


def test_sums_of_rows_equal_gathered_rows_added_up():
    values = random_embeddings(6)
    rows = torch.tensor([[[0, 1], [1, 1]], [[5, 0], [2, 3]], [[4, 4], [0, 5]]])
    fast, slow = sum_of_rows(values, rows), values[rows].sum(-2)
    torch.testing.assert_close(fast, slow)
    weights = torch.arange(fast.numel(), dtype=torch.float64).view_as(fast)
    (fast_gradient,) = torch.autograd.grad((fast * weights).sum(), values)
    (slow_gradient,) = torch.autograd.grad((slow * weights).sum(), values)
    torch.testing.assert_close(fast_gradient, slow_gradient)
