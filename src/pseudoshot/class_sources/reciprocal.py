"""The Jaccard distance of k-reciprocal neighbours (Zhong et al. 2017), in sparse blocks.

No tensor is n x n: an image's neighbours are k1, the images that share one with it a few hundred,
and of the pairs only the nearest are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

Sparse: TypeAlias = Any  # scipy's CSR arrays, which have no types
Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

DISTANCES_AT_ONCE = 1 << 22  # 16 MB, which stay near the processor
MOST_STRIDES = 32  # that a row's distances are taken in: more make fewer columns, of more images
PAIRS_AT_ONCE = 1 << 22  # of entries of V in one column
NOTHING = 1e-12  # the distance of two images whose V is the same, but for rounding


class Neighbours(NamedTuple):
    """Of each image, itself first."""

    nearest: Tensor  # (n, k + 1), in order of distance
    farthest: Tensor  # (n,), the squared distance of the farthest image


def neighbours(embeddings: Tensor, k: int) -> Neighbours:
    """The k nearest other rows by Euclidean distance, of each of n rows.

    >>> neighbours(torch.tensor([[0.0], [1.0], [3.0]]), 1).nearest
    tensor([[0, 1],
            [1, 0],
            [2, 1]])
    """
    n, d = embeddings.shape
    squares = embeddings.square().sum(1)
    nearest, farthest = torch.empty(n, k + 1, dtype=torch.long), torch.empty_like(squares)
    strides = max(1, min(MOST_STRIDES, math.isqrt(n // (k + 1)) // 2))
    columns = -(-n // strides)  # n / strides, rounded up: k + 1 or more
    at_once = max(1, DISTANCES_AT_ONCE // max(columns, (k + 1) * strides * d))
    for rows in torch.split(torch.arange(n), at_once):
        least, farthest[rows] = _extremes(embeddings, squares, rows, columns)
        first = least.topk(k + 1, largest=False, sorted=False).indices
        among = (first[:, :, None] + columns * torch.arange(strides)).flatten(1)
        nearest[rows, 0] = rows
        nearest[rows, 1:] = _nearest_among(embeddings, squares, rows, among, k)
    return Neighbours(nearest, farthest)


def _extremes(
    embeddings: Tensor, squares: Tensor, rows: Tensor, columns: int
) -> tuple[Tensor, Tensor]:
    """Least distances but for |x|², of some rows to all whose number leaves the same remainder by
    `columns`, (rows, columns), and the greatest of all.

    The k nearest others are among those of the k + 1 least: each of these is a row of its own, and
    one at most is the row itself.
    """
    own = embeddings[rows]
    least = squares.new_full((len(rows), columns), torch.inf)
    greatest = squares.new_full((len(rows),), -torch.inf)
    distances = torch.empty_like(least)
    strides = zip(*(torch.split(x, columns) for x in (embeddings, squares)), strict=True)
    for others, their in strides:
        if len(others) < columns:
            distances = distances.new_empty(len(rows), len(others))
        torch.addmm(their, own, others.T, alpha=-2, out=distances)  # |x - y|² but for |x|²
        torch.maximum(greatest, distances.amax(1), out=greatest)
        met = least[:, : len(others)]
        torch.minimum(met, distances, out=met)
    return least, (greatest + squares[rows]).clamp_min(0)


def _nearest_among(
    embeddings: Tensor, squares: Tensor, rows: Tensor, among: Tensor, k: int
) -> Tensor:
    """The k nearest others of each row among some of its own, (rows, some); those past the last
    are none."""
    none = (among >= len(embeddings)) | (among == rows[:, None])
    among = among.clamp_max(len(embeddings) - 1)
    candidates = embeddings.index_select(0, among.flatten()).view(*among.shape, -1)
    products = torch.bmm(embeddings[rows][:, None], candidates.mT).squeeze(1)
    distances = (squares[among] - 2 * products).masked_fill_(none, torch.inf)
    return among.gather(1, distances.topk(k, largest=False).indices)


def memberships(embeddings: Tensor, found: Neighbours, k2: int) -> Sparse:
    """V: of each image a distribution over those near it, sparse (n, n).

    V_i(j) = exp(-D_ij) / Σ on R*(i), with D_ij the squared distance as a part of the largest from
    i; then averaged over the k2 nearest of i, itself among them, or all where k2 is more.
    """
    near = reciprocal_sets(found.nearest)
    parts = _distances(embeddings, near) / _per_entry(near, found.farthest)
    weights = sparse.csr_array((np.exp(-parts), near.indices, near.indptr), shape=near.shape)
    own = sparse.diags_array(1 / weights.sum(1)) @ weights
    nearest = found.nearest[:, :k2]
    return (_indicators(nearest) @ own / nearest.shape[1]).tocsr()


def reciprocal_sets(nearest: Tensor) -> Sparse:
    """R*(i) as rows of ones, from the k1 nearest of each: its k1-reciprocal neighbours, and the
    ½k1-reciprocal ones of each of these if more than two thirds of them are among the first."""
    k1 = nearest.shape[1] - 1
    whole = _mutual(_indicators(nearest))
    half = _mutual(_indicators(nearest[:, : round(k1 / 2) + 1]))
    shared = (whole @ half.T).multiply(whole).tocsr()  # |R(i) ∩ R½(c)| for c in R(i)
    shared.data = (3 * shared.data > 2 * half.sum(1)[shared.indices]).astype(np.int32)
    joined = (whole + shared @ half).tocsr()
    joined.eliminate_zeros()
    joined.data = np.ones_like(joined.data)
    return joined


def _indicators(rows: Tensor) -> Sparse:
    """Ones at the columns (n, k) of each row."""
    n, k = rows.shape
    ones, starts = np.ones(n * k, np.int32), np.arange(0, n * k + 1, k)
    return sparse.csr_array((ones, rows.flatten().numpy(), starts), shape=(n, n))


def _mutual(near: Sparse) -> Sparse:
    return near.multiply(near.T).tocsr()


def _per_entry(of: Sparse, values: Tensor) -> Floats:
    """Each row's value at each of its entries."""
    repeated: Floats = np.repeat(values.double().numpy(), np.diff(of.indptr))
    return np.maximum(repeated, np.finfo(np.float64).tiny)


