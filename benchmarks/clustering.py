"""What finding clusters takes: CACTUs's partitions, and UFLST's rounds as images become more.

    python benchmarks/clustering.py [--threads 1] [--largest 100000] [--most 1000000] [--only UFLST]

Embeddings are drawn about centres, for time and memory depend on how they lie: 256 numbers for
k-means, 64, as Conv4's have, for reciprocal neighbours. Each row is measured in a process of its
own: CPU seconds, and what it adds to the memory of the process at its peak (Linux only), the
embeddings themselves apart. Beside it stands what all n² distances would take, in 32 bits.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path

import torch
from sklearn.cluster import KMeans, MiniBatchKMeans
from torch import Tensor

from pseudoshot.class_sources.clusters import Clusters, ClustersSettings
from pseudoshot.class_sources.partitions import BATCH, whitened
from pseudoshot.class_sources.reciprocal import neighbours
from pseudoshot.class_sources.reciprocal_clusters import (
    ReciprocalClusters,
    ReciprocalClustersSettings,
)

IMAGES, CLUSTERS, PARTITIONS = 38_400, 500, 50


def embeddings(n: int, d: int, centres: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    centre = torch.randn(centres, d, generator=generator)
    rows = centre[torch.randint(centres, (n,), generator=generator)]
    return rows.add_(torch.randn(n, d, generator=generator))


def cactus(n: int, partitions: int = PARTITIONS, d: int = 256) -> str:
    settings = ClustersSettings(from_run="synthetic", partitions=partitions, clusters=CLUSTERS)
    source = Clusters(settings, n, None, torch.Generator().manual_seed(0))
    z = embeddings(n, d, CLUSTERS)
    return measured(lambda: source.begin_epoch(lambda run=None: z, 40, 6))


def one_partition(n: int) -> str:
    return cactus(n, partitions=1, d=64)


def uflst(n: int) -> str:
    source = ReciprocalClusters(
        ReciprocalClustersSettings(), n, None, torch.Generator().manual_seed(0)
    )
    z = embeddings(n, 64, n // 40)
    told = measured(lambda: source.begin_epoch(lambda run=None: z, 60, 6))
    return f"{told}; {source.scalars['clusters']} clusters"


def nearest(n: int) -> str:
    z = embeddings(n, 64, n // 40)
    return measured(lambda: neighbours(z, 20))


def all_at_once(n: int) -> str:
    return k_means(n, KMeans(CLUSTERS, n_init=1, random_state=0))


def in_parts(n: int) -> str:
    return k_means(n, MiniBatchKMeans(CLUSTERS, batch_size=BATCH, n_init=1, random_state=0))


def k_means(n: int, kind: KMeans | MiniBatchKMeans) -> str:
    z = whitened(embeddings(n, 256, CLUSTERS), 256)
    z *= torch.rand(256, generator=torch.Generator().manual_seed(0))  # as all partitions but one
    return f"{measured(lambda: kind.fit(z.numpy()))}; sum of squares {kind.inertia_:.0f}"


def measured(work: Callable[[], object]) -> str:
    before, start = kilobytes("VmRSS"), time.process_time()
    work()
    seconds = time.process_time() - start
    return f"{seconds:.1f} s, {(kilobytes('VmHWM') - before) / 2**20:.2f} GB"


def kilobytes(field: str) -> int:
    """Of this process: VmRSS now, VmHWM at its peak."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0])


def alone(work: Callable[[int], str], n: int, threads: int) -> str:
    """In a process of its own."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1, torch.set_num_threads, (threads,)) as pool:
        return pool.apply(work, (n,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--largest", type=int, default=100_000, help="images, where time is n²")
    parser.add_argument("--most", type=int, default=1_000_000, help="images, where it is not")
    parser.add_argument("--only", default="", help="rows whose name holds this")
    arguments = parser.parse_args()
    rows: list[tuple[str, Callable[[int], str], int]] = [
        (f"k-means, {CLUSTERS} clusters, all images in each step", all_at_once, IMAGES),
        (f"k-means, {CLUSTERS} clusters, {BATCH:,} images in each step", in_parts, IMAGES),
        (f"CACTUs, {PARTITIONS} partitions of {CLUSTERS} clusters", cactus, IMAGES),
        ("UFLST, one round", uflst, 10_000),
        ("UFLST, one round", uflst, IMAGES),
        ("UFLST, one round", uflst, arguments.largest),
        ("UFLST, neighbours alone", nearest, IMAGES),
        ("UFLST, neighbours alone", nearest, arguments.largest),
        ("CACTUs, one partition of 64 numbers", one_partition, arguments.most),
    ]
    for name, work, n in rows:
        if arguments.only not in name:
            continue
        told = alone(work, n, arguments.threads)
        print(f"{name}, {n:,} images: {told} (n²: {4 * n * n / 2**30:.1f} GB)", flush=True)


if __name__ == "__main__":
    main()
