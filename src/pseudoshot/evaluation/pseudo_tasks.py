"""A score that needs no labels: accuracy on pseudo tasks, whose classes are images and whose
members are their views."""

from __future__ import annotations

import torch

from pseudoshot.data import ImageSet
from pseudoshot.episode import task_logits
from pseudoshot.model import Embedder
from pseudoshot.similarity import Similarity
from pseudoshot.tasks import resample_tasks
from pseudoshot.views import Policy
from pseudoshot.views.draw import draw_views


@torch.inference_mode()
def pseudo_accuracy(
    embedder: Embedder,
    images: ImageSet,
    policy: Policy,
    similarity: Similarity,
    *,
    shot: int = 1,
    query: int = 5,
    tasks: int = 20,
    seed: int = 0,
) -> float:
    """Percent of queries right when every image is a class of its own, over all images at once."""
    generator = torch.Generator().manual_seed(seed)
    C, V = len(images), shot + query
    embeddings = torch.cat(
        [
            embedder.embed_views(draw_views(images, rows.expand(-1, V), policy, generator))
            for rows in torch.split(torch.arange(C)[:, None], 64)
        ]
    )
    split = resample_tasks(C, C, shot, query, tasks, generator)
    logits = task_logits(embeddings @ embeddings.T, split, similarity)
    right = logits.argmax(-1) == torch.arange(C)[None, :, None]
    return 100 * float(right.double().mean())
