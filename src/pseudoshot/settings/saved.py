"""Settings as a run folder holds them: today's tree, or the flat form of versions before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pseudoshot.settings.options import flatten
from pseudoshot.settings.resolve import validated
from pseudoshot.settings.tree import RunSettings
from pseudoshot.views import POLICIES

# Of the flat form: methods that differed from another in using labels.
_LABELLED = {"protonet": "protonet", "supervised": "supervised", "finetune": "baseline"}


def saved_settings(fields: Mapping[str, Any]) -> RunSettings:
    """As complete and possible as when the run began."""
    return validated(_upgraded(fields) if "episode" in fields else flatten(fields))


def _upgraded(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Every method had the settings of tasks, needed or not, and decided on labels itself."""
    options = {name: value for name, value in fields.items() if name != "episode"}
    options |= fields["episode"]
    method = options["method"]
    options["class_source"] = "labels" if method in _LABELLED else "exemplars"
    options["method"] = _LABELLED.get(method, method)
    if method not in _LABELLED:
        options.pop("labels", None)
    if method == "supervised":
        options["views_per_class"] = options["shot"] + options["query"]
        for name in ("way", "shot", "query", "tasks", "similarity", "temperature"):
            options.pop(name, None)
    if "view_scale" not in POLICIES[options["views"]].Settings.model_fields:
        options.pop("view_scale", None)
    return options
