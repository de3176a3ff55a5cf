"""Classifiers: how the queries of a task, or the images of a person, are told apart by a few
examples. One registry serves both, so that what is measured is what a person gets.

One file each; a new one is added to CLASSIFIERS, no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic import ValidationError

from pseudoshot.backbones import Backbone
from pseudoshot.classifiers.auto import Auto
from pseudoshot.classifiers.base import (
    Classifier,
    ClassifierSettings,
    Fitted,
    HeadClassifier,
    Linear,
    Setting,
    Support,
)
from pseudoshot.classifiers.feat import SupportAdapted
from pseudoshot.classifiers.finetune import Finetune
from pseudoshot.classifiers.held_out import FOLDS, folds, held_out_scores
from pseudoshot.classifiers.logistic import Logistic
from pseudoshot.classifiers.opta import OpTA
from pseudoshot.classifiers.prototransfer import ProtoTransfer
from pseudoshot.classifiers.prototype import Prototype
from pseudoshot.classifiers.ridge import Ridge
from pseudoshot.classifiers.semi_supervised_em import SemiSupervisedEM
from pseudoshot.classifiers.svm import SVM
from pseudoshot.classifiers.with_head import WithHead
from pseudoshot.heads import Head
from pseudoshot.tasks.similarity import Similarity
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.registry import Registry

CLASSIFIERS: Registry[Classifier] = Registry(
    "classifier",
    {
        "auto": Auto,
        "prototype": Prototype,
        "logistic": Logistic,
        "ridge": Ridge,
        "svm": SVM,
        "prototransfer": ProtoTransfer,
        "finetune": Finetune,
        "opta": OpTA,
        "feat": SupportAdapted,
        "with-head": WithHead,
        "semi-supervised-em": SemiSupervisedEM,
    },
)

Chosen: TypeAlias = str | Mapping[str, Any] | ClassifierSettings


def classifier_settings(chosen: Chosen) -> ClassifierSettings:
    """From a name, or a mapping with a name in it.

    >>> classifier_settings({"name": "ridge", "regularisation": 0.1})
    RidgeSettings(name='ridge', regularisation=0.1)
    >>> classifier_settings({"name": "ridge", "regularisation": 0})
    Traceback (most recent call last):
    pseudoshot.tools.errors.PseudoshotError: classifier 'ridge': regularisation: input should be ...
    """
    try:
        settings: ClassifierSettings = CLASSIFIERS.parse(chosen)
    except ValidationError as error:
        first = error.errors()[0]
        name = chosen["name"] if isinstance(chosen, Mapping) else chosen
        setting = ".".join(map(str, first["loc"]))
        raise PseudoshotError(
            f"classifier '{name}': {setting}: {first['msg'][:1].lower()}{first['msg'][1:]}"
        ) from error
    return settings


def build_classifier(
    chosen: Chosen,
    similarity: Similarity = "sns",
    head: Head | None = None,
    network: Backbone | None = None,
) -> Classifier:
    """The classifier of these settings, for embeddings compared by `similarity`.

    >>> build_classifier("prototype", "euclidean").setting
    'inductive'
    """
    settings = classifier_settings(chosen)
    kind = CLASSIFIERS[settings.name]
    if issubclass(kind, HeadClassifier) and not isinstance(head, kind.kind_of_head):
        raise PseudoshotError(
            f"classifier '{settings.name}' needs the head of a run: choose a run of "
            f"{kind.trained_by} as the model, or another classifier"
        )
    if kind.takes == "images":
        if network is None:
            raise PseudoshotError(
                f"classifier '{settings.name}' adapts a network to images, and here there are "
                f"vectors alone: choose another classifier"
            )
        return kind(settings, similarity, head, network)
    return kind(settings, similarity, head)


__all__ = [
    "CLASSIFIERS",
    "FOLDS",
    "Auto",
    "Chosen",
    "Classifier",
    "ClassifierSettings",
    "Fitted",
    "Linear",
    "Setting",
    "Support",
    "build_classifier",
    "classifier_settings",
    "folds",
    "held_out_scores",
]
