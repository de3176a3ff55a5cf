"""The classifier that a model is used with: what it is made for, or what a person chose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pseudoshot.backbones import Backbone
from pseudoshot.classifiers import (
    CLASSIFIERS,
    Auto,
    Chosen,
    Classifier,
    ClassifierSettings,
    build_classifier,
    classifier_settings,
)
from pseudoshot.embedders.card import ModelCard
from pseudoshot.embedders.head import load_layer, trained_with
from pseudoshot.heads import Head
from pseudoshot.readings import PLAIN
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import is_file


def classifier_of(
    backbone: Backbone,
    card: ModelCard,
    folder: Path | None,
    chosen: Chosen | None,
    head: Callable[[], Head],
) -> Classifier:
    """By name or settings, or else what the model is made for; `head` is read if needed."""
    own = made_for(card, folder)
    settings = own if chosen in (None, own.name) else classifier_settings(chosen)
    if settings.name == "auto" and own.name != "auto":
        usual = None  # examples are chosen by as embeddings
        if CLASSIFIERS[own.name].takes == "embeddings":
            usual = classifier_of(backbone, card, folder, None, head)
        if usual is not None and usual.setting == "transductive":
            return usual  # there is nothing to choose by
        return Auto(settings, card.similarity, own=usual)
    kind = CLASSIFIERS[settings.name]
    if kind.plain_reading and card.reading != PLAIN:
        raise PseudoshotError(
            f"classifier '{settings.name}' goes on from the plain embedding: add --reading "
            f"plain, or choose another classifier"
        )
    if kind.takes == "images":
        layer = load_layer(folder, backbone.dim)
        return build_classifier(settings, card.similarity, layer, adaptable(backbone, card))
    return build_classifier(settings, card.similarity, head() if kind.needs_head else None)


def made_for(card: ModelCard, folder: Path | None) -> ClassifierSettings:
    """What the card says; of a run whose card says nothing, as earlier ones, what `run.json`
    does."""
    if card.classifier or folder is None or not is_file(folder / "run.json"):
        return card.classifier_settings()
    settings: ClassifierSettings = trained_with(folder).classifier
    return settings


def adaptable(backbone: Backbone, card: ModelCard) -> Backbone:
    """The network, where it has weights that a classifier can adapt."""
    if not any(True for _ in backbone.parameters()):
        raise PseudoshotError(
            f"a network of the kind '{card.backbone}' has no weights that could be adapted to a "
            f"task: choose another classifier"
        )
    return backbone.eval()
