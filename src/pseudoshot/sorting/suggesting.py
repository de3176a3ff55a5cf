"""Which images to label first, so that a few labels teach the most.

Diverse and typical: the embeddings' directions are grouped by k-means into as many groups as there
are labels to give, and of each group the image nearest its centre is chosen.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin

from pseudoshot.embedders import Embedder, load
from pseudoshot.sorting.estimator import MOST_SEEDS
from pseudoshot.sorting.inputs import Floats, images_of_folder
from pseudoshot.tools.errors import PseudoshotError

MOST_GROUPED = 20_000  # images that k-means looks at: of a larger set, a random part
_TINY = 1e-12


def suggest(
    model: Embedder | str | Path,
    images: str | Path,
    count: int = 10,
    seed: int = 0,
    reading: str | None = None,
) -> list[str]:
    """The files of a folder to label first, the largest group's first.

    Parameters
    ----------
    model
        An Embedder, or whatever `load` takes: a run folder, a name, a file.
    images
        The folder of unlabelled images.
    count
        How many images you are going to label.
    seed
        Of the grouping.
    reading
        A name of READINGS; by default what the model is made for. Not with an Embedder, which has
        its own.

    Examples
    --------
    >>> suggest("conv4-cifar-fs", "photos", count=5)  # doctest: +SKIP
    """
    embedder = load(model, reading) if isinstance(model, str | Path) else model
    image_set = images_of_folder(Path(images), embedder.card.size)
    embedder = embedder.centred_on(image_set)
    rows = suggest_rows(embedder.embed(image_set).double().numpy(), count, seed)
    return [image_set.files[row] for row in rows]


def suggest_rows(embeddings: Floats, count: int, seed: int = 0) -> list[int]:
    """Rows of (n, d) to label first; fewer than `count` where there are no more, or none different.

    >>> suggest_rows(np.array([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2], [0.0, 1.0]]), 2)
    [1, 3]
    """
    if count < 1:
        raise PseudoshotError(f"the number of images to label must be at least 1, not {count}")
    if not 0 <= seed < MOST_SEEDS:
        raise PseudoshotError(f"a seed is at least 0 and below {MOST_SEEDS}, not {seed}")
    norms = np.linalg.norm(embeddings, axis=1, keepdims=True)
    directions = embeddings / np.maximum(norms, _TINY)
    if len(directions) <= count:
        return list(range(len(directions)))
    random = np.random.default_rng(seed)
    looked_at: npt.NDArray[np.int64] = np.arange(len(directions))
    most = max(MOST_GROUPED, count)
    if len(directions) > most:
        looked_at = np.sort(random.choice(len(directions), most, replace=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of images that are the same
        groups = KMeans(count, n_init=4, random_state=seed).fit(directions[looked_at])
    nearest = pairwise_distances_argmin(groups.cluster_centers_, directions)
    largest_first = np.argsort(-np.bincount(groups.labels_, minlength=count), kind="stable")
    return list(dict.fromkeys(nearest[largest_first].tolist()))  # two groups may share one
