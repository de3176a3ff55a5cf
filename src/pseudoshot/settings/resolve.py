"""From options to complete settings: what the user gave, before what the network to start from or
the method prefers, before the recipe. Whatever does not fit ends in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from pseudoshot.backbones import BACKBONES
from pseudoshot.class_sources import CLASS_SOURCES
from pseudoshot.classifiers import CLASSIFIERS
from pseudoshot.data import default_views
from pseudoshot.methods import METHODS, MethodSettings, TaskSettings
from pseudoshot.settings.options import GROUPS, REGISTRIES, all_options, flatten, option_name
from pseudoshot.settings.recipes import RECIPES, default_recipe
from pseudoshot.settings.starting import OUTSIDE, Start, backbone_named
from pseudoshot.settings.tree import MOST, RunSettings
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.registry import Settings, shorten, unknown
from pseudoshot.views import POLICIES

# Beyond these memory or time end first.
MOST_VIEWS = 1 << 15  # per episode, whose Gram matrix then takes 4 GB
MOST_ENTRIES = 1 << 28  # tasks times views of a task


def resolve(given: Mapping[str, Any], start: Start | None = None) -> RunSettings:
    """The complete settings of a run; `start` is the network that it starts from.

    >>> resolve({"data": "glyphs", "method": "hms", "strength": 0.2}).method.name
    'hms'
    """
    given = {"recipe": default_recipe(str(given["data"])), **given}
    recipe_name = given["recipe"]
    if not isinstance(recipe_name, str) or recipe_name not in RECIPES:
        raise unknown("recipe", recipe_name, RECIPES)
    recipe = RECIPES[recipe_name]
    method = METHODS[given.get("method", "baseline")]
    usual = {
        "class_source": "exemplars",
        "views": default_views(str(given["data"])),
        "backbone": recipe.backbone,
        "method": "baseline",
    }
    chosen = {**usual, **method.defaults, **given}
    first: Mapping[str, Any] = {}
    made_for: Mapping[str, Any] = {}
    if start is not None:
        start.refuse_another(given)
        labelled = CLASS_SOURCES[chosen["class_source"]].needs_labels
        first = start.preferred(labelled, stays=chosen.get("frozen") is True)
        if "images" in method.defaults:  # which tasks or sets may have to be cut from
            first = {name: value for name, value in first.items() if name != "images"}
        made_for = start.made_for
    elif chosen.get("frozen") is True and isinstance(given.get("pre_learn"), str):
        first = {"similarity": METHODS[given["pre_learn"]].Settings().test_similarity}
    choices = {"classifier": "prototype", **chosen, **first, **given}
    backbone = backbone_named(choices["backbone"])
    known = _known(_models(choices))
    settings = recipe.settings(backbone, POLICIES[choices["views"]])
    preferred = {**usual, **settings, **method.defaults, **first}
    fitting = {name: value for name, value in preferred.items() if name in known}
    options = {**fitting, **given}
    if "classifier" not in given and (own := _test_classifier(options) or made_for):
        options |= flatten({"classifier": {"name": "prototype", **own}}) | given
    if "reading" not in given and CLASSIFIERS[options.get("classifier", "prototype")].plain_reading:
        options["reading"] = "plain"
    return validated(options)


def _test_classifier(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the method says that its embeddings are made for; {}: nothing."""
    method = METHODS[options["method"]]
    return method.test_classifier(_part("method", method.Settings, options))


def validated(options: Mapping[str, Any]) -> RunSettings:
    """Settings from complete options, refused where they are unknown, impossible or at odds."""
    if "classifier" not in options:
        made_for = {"name": "prototype", **_test_classifier(options)}
        options = {**flatten({"classifier": made_for}), **options}
    models = _models(options)
    _refuse_unknown(options, models)
    tree = {part: _part(part, model, options) for part, model in models.items()}
    own = {name: options[name] for name in _run_fields() if name in options}
    settings: RunSettings = _parsed(RunSettings, {**own, **tree}, {})
    _refuse_impossible(settings.method)
    _refuse_without_start(settings)
    _refuse_without_run(settings)
    _refuse_smaller_views(settings)
    return settings


def _part(part: str, model: type[Settings], options: Mapping[str, Any]) -> Any:
    names = {field: option_name(part, field) for field in model.model_fields}
    return _parsed(
        model, {field: options[name] for field, name in names.items() if name in options}, names
    )


def resumed(saved: RunSettings, given: Mapping[str, Any]) -> RunSettings:
    """The settings that a run goes on with: its own, with the epochs that were given. Any other
    that is not its own is refused, and named."""
    before = flatten(saved.model_dump())
    settings = validated({**before, **given})
    after = flatten(settings.model_dump())
    changed = [
        f"{name} (the run has {_quoted(before.get(name))}, you gave {_quoted(value)})"
        for name, value in after.items()
        if before.get(name) != value and name != "epochs"
    ]
    if changed:
        raise PseudoshotError(
            f"cannot resume with other settings: {', '.join(changed)}; "
            f"leave them out to continue the run, or start a new one with another --out"
        )
    return settings


