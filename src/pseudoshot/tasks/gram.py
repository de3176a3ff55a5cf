"""The loss of every task of an episode, read off Gram matrices.

With G = z zᵀ over an episode's rows and a prototype p the mean of K support rows,
<q, p> = mean_k G[q, k], |p|² = mean_{k,k'} G[k, k'] and |q|² = G[q, q]: no tensor holds both a task
and an embedding dimension. G is (R, R) where all tasks share it, and (T, R, R) where each task has
embeddings of its own.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from pseudoshot.tasks.gather import gather_rows, sum_of_rows
from pseudoshot.tasks.similarity import Similarity, similarity_from_products
from pseudoshot.tasks.tasks import Tasks

_UNDERFLOW = 1e-30  # of a sum of exponentials in float32, whose smallest normal number is 1e-38


def gram_matrix(embeddings: Tensor) -> Tensor:
    """(..., R, d) to (..., R, R)."""
    return embeddings @ embeddings.mT


def pairs_of(gram: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """G[rows, columns] of every task: (T, n) and (T, m) to (T, n, m), from a shared G."""
    pairs = rows[:, :, None] * len(gram) + columns[:, None, :]
    return gather_rows(gram.flatten(), pairs)


def prototype_products(gram: Tensor, tasks: Tasks) -> tuple[Tensor, Tensor]:
    """<p_n, z> of every prototype with every row, (T, N, R), and |p_n|², (T, N)."""
    # G is symmetric: its rows are summed, which are contiguous, in place of its columns
    if gram.dim() == 2:
        products = sum_of_rows(gram / tasks.shot, tasks.support)
    else:
        T, N, K = tasks.support.shape
        rows = tasks.support.reshape(T, N * K, 1).expand(-1, -1, gram.shape[-1])
        products = gram.gather(1, rows).view(T, N, K, -1).mean(2)
    return products, products.gather(2, tasks.support).mean(2)


def task_logits(
    gram: Tensor, tasks: Tasks, similarity: Similarity, temperature: float = 1.0
) -> Tensor:
    """Sim(q, p_n) / τ of every query with every prototype of its task, (T, N, Q, N)."""
    T, N, Q = tasks.query.shape
    query = tasks.query.flatten(1)  # (T, NQ)
    products, pp = prototype_products(gram, tasks)
    qp = products.gather(2, query[:, None].expand(T, N, -1)).mT  # (T, NQ, N)
    qq = square_norms(gram, query)  # (T, NQ)
    logits = similarity_from_products(similarity, qp, qq[..., None], pp[:, None]) / temperature
    return logits.view(T, N, Q, N)


def task_loss(
    gram: Tensor,
    tasks: Tasks,
    similarity: Similarity,
    temperature: float = 1.0,
    distractors: Tensor | None = None,
) -> Tensor:
    """Mean cross entropy over tasks and queries (Eq. 1 with Eq. 2).

    `distractors` are logits of further classes, no query's own: (R, k) for each row, or
    (T, NQ, k) for each query of each task.
    """
    if tasks.shot == 1 and gram.dim() == 2:
        loss = _one_shot_loss(gram, tasks, similarity, temperature, distractors)
        if loss is not None:
            return loss
    logits = task_logits(gram, tasks, similarity, temperature).flatten(1, 2)  # (T, NQ, N)
    if distractors is not None:
        if distractors.dim() == 2:
            distractors = gather_rows(distractors, tasks.query.flatten(1))
        logits = torch.cat((logits, distractors), 2)
    return query_cross_entropy(logits, tasks.query.shape[2])


def query_cross_entropy(logits: Tensor, query: int) -> Tensor:
    """Mean cross entropy of logits (T, NQ, ≥N); queries are class by class, Q of each."""
    T, NQ, _ = logits.shape
    labels = torch.arange(NQ, device=logits.device).div(query, rounding_mode="floor").expand(T, -1)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def square_norms(gram: Tensor, rows: Tensor) -> Tensor:
    """|z|² of the given rows (T, n) of each task."""
    diagonal = gram.diagonal(dim1=-2, dim2=-1)
    return gather_rows(diagonal, rows) if gram.dim() == 2 else diagonal.gather(1, rows)


def _one_shot_loss(
    gram: Tensor, tasks: Tasks, similarity: Similarity, temperature: float, further: Tensor | None
) -> Tensor | None:
    """The same loss where K = 1: the softmax denominators of all tasks are one matrix product.

    A one-shot prototype is a row, so a logit depends on two rows alone and each exponential is
    shared by all tasks: with E = exp(L - m) over pairs of rows and S the (T, R) matrix of who is
    support in which task, the denominators are S Eᵀ, plus what distractors add to a query's.
    This costs R² exponentials in place of T·N·Q·N. None if a denominator underflows or overflows
    (logits some 70 apart): then the long way is taken.
    """
    T, N, Q = tasks.query.shape
    rows = gram.shape[0]
    squares = gram.diagonal()
    logits = similarity_from_products(similarity, gram, squares[:, None], squares[None, :])
    logits = logits / temperature  # (R, R): query row, support row
    own = torch.eye(rows, dtype=torch.bool, device=gram.device)  # a row is never its own support
    largest = logits.detach().masked_fill(own, -torch.inf).amax(1, keepdim=True)
    exponentials = (logits - largest).masked_fill(own, -torch.inf).exp()

    support = tasks.support.flatten(1)  # (T, N)
    query = tasks.query.flatten(1)  # (T, NQ)
    is_support = gram.new_zeros(T, rows).scatter_(1, support, 1.0)
    denominators = (is_support @ exponentials.mT).gather(1, query)  # (T, NQ)
    if further is not None:
        offset = largest if further.dim() == 2 else largest[query]
        added = (further - offset).exp().sum(-1)
        denominators = denominators + (gather_rows(added, query) if further.dim() == 2 else added)
    least, most = denominators.detach().aminmax()
    if least < _UNDERFLOW or not most < 1 / _UNDERFLOW:
        return None
    own_support = tasks.support.expand(T, N, Q).flatten(1)  # (T, NQ)
    pairs = torch.bincount((query * rows + own_support).flatten(), minlength=rows * rows)
    correct = ((logits - largest).flatten() * pairs).sum()
    return (denominators.log().sum() - correct) / query.numel()
