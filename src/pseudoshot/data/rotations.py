"""Rotated copies as extra classes, as several Omniglot protocols have it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pseudoshot.data.image_set import ImageSet

NOTE = "rotations as extra classes"


def add_rotations(image_set: ImageSet) -> ImageSet:
    """Four times the images and classes: each class upright and turned by 90, 180, 270 degrees.

    >>> drawing = np.eye(2, dtype=np.uint8).reshape(1, 2, 2, 1)
    >>> add_rotations(ImageSet("toy", drawing, np.array([0]), ("x",))).classes
    ('x', 'x/rot090', 'x/rot180', 'x/rot270')
    """
    turns = range(4)
    images = [np.rot90(image_set.images[:], turn, axes=(1, 2)) for turn in turns]
    labels = image_set.labels
    count = len(image_set.classes)
    suffixes = ("", *(f"/rot{90 * turn:03d}" for turn in turns[1:]))
    return replace(
        image_set,
        images=np.concatenate(images),
        labels=None if labels is None else np.concatenate([labels + count * t for t in turns]),
        classes=tuple(name + suffix for suffix in suffixes for name in image_set.classes),
        files=image_set.files * 4,
        note=NOTE,
    )
