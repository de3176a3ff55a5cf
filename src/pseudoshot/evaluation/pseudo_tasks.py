"""Pseudo tasks, whose classes are images and whose members are their views: no labels needed."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from pseudoshot.data import ImageSet
from pseudoshot.embedders import Embedder
from pseudoshot.tasks.gram import task_logits
from pseudoshot.tasks.similarity import Similarity
from pseudoshot.tasks.tasks import resample_tasks
from pseudoshot.views import Policy
from pseudoshot.views.draw import draw_views

_IMAGES_A_BATCH = 64


@torch.inference_mode()
def pseudo_accuracies(
    embedder: Embedder,
    images: ImageSet,
    policy: Policy,
    similarity: Similarity,
    *,
    shot: int = 1,
    query: int = 5,
    tasks: int = 20,
    seed: int = 0,
) -> Tensor:
    """Of each image, (n,), the percent of its queries that are right when every image is a class of
    its own, over all images at once."""
    generator = torch.Generator().manual_seed(seed)
    C, V = len(images), shot + query
    embeddings = torch.cat(
        [
            embedder.embed_views(draw_views(images, rows.expand(-1, V), policy, generator))
            for rows in torch.split(torch.arange(C)[:, None], _IMAGES_A_BATCH)
        ]
    )
    split = resample_tasks(C, C, shot, query, tasks, generator)
    logits = task_logits(embeddings @ embeddings.T, split, similarity)
    right = logits.argmax(-1) == torch.arange(C)[None, :, None]
    return 100 * right.double().mean((0, 2))


def pseudo_accuracy(
    embedder: Embedder, images: ImageSet, policy: Policy, similarity: Similarity
) -> float:
    """The mean of `pseudo_accuracies`."""
    return float(pseudo_accuracies(embedder, images, policy, similarity).mean())


def view_set(images: ImageSet, policy: Policy, views: int, count: int, seed: int) -> ImageSet:
    """Views of up to `count` images as a labelled set of their own: a class is an image.

    Few-shot tasks of it are the paper's pseudo tasks, measured by the same protocol as real ones.
    """
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(images), generator=generator)[:count].sort().values
    pixels = np.empty((len(rows), views, *images.images.shape[1:]), np.uint8)
    for start in range(0, len(rows), _IMAGES_A_BATCH):
        some = rows[start : start + _IMAGES_A_BATCH]
        drawn = draw_views(images, some[:, None].expand(-1, views), policy, generator)
        pixels[start : start + len(some)] = drawn.mul(255).round().movedim(2, -1).byte().numpy()
    return ImageSet(
        images.name,
        pixels.reshape(-1, *images.images.shape[1:]),
        labels=np.repeat(np.arange(len(rows)), views),
        classes=tuple(f"image {row}" for row in rows.tolist()),
        note=", ".join(
            filter(None, (images.note, "pseudo tasks: a class is the views of an image"))
        ),
    )
