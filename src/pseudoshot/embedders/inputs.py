"""Images as a person has them, files, Pillow images, arrays or tensors, to an ImageSet."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image
from torch import Tensor

from pseudoshot.data import ImageSet
from pseudoshot.data.decode import decode, to_bytes, to_square
from pseudoshot.data.loading import images_of_folder
from pseudoshot.tools.errors import PseudoshotError

Array: TypeAlias = npt.NDArray[np.generic]
AnImage: TypeAlias = str | os.PathLike[str] | Image.Image | Array | Tensor
Images: TypeAlias = ImageSet | Array | Tensor | str | os.PathLike[str] | Iterable[AnImage]
_EXPECTED = "give bytes, or floats in [0, 1]"


def to_image_set(images: Images, size: int, *, labelled: bool = False) -> ImageSet:
    """An ImageSet as it is; a folder as `load_data` reads it, by its class folders where labels are
    needed; an array as bytes of its own size; of a list, the central square of each image."""
    if isinstance(images, ImageSet):
        return images
    if isinstance(images, Image.Image):
        raise PseudoshotError("images are expected, not one image: put it in a list")
    if isinstance(images, str | os.PathLike):
        return images_of_folder(Path(images), size, labelled=labelled)
    if isinstance(images, Tensor):
        images = _channels_last(images, 4)
    if isinstance(images, np.ndarray) and images.dtype.kind not in "OU":
        images = _bytes_of_all(images)
        if images.shape[3] != 4 and len(images):
            return ImageSet("images", images)
    pixels = [_pixels(image, position, size) for position, image in enumerate(images)]
    if not pixels:
        raise PseudoshotError("there are no images in the list")
    return ImageSet("images", np.stack(pixels))


def _bytes_of_all(images: Array) -> npt.NDArray[np.uint8]:
    """(n, h, w, c) of bytes; all numbers are taken to be in one range."""
    one = images.ndim == 3 and images.shape[2] in (3, 4)
    if images.ndim not in (3, 4) or one:
        hint = ": put one image in a list" if one else ""
        raise PseudoshotError(
            f"an array of images has the shape (n, h, w) or (n, h, w, channels), not "
            f"{images.shape}{hint}"
        )
    stacked = images if images.ndim == 4 else images[..., None]
    if stacked.shape[3] not in (1, 3, 4) or 0 in stacked.shape[1:]:
        raise PseudoshotError(
            f"an array of images has 1, 3 or 4 channels, the last of its axes, and not the shape "
            f"{images.shape}"
        )
    try:
        return as_bytes(stacked)
    except PseudoshotError as error:
        raise PseudoshotError(f"the array of images cannot be read: {error}") from error


def _pixels(image: AnImage, position: int, size: int) -> npt.NDArray[np.uint8]:
    try:
        if isinstance(image, str | os.PathLike):
            return decode(Path(image), size)
        if isinstance(image, Tensor):
            image = _channels_last(image, 3)
        if isinstance(image, np.ndarray):
            return to_square(_from_array(image), size)
        if isinstance(image, Image.Image):
            return to_square(image, size)
    except PseudoshotError as error:
        name = f"'{image}'" if isinstance(image, str | os.PathLike) else f"image {position}"
        raise PseudoshotError(f"{name} cannot be read: {error}") from error
    raise PseudoshotError(
        f"image {position} is a {type(image).__name__}: give paths, Pillow images, arrays or "
        f"tensors"
    )


def _from_array(image: Array) -> Image.Image:
    """(h, w) or (h, w, 1, 3 or 4) of bytes, or of numbers in a range that can be told."""
    values = image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image
    coloured = values.ndim == 3 and values.shape[2] in (3, 4)
    if values.size == 0 or not (values.ndim == 2 or coloured):
        raise PseudoshotError(f"its shape is {image.shape}, not (h, w) or (h, w, 1, 3 or 4)")
    return Image.fromarray(as_bytes(values))


def as_bytes(values: Array) -> npt.NDArray[np.uint8]:
    """Bytes as they are; floats in [0, 1]; whole numbers up to 255, or else up to 65,535."""
    if values.dtype == np.uint8:
        return values.view(np.ndarray).astype(np.uint8, copy=False)
    if values.dtype.kind not in "uif":
        raise PseudoshotError(f"it holds {values.dtype}, not numbers of pixels: {_EXPECTED}")
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise PseudoshotError(f"it holds numbers that are not finite: {_EXPECTED}")
    whole = values.dtype.kind != "f" or not np.any(values % 1)
    if low < 0 or high > (65535 if whole else 1):
        raise PseudoshotError(f"its {values.dtype} go from {low:g} to {high:g}: {_EXPECTED}")
    return to_bytes(values)


def _channels_last(images: Tensor, axes: int) -> Array:
    """(…, c, h, w), as torch has images, with the channels at the end."""
    if images.ndim != axes or images.shape[-3] not in (1, 3, 4):
        shape = "(n, channels, h, w)" if axes == 4 else "(channels, h, w)"
        raise PseudoshotError(
            f"a tensor of images has the shape {shape}, with 1, 3 or 4 channels, not "
            f"{tuple(images.shape)}"
        )
    values = images.detach().cpu()
    array: Array = (values if values.dtype.is_floating_point is False else values.float()).numpy()
    return np.ascontiguousarray(np.moveaxis(array, -3, -1))
