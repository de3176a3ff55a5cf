"""Linear evaluation, as of self-supervised methods: a logistic regression on frozen embeddings.

The set is cut into ten folds with as many images of each class in every one. Ten times the
regression is fitted to nine of them and measured on the other; the weight of its L2 penalty is
chosen among ten from 1e-4 to 1e4, by cross-validation in five parts within the nine.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from pseudoshot.data import ImageSet
from pseudoshot.evaluation.few_shot import Accuracy, Evaluation, mean_and_interval
from pseudoshot.tasks.similarity import Similarity
from pseudoshot.tools.console import progress_bar
from pseudoshot.tools.errors import PseudoshotError

FOLDS, INNER_FOLDS, WEIGHTS = 10, 5, 10
NAME = "linear"
NOTE = "linear evaluation: each fold of all images told by the others"


def check_linear(images: ImageSet) -> None:
    """Refuse a set of too few images, before the work of embedding it."""
    counts = images.class_counts()
    smallest = int(counts.argmin())
    if len(counts) < 2 or counts[smallest] < FOLDS:
        raise PseudoshotError(
            f"a linear evaluation needs two classes or more of {FOLDS} images or more: class "
            f"'{images.classes[smallest]}' of '{images.name}' has {counts[smallest]}"
        )


def evaluate_linear(
    embeddings: Tensor,
    images: ImageSet,
    similarity: Similarity,
    *,
    seed: int = 0,
    reading: str = "plain",
    pretrained_labels: str = "",
) -> Evaluation:
    """The accuracy of each fold, as a task of all classes with all other images as its shots."""
    check_linear(images)
    assert images.labels is not None
    scores = fold_accuracies(embeddings.double().numpy(), images.labels, seed)
    fewest = int(images.class_counts().min())
    mean, interval = mean_and_interval(torch.from_numpy(scores))
    return Evaluation(
        data=images.name,
        note=", ".join(filter(None, (images.note, NOTE))),
        way=len(images.classes),
        query=fewest // FOLDS,
        tasks=FOLDS,
        seed=seed,
        similarity=similarity,
        classifier=NAME,
        setting="inductive",
        results=(Accuracy(fewest - fewest // FOLDS, mean, interval),),
        reading=reading,
        pretrained_labels=pretrained_labels,
        fingerprint=images.fingerprint(),
        labelling=images.labelling(),
        scores=scores.astype(np.float32)[None],
    )


def fold_accuracies(
    embeddings: npt.NDArray[np.float64], labels: npt.NDArray[np.int64], seed: int
) -> npt.NDArray[np.float64]:
    """Percent right of each fold, (10,).

    Each is fitted by one thread, several at a time: so small a regression gains nothing by more,
    and where another program has a core, they would wait for each other at every step.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed % 2**32)
    scores = []
    with (
        warnings.catch_warnings(),
        threadpool_limits(1, "blas"),
        progress_bar(of="folds") as bar,
        ThreadPoolExecutor(torch.get_num_threads()) as pool,
    ):
        # the weakest penalties need more steps than they are worth, and are not chosen
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        task = bar.add_task("linear evaluation", total=FOLDS)
        fitted = partial(_fold_accuracy, embeddings, labels)
        for score in pool.map(fitted, folds.split(embeddings, labels)):
            scores.append(score)
            bar.advance(task)
    return np.array(scores)


def _fold_accuracy(
    embeddings: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int64],
    rows: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],  # to fit, and to measure
) -> float:
    from sklearn.linear_model import LogisticRegressionCV

    train, test = rows
    model = LogisticRegressionCV(Cs=WEIGHTS, cv=INNER_FOLDS, scoring="accuracy")
    with threadpool_limits(1, "openmp"):
        model.fit(embeddings[train], labels[train])
    return float(100 * model.score(embeddings[test], labels[test]))
