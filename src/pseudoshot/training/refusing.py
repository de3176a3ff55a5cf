"""What a training is refused for, once its parts are there or while it goes on."""

from __future__ import annotations

import math
from typing import Any

import torch

from pseudoshot.backbones import Backbone
from pseudoshot.class_sources import CLASS_SOURCES
from pseudoshot.data import ImageSet
from pseudoshot.methods import Loss, Method
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.adapting import adapts
from pseudoshot.training.base_images import FEWEST_HELD_OUT
from pseudoshot.views import Policy
from pseudoshot.views.identity import Identity


def refuse_too_few(settings: RunSettings, images: ImageSet, held_out: int) -> None:
    """Images, to tell whether a network that was trained before became better."""
    if held_out >= FEWEST_HELD_OUT:
        return
    if not adapts(settings):
        raise PseudoshotError(
            f"'{images.name}' has too few images to tell whether fine-tuning helps, "
            f"{len(images)} of {len(images.classes)} classes, of which two must be "
            f"held out that are not the last of their class: add images, or use "
            f"'{settings.start_from}' as it is"
        )
    raise PseudoshotError(
        f"'{images.name}' has {len(images)} images, with which it cannot be told "
        f"whether adapting helps: use '{settings.start_from}' as it is"
    )


def refuse_nothing_trained(
    settings: RunSettings, backbone: Backbone, groups: list[dict[str, Any]]
) -> None:
    """Epochs that leave the backbone as it is, where nothing else is trained."""
    own = {id(parameter) for parameter in backbone.parameters()}
    beside = [p for group in groups for p in group["params"] if id(p) not in own]
    frozen = settings.optimisation.frozen_epochs
    if frozen and not beside:
        raise PseudoshotError(
            f"--frozen-epochs {frozen} would train nothing: method '{settings.method.name}' has "
            f"nothing that is trained beside the backbone"
        )


def refuse_same_views(settings: RunSettings, method: Method, views: Policy) -> None:
    """Of one image several, all of them the image itself: there is nothing to learn from them."""
    roles = method.policies(views)
    altered = method.mixes or any(not isinstance(policy, Identity) for _, policy in roles)
    several = sum(count for count, _ in roles) > 1
    source = settings.class_source.name
    if several and not altered and CLASS_SOURCES[source].repeats:
        raise PseudoshotError(
            f"the members of a pseudo-class of '{source}' are views of one image, and with --views "
            f"{settings.views.name} all of them are the same: give other --views, or another "
            f"--class-source than '{source}'"
        )


def refuse_statistics(method: Method, sync_bn: bool) -> None:
    """BatchNorm over all processes, where each task is to have its own; or over each process's
    share, where all of an episode is to have the same."""
    if not sync_bn and method.needs_sync_bn:
        raise PseudoshotError(
            f"in several processes method '{method.settings.name}' needs BatchNorm's statistics of "
            f"all of them, or these tell a query's own key: add --sync-bn"
        )
    if sync_bn and method.second_order:
        raise PseudoshotError(
            f"--sync-bn joins BatchNorm's statistics of all processes, and method "
            f"'{method.settings.name}' has those of each task: leave it out"
        )


def refuse_nan(loss: Loss, method: Method, step: int) -> None:
    """A loss, or a gradient, that is no number."""
    values = {"loss": loss.value}
    if loss.embeddings is not None and loss.embeddings.grad is not None:
        values["gradient"] = loss.embeddings.grad.abs().sum()
    else:
        gradients = [p.grad for p in method.parameters() if p.grad is not None]
        values["gradient"] = torch.stack([g.abs().sum() for g in gradients]).sum()
    for what, value in values.items():
        if not math.isfinite(value.item()):
            raise PseudoshotError(
                f"the {what} became {value.item()} at step {step} and training stopped; "
                f"no checkpoint holds it: start anew with a lower --lr"
            )
