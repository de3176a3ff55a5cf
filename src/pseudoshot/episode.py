"""The loss of every task of an episode, read off one Gram matrix.

With G = z zᵀ over the C·V embeddings and a prototype p the mean of K support rows,
<q, p> = mean_k G[q, k], |p|² = mean_{k,k'} G[k, k'] and |q|² = G[q, q]: no tensor holds both a task
and an embedding dimension.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from pseudoshot.similarity import Similarity, similarity_from_products
from pseudoshot.tasks import Tasks

_UNDERFLOW = 1e-30  # of a sum of exponentials in float32, whose smallest normal number is 1e-38


def task_logits(
    gram: Tensor, tasks: Tasks, similarity: Similarity, temperature: float = 1.0
) -> Tensor:
    """Sim(q, p_n) / τ of every query with every prototype of its task, (T, N, Q, N)."""
    T, N, K = tasks.support.shape
    query = tasks.query.flatten(1)  # (T, NQ)
    # G is symmetric: its rows are selected, which are contiguous, in place of its columns
    support_rows = gram.index_select(0, tasks.support.flatten()).view(T, N, K, -1)
    prototype_rows = support_rows.mean(2)  # (T, N, CV): <p_n, every row>
    qp = prototype_rows.gather(2, query[:, None].expand(T, N, -1)).mT  # (T, NQ, N)
    pp = support_rows.gather(3, tasks.support[:, :, None].expand(T, N, K, K)).mean((2, 3))  # (T, N)
    qq = gram.diagonal()[query]  # (T, NQ)
    logits = similarity_from_products(similarity, qp, qq[..., None], pp[:, None]) / temperature
    return logits.view(T, N, -1, N)


def task_loss(
    gram: Tensor, tasks: Tasks, similarity: Similarity, temperature: float = 1.0
) -> Tensor:
    """Mean cross entropy over tasks and queries (Eq. 1 with Eq. 2)."""
    if tasks.shot == 1:
        loss = _one_shot_loss(gram, tasks, similarity, temperature)
        if loss is not None:
            return loss
    logits = task_logits(gram, tasks, similarity, temperature)
    T, N, Q, _ = logits.shape
    labels = torch.arange(N, device=gram.device)[None, :, None].expand(T, N, Q)
    return F.cross_entropy(logits.flatten(0, 2), labels.flatten())


def _one_shot_loss(
    gram: Tensor, tasks: Tasks, similarity: Similarity, temperature: float
) -> Tensor | None:
    """The same loss where K = 1: the softmax denominators of all tasks are one matrix product.

    A one-shot prototype is a row, so a logit depends on two rows alone and each exponential is
    shared by all tasks: with E = exp(L - m) over pairs of rows and S the (T, CV) matrix of who is
    support in which task, the denominators are S Eᵀ. This costs CV² exponentials in place of
    T·N·Q·N. None if a denominator underflows (logits some 70 apart): then the long way is taken.
    """
    T, N, Q = tasks.query.shape
    rows = gram.shape[0]
    square_norms = gram.diagonal()
    logits = similarity_from_products(
        similarity, gram, square_norms[:, None], square_norms[None, :]
    )
    logits = logits / temperature  # (CV, CV): query row, support row
    own = torch.eye(rows, dtype=torch.bool, device=gram.device)  # a row is never its own support
    largest = logits.detach().masked_fill(own, -torch.inf).amax(1, keepdim=True)
    exponentials = (logits - largest).masked_fill(own, -torch.inf).exp()

    support = tasks.support.flatten(1)  # (T, N)
    query = tasks.query.flatten(1)  # (T, NQ)
    is_support = gram.new_zeros(T, rows).scatter_(1, support, 1.0)
    denominators = (is_support @ exponentials.mT).gather(1, query)  # (T, NQ)
    if denominators.detach().amin() < _UNDERFLOW:
        return None
    own_support = tasks.support.expand(T, N, Q).flatten(1)  # (T, NQ)
    pairs = torch.bincount((query * rows + own_support).flatten(), minlength=rows * rows)
    correct = ((logits - largest).flatten() * pairs).sum()
    return (denominators.log().sum() - correct) / query.numel()
