"""The paper's equations in plain loops: slow, and easy to check by eye."""

from __future__ import annotations

import torch
from torch import Tensor

from pseudoshot.tasks.similarity import Similarity
from pseudoshot.tasks.tasks import Tasks


def slow_similarity(similarity: Similarity, query: Tensor, prototype: Tensor) -> Tensor:
    if similarity == "euclidean":
        return -((query - prototype) ** 2).sum()
    if similarity == "cosine":
        return (query * prototype).sum() / (query.norm() * prototype.norm())
    if similarity == "inner":
        return (query * prototype).sum()
    return (query * prototype).sum() / prototype.norm()


def slow_logits(
    embeddings: Tensor, tasks: Tasks, similarity: Similarity, temperature: float
) -> Tensor:
    all_tasks = []
    for support, query in zip(tasks.support, tasks.query, strict=True):
        prototypes = [embeddings[rows].mean(0) for rows in support]
        one_task = []
        for rows in query:
            one_class = []
            for row in rows:
                logits = [
                    slow_similarity(similarity, embeddings[row], prototype) / temperature
                    for prototype in prototypes
                ]
                one_class.append(torch.stack(logits))
            one_task.append(torch.stack(one_class))
        all_tasks.append(torch.stack(one_task))
    return torch.stack(all_tasks)  # (T, N, Q, N)


def slow_loss(
    embeddings: Tensor, tasks: Tasks, similarity: Similarity, temperature: float
) -> Tensor:
    logits = slow_logits(embeddings, tasks, similarity, temperature)
    terms = []
    for task in logits:
        for label, queries in enumerate(task):
            terms += [row.logsumexp(0) - row[label] for row in queries]
    return torch.stack(terms).mean()