def _distances(embeddings: Tensor, pairs: Sparse) -> Floats:
    """The squared distance of row and column of every entry."""
    rows = torch.from_numpy(np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr)))
    columns = torch.from_numpy(pairs.indices)
    at_once = max(1, DISTANCES_AT_ONCE // embeddings.shape[1])
    parts = [
        (embeddings[some] - embeddings[others]).square().sum(1)
        for some, others in zip(*(torch.split(x, at_once) for x in (rows, columns)), strict=True)
    ]
    return torch.cat(parts).double().numpy()


class Pairs(NamedTuple):
    """Some pairs i < j of images, and their Jaccard distances."""

    rows: Integers
    columns: Integers
    distances: Floats

    def take(self, chosen: npt.NDArray[Any]) -> Pairs:
        return Pairs(*(part[chosen] for part in self))


def overlapping_pairs(of: Sparse) -> Iterator[Pairs]:
    """In blocks, all pairs i < j with J_ij = 1 - m/(2 - m) below 1, m = Σ_l min(V_il, V_jl).

    An entry V_il meets those below it in its column alone: all other minima are 0.
    """
    n, columns = of.shape[0], of.tocsc()
    columns.sort_indices()
    places = np.arange(columns.nnz)
    below = np.repeat(columns.indptr[1:], np.diff(columns.indptr)) - places - 1
    by_row = sparse.csc_array((places, columns.indices, columns.indptr), shape=of.shape).tocsr()
    met = np.concatenate(([0], np.cumsum(below[by_row.data])))[by_row.indptr]  # before each row
    first = 0
    while first < n:
        last = max(first + 1, int(np.searchsorted(met, met[first] + PAIRS_AT_ONCE, "right")) - 1)
        entries = by_row.data[by_row.indptr[first] : by_row.indptr[last]]
        upper = np.repeat(entries, below[entries])
        before = np.cumsum(below[entries]) - below[entries]
        lower = upper + 1 + np.arange(len(upper)) - np.repeat(before, below[entries])
        least = np.minimum(columns.data[upper], columns.data[lower])
        where = columns.indices[upper] - first, columns.indices[lower]
        sums = sparse.coo_array((least, where), shape=(last - first, n)).tocsr()
        sums.sum_duplicates()
        rows = first + np.repeat(np.arange(last - first), np.diff(sums.indptr))
        distances = 1 - sums.data / (2 - sums.data)
        distances[distances < NOTHING] = 0
        yield Pairs(rows, sums.indices.astype(np.int64), distances)
        first = last


def nearest_pairs(of: Sparse, fraction: float) -> tuple[float, Pairs]:
    """ε, the mean of the smallest `fraction` of the distances above 0 of all pairs, and the pairs
    not farther apart."""
    n = of.shape[0]
    kept = Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    most = max(1, round(fraction * n * (n - 1) / 2))
    alike: list[Pairs] = []  # at distance 0, which ε does not count
    for block in overlapping_pairs(of):
        alike.append(block.take(block.distances == 0))
        kept = _smallest(_joined([kept, block.take(block.distances > 0)]), most)
    zeros = _joined(alike)
    wanted = max(1, round(fraction * (n * (n - 1) / 2 - len(zeros.rows))))
    kept = _smallest(kept, wanted)
    # pairs that share nothing are at distance 1
    epsilon = float(kept.distances.sum() + wanted - len(kept.distances)) / wanted
    return epsilon, _joined([zeros, kept.take(kept.distances <= epsilon)])


def _joined(parts: list[Pairs]) -> Pairs:
    return Pairs(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _smallest(pairs: Pairs, most: int) -> Pairs:
    if len(pairs.distances) <= most:
        return pairs
    return pairs.take(np.argpartition(pairs.distances, most - 1)[:most])


def graph_of(pairs: Pairs, n: int) -> Sparse:
    """As scikit-learn takes distances: sparse, symmetric, zeros among them stored."""
    rows = np.concatenate((pairs.rows, pairs.columns))
    columns = np.concatenate((pairs.columns, pairs.rows))
    distances = np.concatenate((pairs.distances, pairs.distances))
    return sparse.csr_array((distances, (rows, columns)), shape=(n, n))
