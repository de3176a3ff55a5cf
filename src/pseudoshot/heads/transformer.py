"""The task transformer of TSP-Head: members of a task attend to each other (Eq. 10 and 11)."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pseudoshot.heads.base import Head
from pseudoshot.tasks.gather import gather_rows

Residual = Literal["paper", "released"]


class TaskTransformer(Head):
    """ψ = φ + L(attention), any number of heads and layers; no feed-forward part.

    `residual="released"` is the authors' code: ψ = LayerNorm(φ + dropout(linear(attention))).
    """

    def __init__(
        self,
        dim: int,
        heads: int = 8,
        layers: int = 1,
        residual: Residual = "paper",
        dropout: float = 0.2,
        attention_dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            SetAttention(dim, heads, residual, dropout, attention_dropout) for _ in range(layers)
        )

    @property
    def attention_heads(self) -> int:
        first = self.layers[0]
        assert isinstance(first, SetAttention)
        return first.heads

    def forward(self, sets: Tensor) -> Tensor:
        for layer in self.layers:
            sets = layer(sets)
        return sets

    def on_tasks(self, embeddings: Tensor, members: Tensor) -> Tensor:
        first, *others = self.layers
        assert isinstance(first, SetAttention)
        sets = first.on_tasks(embeddings, members)
        for layer in others:  # rows are no longer shared: each task has its own ψ
            sets = layer(sets)
        return sets


class SetAttention(nn.Module):
    """One layer. Keys, queries and values have the size d of the input in each head."""

    def __init__(
        self, dim: int, heads: int, residual: Residual, dropout: float, attention_dropout: float
    ) -> None:
        super().__init__()
        self.heads, self.residual = heads, residual
        self.dropout, self.attention_dropout = dropout, attention_dropout
        self.query = nn.Linear(dim, heads * dim, bias=False)
        self.key = nn.Linear(dim, heads * dim, bias=False)
        self.value = nn.Linear(dim, heads * dim, bias=False)
        self.linear = nn.Linear(heads * dim, dim)
        self.norm = nn.LayerNorm(heads * dim if residual == "paper" else dim)

    def forward(self, sets: Tensor) -> Tensor:
        """(T, R, d) to (T, R, d)."""
        query, key, value = self._project(sets)  # (T, h, R, d)
        attention = self._attend(query @ key.mT)
        attended = (attention @ value).transpose(1, 2).flatten(2)  # (T, R, hd)
        if self.residual == "released":
            return self._released(sets, self.linear(attended))
        adapted: Tensor = self.linear(self.norm(attended) * self._kept_features(sets))
        return sets + adapted

    def on_tasks(self, embeddings: Tensor, members: Tensor) -> Tensor:
        """The same for tasks (T, R) over shared rows (n, d), without a value vector per member.

        Projections, the scores of all pairs and, since L is linear in the values up to LayerNorm's
        mean and deviation, its linear map too, are computed once per row. A task gathers its
        members' scores; mean and deviation come from sums and products of values.
        """
        query, key, value = (part[0] for part in self._project(embeddings[None]))  # (h, n, d)
        n, d = embeddings.shape
        pairs = torch.cat((query @ key.mT, value @ value.mT)).flatten(1).T  # (nn, 2h)
        of_task = (members[:, :, None] * n + members[:, None, :]).flatten()
        gathered = gather_rows(pairs, of_task).view(*members.shape, -1, 2 * self.heads)
        scores, products = gathered.permute(0, 3, 1, 2).chunk(2, 1)  # (T, h, R, R) each
        attention = self._attend(scores)

        weight = self.linear.weight.view(d, self.heads, -1)  # (d, h, d)
        if self.residual == "released":
            mapped = torch.einsum("hnf,ohf->nho", value, weight)
            return self._released(
                gather_rows(embeddings, members),
                _mix(attention, members, mapped) + self.linear.bias,
            )
        kept = self._kept_features(embeddings)
        weight = weight * (self.norm.weight * kept).view(self.heads, -1)
        mapped = torch.einsum("hnf,ohf->nho", value, weight)
        sums = value.sum(-1).T[..., None]  # (n, h, 1)
        mixed = _mix(attention, members, torch.cat((mapped, sums), -1))  # (T, R, d + 1)
        size = self.heads * d
        mean = mixed[..., -1:] / size
        square = ((attention @ products) * attention).sum((1, 3))[..., None] / size
        deviation = (square - mean.square()).clamp_min(0).add(self.norm.eps).sqrt()
        constant = F.linear(self.norm.bias * kept, self.linear.weight, self.linear.bias)
        adapted = (mixed[..., :-1] - mean * weight.sum((1, 2))) / deviation + constant
        return gather_rows(embeddings, members) + adapted

    def _project(self, sets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        T, R, d = sets.shape
        query, key, value = (
            part(sets).view(T, R, self.heads, d).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        return query * d**-0.5, key, value

    def _attend(self, scores: Tensor) -> Tensor:
        return F.dropout(scores.softmax(-1), self.attention_dropout, self.training)

    def _kept_features(self, like: Tensor) -> Tensor:
        """Dropout of L's features (hd,): one draw an episode, so that it folds into the map."""
        return F.dropout(like.new_ones(self.linear.in_features), self.dropout, self.training)

    def _released(self, sets: Tensor, mapped: Tensor) -> Tensor:
        adapted: Tensor = self.norm(sets + F.dropout(mapped, self.dropout, self.training))
        return adapted


def _mix(attention: Tensor, members: Tensor, mapped: Tensor) -> Tensor:
    """Σ over heads and members of attention (T, h, R, R) times rows (n, h, d): (T, R, d).

    Spread over all n rows, attention is one large matrix, and the sum one product.
    """
    T, h, R, _ = attention.shape
    n = len(mapped)
    index = members[:, None, None, :].expand(T, R, h, R)
    spread = attention.new_zeros(T, R, h, n).scatter(3, index, attention.transpose(1, 2))
    return (spread.view(T * R, h * n) @ mapped.transpose(0, 1).flatten(0, 1)).view(T, R, -1)
