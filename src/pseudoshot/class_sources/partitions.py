"""Partitions of embeddings by k-means, each in another scaling (Hsu et al. 2018)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits
from torch import Tensor

from pseudoshot.tools.errors import PseudoshotError

# Above, k-means sees a part of the images in each step: of 38,400 images of 256 numbers, Lloyd's
# takes two to four times as long for a sum of squares that is 2 % less (benchmarks/clustering.py).
MOST_AT_ONCE = 10_000
BATCH = 2048
LEAST_VARIANCE = 1e-6  # of the largest: what hardly varies is noise, and whitening enlarges it


def whitened(embeddings: Tensor, most: int) -> Tensor:
    """At most so many principal components of embeddings (n, d), each of variance 1; then every row
    of length 1.

    >>> rows = whitened(torch.randn(50, 8) * torch.arange(1.0, 9.0), most=4)
    >>> rows.shape, rows.norm(dim=1).allclose(torch.ones(50))
    (torch.Size([50, 4]), True)
    """
    if not embeddings.var(0).any():
        raise PseudoshotError(
            "all images have the same embedding, which cannot be clustered: choose another run"
        )
    pca = PCA(min(most, *embeddings.shape), whiten=True, svd_solver="covariance_eigh")
    with threadpool_limits(1, "blas"):  # the same bits whatever the number of threads
        components = torch.from_numpy(pca.fit_transform(embeddings.numpy()))
    varies = pca.explained_variance_ > LEAST_VARIANCE * pca.explained_variance_[0]
    return F.normalize(components[:, torch.from_numpy(varies)], dim=1)


def scalings(count: int, dimensions: int, generator: torch.Generator) -> Tensor:
    """Of each partition and dimension, drawn from U(0, 1): (P, d)."""
    return torch.rand(count, dimensions, generator=generator)


def partitions(
    embeddings: Tensor, scales: Tensor, clusters: int, generator: torch.Generator
) -> Tensor:
    """Of each scaling (P, d) of embeddings (n, d), which of the clusters every row is in: (P, n).

    Each partition is found by one thread, several at a time: k-means sums what its own threads find
    in whichever order they end.
    """
    seeds = torch.randint(2**31, (len(scales),), generator=generator).tolist()

    def one(scale: Tensor, seed: int) -> npt.NDArray[np.int32]:
        with threadpool_limits(1, "openmp"):
            return _k_means(embeddings * scale, clusters, seed)

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(torch.get_num_threads()) as pool:
        return torch.from_numpy(np.stack(list(pool.map(one, scales, seeds))))


def _k_means(rows: Tensor, clusters: int, seed: int) -> npt.NDArray[np.int32]:
    of: npt.NDArray[np.int32]
    if len(rows) > MOST_AT_ONCE:
        k_means = MiniBatchKMeans(clusters, batch_size=BATCH, n_init=1, random_state=seed)
    else:
        k_means = KMeans(clusters, n_init=1, random_state=seed)
    of = k_means.fit_predict(rows.numpy())
    return of
