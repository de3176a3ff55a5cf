"""The similarity of a query and a prototype: cosine, Euclidean, inner, SNS (section 3, 4.1).

All four are functions of three numbers, <q, p>, |q|² and |p|²: in training these come from one
Gram matrix (`gram.py`), at test from embeddings. Temperatures divide the similarity.
"""

from __future__ import annotations

from typing import Literal, get_args

from torch import Tensor

Similarity = Literal["sns", "cosine", "euclidean", "inner"]
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)

_TINY = 1e-12  # a squared norm of zero has no direction; the gradient there is zero, not NaN


def default_temperature(similarity: Similarity) -> float:
    """The paper's: 0.5 for cosine, 1 for the others."""
    return 0.5 if similarity == "cosine" else 1.0


def similarity_from_products(similarity: Similarity, qp: Tensor, qq: Tensor, pp: Tensor) -> Tensor:
    """Sim(q, p) from qp = <q, p>, qq = |q|², pp = |p|², which broadcast against each other.

    euclidean: -|q - p|² (Eq. 3) · cosine: <q, p> / |q||p| (Eq. 4) · inner: <q, p> (Eq. 5)
    sns: <q, p> / |p| (Eq. 6), the cosine at the instance's own temperature 1/|q|.
    """
    match similarity:
        case "inner":
            return qp
        case "euclidean":
            return 2 * qp - qq - pp
        case "sns":
            return qp * pp.clamp_min(_TINY).rsqrt()
        case "cosine":
            return qp * (qq.clamp_min(_TINY).rsqrt() * pp.clamp_min(_TINY).rsqrt())


def prototype_similarity(similarity: Similarity, queries: Tensor, prototypes: Tensor) -> Tensor:
    """Sim of every query with every prototype: (..., M, d) and (..., N, d) -> (..., M, N)."""
    return similarity_from_products(
        similarity,
        queries @ prototypes.mT,
        queries.square().sum(-1)[..., :, None],
        prototypes.square().sum(-1)[..., None, :],
    )