def _models(choices: Mapping[str, Any]) -> dict[str, type[Settings]]:
    """The settings model of each part, by what was chosen for it."""
    of = {part: registry.__getitem__ for part, registry in REGISTRIES.items()}
    of["backbone"] = backbone_named
    return {**GROUPS, **{part: entry(choices[part]).Settings for part, entry in of.items()}}


def _run_fields() -> list[str]:
    return [name for name in RunSettings.model_fields if name not in {*GROUPS, *REGISTRIES}]


def _refuse_unknown(options: Mapping[str, Any], models: Mapping[str, type[Settings]]) -> None:
    known = _known(models)
    strangers = [name for name in options if name not in known]
    if not strangers:
        return
    name = strangers[0]
    option = all_options().get(name)
    if option is None:
        raise unknown("setting", dashed(str(name)), map(dashed, sorted(known)))
    fields = [f for f in models[option.part].model_fields if f != "name"]
    has = ", ".join(dashed(option_name(option.part, field)) for field in fields)
    raise PseudoshotError(
        f"{REGISTRIES[option.part].part} '{options[option.part]}' has no setting "
        f"'{dashed(name)}': it has {has or 'none'}; it is a setting of {', '.join(option.owners)}"
    )


def _known(models: Mapping[str, type[Settings]]) -> set[str]:
    """The options that there are for the chosen parts."""
    of_parts = {option_name(part, f) for part, model in models.items() for f in model.model_fields}
    return {*_run_fields(), *of_parts}


def _parsed(model: type[Settings], fields: Mapping[str, Any], names: Mapping[str, str]) -> Any:
    try:
        return model(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        if not first["loc"]:  # two settings that do not go together
            raise PseudoshotError(first["msg"].removeprefix("Value error, ")) from error
        field = str(first["loc"][0])
        name = dashed(shorten(names.get(field, field)))
        message = f"--{name} {shorten(first['input'])}: {first['msg'].lower()}"
        raise PseudoshotError(message) from error


def _refuse_impossible(method: MethodSettings) -> None:
    """Numbers that are well-formed, but that no machine could train with."""
    for name, value in method.model_dump().items():
        if isinstance(value, int | float) and not abs(value) <= MOST:
            raise PseudoshotError(f"--{dashed(name)} {shorten(value)}: must be at most {MOST:,}")
    views = method.images * method.V
    if views > MOST_VIEWS:
        raise PseudoshotError(
            f"an episode of {method.images} images with {method.V} views each has {views:,} "
            f"views, above the limit of {MOST_VIEWS:,}: lower --images, or the views of each"
        )
    if not isinstance(method, TaskSettings):
        return
    tasks = 1 if method.tasks == "exhaustive" else method.tasks
    entries = tasks * (method.way or method.images) * method.V
    if entries > MOST_ENTRIES:
        raise PseudoshotError(
            f"{tasks} tasks of {entries // tasks:,} views are above the limit of "
            f"{MOST_ENTRIES:,} in all: lower --tasks"
        )


def _refuse_smaller_views(settings: RunSettings) -> None:
    """Where an embedding would be of another size than at test."""
    smaller = getattr(settings.views, "view_scale", 1) != 1
    if smaller and not backbone_named(settings.backbone.name).any_size:
        raise PseudoshotError(
            f"{settings.backbone.name} takes images of one size: leave --view-scale at 1"
        )


def _refuse_without_start(settings: RunSettings) -> None:
    """What only a trained network can be."""
    if settings.start_from is not None:
        return
    if settings.backbone.name in OUTSIDE:
        raise unknown("backbone", settings.backbone.name, BACKBONES)
    if settings.optimisation.frozen_epochs:
        raise PseudoshotError(
            "--frozen-epochs keeps a trained backbone as it is at first: give one by --start-from"
        )
    if settings.method.network_stays and settings.pre_learn is None:
        raise PseudoshotError(
            "--frozen keeps a trained network as it is: give one by --start-from, train one first "
            "by --pre-learn simclr, or leave it out"
        )


def _refuse_without_run(settings: RunSettings) -> None:
    """Another run that is needed and not there, or trained and not needed."""
    source, name = CLASS_SOURCES[settings.class_source.name], settings.class_source.name
    known = settings.pre_learn or getattr(settings.class_source, "from_run", None)
    if source.needs_run and not known:
        raise PseudoshotError(
            f"class source '{name}' groups images by the embeddings of a run: give --from RUN, or "
            f"--pre-learn simclr to train one first"
        )
    if settings.pre_learn_epochs is not None and settings.pre_learn is None:
        raise PseudoshotError(
            "--pre-learn-epochs is how long --pre-learn trains: give a method to --pre-learn, such "
            "as simclr, or leave it out"
        )
    if settings.pre_learn and not (source.needs_run or settings.method.network_stays):
        raise PseudoshotError(
            f"--pre-learn trains a run that is then clustered, or stays as it is with --frozen, "
            f"and class source '{name}' with method '{settings.method.name}' needs none: leave it "
            f"out"
        )


def dashed(name: str) -> str:
    return name.replace("_", "-")


def _quoted(value: object) -> str:
    """Long enough for the path of a folder."""
    return shorten(repr(value), 300)
