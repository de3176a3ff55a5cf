"""The embedding that a training begins with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pseudoshot.backbones import build_backbone
from pseudoshot.classifiers import CLASSIFIERS, classifier_settings
from pseudoshot.data import ImageSet, default_views
from pseudoshot.embedders import Embedder, ModelCard, channel_statistics, load
from pseudoshot.readings import reading_of
from pseudoshot.settings.starting import Start
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.adapting import adapts, fix_statistics
from pseudoshot.training.base_images import trained_on
from pseudoshot.views import Policy, get_policy
from pseudoshot.views.identity import Identity


def first_embedder(settings: RunSettings, images: ImageSet) -> Embedder:
    """Untrained, or that of the run to start from, with what it says of images."""
    if settings.start_from is not None:
        return _continued(settings, images)
    mean, std = channel_statistics(images)
    card = ModelCard(
        backbone=settings.backbone.name,
        channels=images.channels,
        size=images.size,
        mean=tuple(mean),
        std=tuple(std),
        similarity=settings.method.test_similarity,
        classifier=settings.classifier.model_dump(exclude_none=True),
        reading=reading_of(settings.reading, _of_characters(settings)),
        characters=_of_characters(settings),
        trained_on=trained_on(images),
    )
    return Embedder(build_backbone(card.backbone, images.channels, images.size), card)


def _continued(settings: RunSettings, images: ImageSet) -> Embedder:
    assert settings.start_from is not None
    embedder = _trainable(settings.start_from)
    card = embedder.card
    if card.channels != images.channels:
        raise PseudoshotError(
            f"'{settings.start_from}' was trained on images of {card.channels} channels, "
            f"those of '{images.name}' have {images.channels}"
        )
    labels = getattr(settings.class_source, "labels", None)
    part = "" if labels is None else f"{labels:.0%} labels of "
    told = f"{part}{trained_on(images)}"
    if settings.method.network_stays:
        return Embedder(embedder.backbone, _beside_a_head(card, settings, told)).eval()
    changes = {
        "trained_on": f"{card.trained_on}; then {told}",
        "similarity": settings.method.test_similarity,
        "classifier": settings.classifier.model_dump(exclude_none=True),
        "reading": reading_of(settings.reading, _of_characters(settings)),
        "characters": _of_characters(settings),
    }
    if adapts(settings) and (card.knows_more or settings.optimisation.frozen_epochs):
        fix_statistics(embedder.backbone)
    return Embedder(embedder.backbone, card.model_copy(update=changes)).train()


def _beside_a_head(card: ModelCard, settings: RunSettings, trained_on: str) -> ModelCard:
    """Of a network that stays as it is, while a head is trained."""
    changes = {
        "trained_on": f"{card.trained_on}; a head beside it {trained_on}",
        "similarity": settings.method.test_similarity,
        "classifier": settings.classifier.model_dump(exclude_none=True),
        "reading": reading_of(settings.reading, card.characters),
    }
    return card.model_copy(update=changes)


def unaltered_start(settings: RunSettings) -> Embedder | None:
    """The network that is trained further, as it was, to be used as the run's settings say."""
    if settings.start_from is None or settings.method.network_stays:
        return None
    start = load(settings.start_from)
    own, usual = start.card.classifier_settings(), classifier_settings("prototype")
    # a head is trained beside the network as it becomes, and says nothing of this one
    wanted = (settings.classifier, own, usual)
    classifier = next(c for c in wanted if not CLASSIFIERS[c.name].plain_reading)
    changes = {
        "similarity": settings.method.test_similarity,
        "classifier": classifier.model_dump(exclude_none=True),
        "reading": reading_of(settings.reading, _of_characters(settings)),
    }
    return Embedder(start.backbone, start.card.model_copy(update=changes)).eval()


def start_of(given: Mapping[str, Any]) -> Start | None:
    """The network that the options say to start from, where they do."""
    name = given.get("start_from")
    if not isinstance(name, str):  # what is no name at all is refused with the other settings
        return None
    card = _trainable(name).card
    own = card.classifier_settings().model_dump(exclude_none=True)
    about = (card.backbone, card.size, card.similarity, card.reading, card.knows_more)
    return Start(name, *about, own)


def _trainable(name: str) -> Embedder:
    embedder = load(name)
    if embedder.card.unfinished:
        raise PseudoshotError(
            f"the training of '{name}' has not finished, it is at {embedder.card.unfinished}: "
            f"continue it with --resume before another starts from it"
        )
    if not any(True for _ in embedder.parameters()):
        raise PseudoshotError(
            f"'{name}' has no weights that can be trained: start from a run, lite0 or a "
            f"transformers model"
        )
    return embedder


def telling_views(settings: RunSettings) -> Policy:
    """The run's, or where these leave images as they are, those that suit the set."""
    policy = get_policy(settings.views)
    return get_policy(default_views(settings.data.name)) if isinstance(policy, Identity) else policy


def _of_characters(settings: RunSettings) -> bool:
    return telling_views(settings).of_characters
