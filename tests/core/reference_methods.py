"""The paper's methods in plain loops over tasks, queries, neighbours and heads."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pseudoshot.heads.transformer import SetAttention
from pseudoshot.tasks.similarity import Similarity
from pseudoshot.tasks.tasks import Tasks
from tests.core.reference import slow_similarity


def cross_entropy(logits: list[Tensor], label: int) -> Tensor:
    row = torch.stack(logits)
    return row.logsumexp(0) - row[label]


def slow_hms_loss(
    rows: list[Tensor],  # ψ or φ of each task's members, (R, d), class by class, support first
    candidates: list[Tensor],  # for each task: what may be mixed in, (M, d), and its class
    candidate_classes: list[list[int]],
    task_classes: list[list[int]],  # the class of the n-th way of each task
    shot: int,
    query: int,
    shares: list[Tensor],  # λ of each query of each task, (NQ, k)
    k: int,
    similarity: Similarity,
    temperature: float,
) -> Tensor:
    """Algorithm 4 with its mixes made one by one."""
    V = shot + query
    terms = []
    for t, members in enumerate(rows):
        N = len(members) // V
        prototypes = [members[n * V : n * V + shot].mean(0) for n in range(N)]
        for n in range(N):
            for q in range(query):
                z = members[n * V + shot + q]
                logits = [slow_similarity(similarity, z, p) / temperature for p in prototypes]
                strangers = [
                    (slow_similarity(similarity, z, x).item(), i)
                    for i, (x, label) in enumerate(
                        zip(candidates[t], candidate_classes[t], strict=True)
                    )
                    if label != task_classes[t][n]
                ]
                nearest = sorted(strangers, reverse=True)[:k]
                for j, (_, i) in enumerate(nearest):
                    share = shares[t][n * query + q, j]
                    mix = share * z + (1 - share) * candidates[t][i]
                    logits.append(slow_similarity(similarity, z, mix) / temperature)
                terms.append(cross_entropy(logits, n))
    return torch.stack(terms).mean()


def slow_attention(layer: SetAttention, members: Tensor) -> Tensor:
    """Eq. 10 and 11 for one task, (R, d), head by head and member by member; no dropout."""
    d, h = members.shape[1], layer.heads
    psi = []
    for x in members:
        heads = []
        for head in range(h):
            part = slice(head * d, (head + 1) * d)
            W_Q, W_K, W_V = (w.weight[part] for w in (layer.query, layer.key, layer.value))
            scores = torch.stack([(W_Q @ x) @ (W_K @ other) / d**0.5 for other in members])
            alpha = scores.softmax(0)
            heads.append(
                torch.stack([a * (W_V @ o) for a, o in zip(alpha, members, strict=True)]).sum(0)
            )
        attended = torch.cat(heads)
        if layer.residual == "paper":
            psi.append(x + layer.linear(normalise(attended, layer.norm)))
        else:
            psi.append(normalise(x + layer.linear(attended), layer.norm))
    return torch.stack(psi)


def normalise(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    centred = x - x.mean()
    return centred / (centred.square().mean() + norm.eps).sqrt() * norm.weight + norm.bias


def slow_task_loss(
    rows: list[Tensor], shot: int, query: int, similarity: Similarity, temperature: float
) -> Tensor:
    """Eq. 1 over tasks whose members (R, d) are given class by class, support first."""
    nothing: list[list[int]] = [[] for _ in rows]
    empty = [task[:0] for task in rows]
    ways = [list(range(len(task) // (shot + query))) for task in rows]
    return slow_hms_loss(rows, empty, nothing, ways, shot, query, empty, 0, similarity, temperature)


def members_of(embeddings: Tensor, tasks: Tasks) -> list[Tensor]:
    """Each task's embeddings, gathered in loops."""
    gathered = []
    for support, query in zip(tasks.support, tasks.query, strict=True):
        rows = []
        for n in range(len(support)):
            rows += [embeddings[row] for row in support[n]] + [embeddings[row] for row in query[n]]
        gathered.append(torch.stack(rows))
    return gathered
