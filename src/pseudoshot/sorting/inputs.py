"""Images as a person has them to embeddings."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from pseudoshot.data.loading import images_of_folder
from pseudoshot.embedders import Embedder
from pseudoshot.embedders.inputs import Images, to_image_set
from pseudoshot.tools.errors import PseudoshotError

__all__ = ["Floats", "Images", "embeddings_of", "images_of_folder", "to_image_set"]

Floats: TypeAlias = npt.NDArray[np.float64]


def embeddings_of(embedder: Embedder, images: Images) -> Floats:
    """(n, d); a 2-D array of floats is taken for embeddings already made."""
    if are_embeddings(images):
        if images.shape[1] != embedder.dim:
            raise PseudoshotError(
                f"embeddings of this model have {embedder.dim} numbers, not {images.shape[1]}"
            )
        if not np.isfinite(images).all():
            raise PseudoshotError("embeddings must be finite numbers")
        return np.asarray(images, np.float64)
    return embedder.embed(to_image_set(images, embedder.card.size)).double().numpy()


def are_embeddings(images: Images) -> TypeGuard[npt.NDArray[np.floating[Any]]]:
    return isinstance(images, np.ndarray) and images.ndim == 2 and images.dtype.kind == "f"
