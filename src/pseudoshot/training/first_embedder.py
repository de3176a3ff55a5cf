"""The embedding that a training begins with."""

from __future__ import annotations

from pseudoshot.backbones import build_backbone
from pseudoshot.data import ImageSet
from pseudoshot.embedders import Embedder, ModelCard, channel_statistics, load
from pseudoshot.readings import READINGS, Reading
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.views import POLICIES


def first_embedder(settings: RunSettings, images: ImageSet) -> Embedder:
    """Untrained, or that of the run to start from, with what it says of images."""
    trained_on = ", ".join(filter(None, (images.name, images.note)))
    if settings.start_from is not None:
        return _continued(settings, images, trained_on)
    mean, std = channel_statistics(images)
    card = ModelCard(
        backbone=settings.backbone.name,
        channels=images.channels,
        size=images.size,
        mean=tuple(mean),
        std=tuple(std),
        similarity=settings.method.test_similarity,
        classifier=settings.classifier.model_dump(exclude_none=True),
        reading=_reading(settings),
        trained_on=trained_on,
    )
    return Embedder(build_backbone(card.backbone, images.channels, images.size), card)


def _continued(settings: RunSettings, images: ImageSet, trained_on: str) -> Embedder:
    assert settings.start_from is not None
    embedder = load(settings.start_from)
    card = embedder.card
    if not any(True for _ in embedder.parameters()):
        raise PseudoshotError(
            f"'{settings.start_from}' has no weights that can be trained: start from a run, lite0 "
            f"or a transformers model"
        )
    if card.channels != images.channels:
        raise PseudoshotError(
            f"'{settings.start_from}' was trained on images of {card.channels} channels, "
            f"those of '{images.name}' have {images.channels}"
        )
    labels = getattr(settings.class_source, "labels", None)
    trained_on = trained_on if labels is None else f"{labels:.0%} labels of {trained_on}"
    changes = {
        "trained_on": f"{card.trained_on}; then {trained_on}",
        "similarity": settings.method.test_similarity,
        "classifier": settings.classifier.model_dump(exclude_none=True),
        "reading": _reading(settings),
    }
    return Embedder(embedder.backbone, card.model_copy(update=changes)).train()


def _reading(settings: RunSettings) -> Reading:
    """By its name; the mirror image of a character is another one."""
    reading = READINGS[settings.reading]
    characters = POLICIES[settings.views.name].of_characters
    return reading.model_copy(update={"mirror": False}) if characters else reading
