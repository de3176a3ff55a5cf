"""Images as a person has them, files, Pillow images, arrays or an ImageSet, to embeddings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
from PIL import Image

from pseudoshot.data import ImageSet
from pseudoshot.data.decode import decode, to_bytes, to_square
from pseudoshot.data.folder import load_folder
from pseudoshot.data.loading import expanded
from pseudoshot.embedders import Embedder
from pseudoshot.tools.errors import PseudoshotError

Floats: TypeAlias = npt.NDArray[np.float64]
AnImage: TypeAlias = str | os.PathLike[str] | Image.Image | npt.NDArray[np.generic]
Images: TypeAlias = ImageSet | npt.NDArray[np.generic] | str | os.PathLike[str] | Iterable[AnImage]


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


def to_image_set(images: Images, size: int) -> ImageSet:
    """An ImageSet as it is; a folder as `load_data` reads it; else each image made square."""
    if isinstance(images, ImageSet):
        return images
    if isinstance(images, Image.Image):
        raise PseudoshotError("images are expected, not one image: put it in a list")
    if isinstance(images, str | os.PathLike):
        return images_of_folder(Path(images), size)
    of_files = isinstance(images, np.ndarray) and images.dtype.kind in "OU"
    if isinstance(images, np.ndarray) and not of_files and images.ndim not in (3, 4):
        raise PseudoshotError(
            f"an array of images has the shape (n, h, w) or (n, h, w, channels), not {images.shape}"
        )
    if isinstance(images, np.ndarray) and not of_files and images.dtype != np.uint8:
        images = to_bytes(images)  # all of them by one range
    pixels = [_pixels(image, position, size) for position, image in enumerate(images)]
    if not pixels:
        raise PseudoshotError("there are no images in the list")
    return ImageSet("images", np.stack(pixels))


def images_of_folder(folder: Path, size: int, *, stay_inside: bool = False) -> ImageSet:
    """A folder's images and nothing else: what is called like a named set is a folder here."""
    folder = expanded(folder)
    if not folder.is_dir():
        raise PseudoshotError(f"'{folder}' is not a folder: give a folder of images")
    return load_folder(folder, size, stay_inside=stay_inside)


def _pixels(image: AnImage, position: int, size: int) -> npt.NDArray[np.uint8]:
    try:
        if isinstance(image, str | os.PathLike):
            return decode(Path(image), size)
        if isinstance(image, np.ndarray):
            return to_square(_from_array(image), size)
        if isinstance(image, Image.Image):
            return to_square(image, size)
    except PseudoshotError as error:
        name = f"'{image}'" if isinstance(image, str | os.PathLike) else f"image {position}"
        raise PseudoshotError(f"{name} cannot be read: {error}") from error
    raise PseudoshotError(
        f"image {position} is a {type(image).__name__}: give paths, Pillow images or arrays"
    )


def _from_array(image: npt.NDArray[np.generic]) -> Image.Image:
    """(h, w) or (h, w, 1, 3 or 4) of bytes, or of numbers in a range that can be told."""
    values = image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image
    coloured = values.ndim == 3 and values.shape[2] in (3, 4)
    if values.size == 0 or not (values.ndim == 2 or coloured):
        raise PseudoshotError(f"its shape is {image.shape}, not (h, w) or (h, w, 1, 3 or 4)")
    if values.dtype.kind not in "uif":
        raise PseudoshotError(f"it holds {values.dtype}, not numbers of pixels")
    return Image.fromarray(values if values.dtype == np.uint8 else to_bytes(values))
