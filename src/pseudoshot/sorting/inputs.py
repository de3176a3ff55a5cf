"""Images as a person has them to embeddings."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from pseudoshot.data import ImageSet
from pseudoshot.data.loading import images_of_folder
from pseudoshot.embedders import Embedder
from pseudoshot.embedders.inputs import Images, to_image_set
from pseudoshot.evaluation.pseudo_tasks import view_set
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.views import get_policy

__all__ = ["Floats", "Images", "embeddings_of", "images_of_folder", "to_image_set"]

Floats: TypeAlias = npt.NDArray[np.float64]


def embeddings_of(embedder: Embedder, images: Images, views: int = 0, seed: int = 0) -> Floats:
    """(n, d); a 2-D array of floats is taken for embeddings already made.

    With `views`, an image's embedding is the mean of its own and of as many random views'.
    """
    if isinstance(images, np.ndarray) and images.ndim == 2 and images.dtype.kind == "f":
        if images.shape[1] != embedder.dim:
            raise PseudoshotError(
                f"embeddings of this model have {embedder.dim} numbers, not {images.shape[1]}"
            )
        if not np.isfinite(images).all():
            raise PseudoshotError("embeddings must be finite numbers")
        return np.asarray(images, np.float64)
    image_set = to_image_set(images, embedder.card.size)
    total = embedder.embed(image_set).double()
    if views:
        total = (total + views * _mean_of_views(embedder, image_set, views, seed)) / (1 + views)
    return total.numpy()


def _mean_of_views(embedder: Embedder, images: ImageSet, views: int, seed: int) -> torch.Tensor:
    policy = get_policy("amdim" if embedder.card.channels == 3 else "strokes")
    copies = embedder.embed(view_set(images, policy, views, len(images), seed))
    return copies.double().view(len(images), views, -1).mean(1)
