"""Every setting of a run, complete: what the user gave, and a recipe for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, ValidationError

from pseudoshot.backbones import BACKBONES
from pseudoshot.data import default_views
from pseudoshot.data.loading import MOST_PIXELS_A_SIDE
from pseudoshot.methods import METHODS, EpisodeSettings
from pseudoshot.settings.recipes import (
    DEFAULT_BACKBONE,
    Annealing,
    OptimiserName,
    RecipeName,
    recipe_of,
)
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.registry import look_up
from pseudoshot.training.processes import Precision
from pseudoshot.views import POLICIES, Cropping, get_policy

T = TypeVar("T")

# Beyond these a slip of the finger is likelier than a wish, and memory or time end first.
MOST = 10**9  # of anything that is counted
MOST_VIEWS = 1 << 15  # an episode, whose Gram matrix then takes 4 GB
MOST_ENTRIES = 1 << 28  # tasks times views of a task


class RunSettings(BaseModel):
    """What `run.json` holds: with these and the data, a run can be made again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: str
    size: int | None = Field(default=None, ge=1, le=MOST_PIXELS_A_SIDE)  # None: the set's own
    rotations: bool = False
    recipe: RecipeName = "paper"
    method: str = "baseline"
    episode: dict[str, Any] = Field(default_factory=dict)  # the method's settings, complete
    backbone: str = "conv4"
    views: str
    view_scale: float = Field(default=1.0, gt=0, le=1)  # a view's side, as part of the image's
    optimiser: OptimiserName
    lr: PositiveFloat = Field(le=1e6)
    annealing: Annealing = "epoch"  # how often the learning rate is lowered
    warm_up: int = Field(default=0, ge=0, le=MOST)  # steps in which the learning rate rises to lr
    averaging: float = Field(default=0.0, ge=0, lt=1)  # decay; 0: none
    epochs: PositiveInt = Field(le=MOST)
    seed: int = Field(default=0, ge=0, lt=2**63)
    precision: Precision = "32-true"
    sync_bn: bool = False  # batch statistics over all processes; nothing where there is one
    # None: as many as visit every image once
    episodes_per_epoch: int | None = Field(default=None, ge=1, le=MOST)
    labels: float = Field(default=1.0, gt=0, le=1)  # part of each class; labelled methods only
    start_from: str | None = None  # a run whose weights are the first

    def method_settings(self) -> EpisodeSettings:
        return look_up("method", self.method, METHODS).Settings(**self.episode)


def resolve_settings(data: str, options: dict[str, Any], episode: dict[str, Any]) -> RunSettings:
    """The complete settings of a run from what the user gave; the recipe fills in the rest."""
    name = options.get("recipe", "paper")
    backbone = options.get("backbone", _look_up("recipe", name, DEFAULT_BACKBONE))
    _look_up("backbone", backbone, BACKBONES)
    recipe = recipe_of(name, backbone)
    filled = {
        "data": data,
        "views": default_views(data),
        "backbone": backbone,
        **recipe.of_the_run(),
        **options,
    }
    policy = _look_up("views", filled["views"], POLICIES)
    if not isinstance(policy, Cropping) and "view_scale" not in options:
        filled["view_scale"] = 1.0
    method = _look_up("method", filled.get("method", "baseline"), METHODS)
    of_recipe = recipe.of_the_episode()
    known = {name: of_recipe[name] for name in of_recipe if name in method.Settings.model_fields}
    return _validated(filled, {**known, **episode})


def check_same(saved: RunSettings, options: dict[str, Any], episode: dict[str, Any]) -> None:
    """Refuse to resume with a setting other than the run's own, naming each."""
    asked = _validated(
        {**saved.model_dump(exclude={"episode"}), **options}, {**saved.episode, **episode}
    )
    before, after = (
        {**settings.model_dump(exclude={"episode"}), **settings.episode}
        for settings in (saved, asked)
    )
    changed = [
        f"{name} (the run has {_quoted(before.get(name))}, you gave {_quoted(value)})"
        for name, value in after.items()
        if before.get(name) != value
    ]
    if changed:
        raise PseudoshotError(
            f"cannot resume with other settings: {', '.join(changed)}; "
            f"leave them out to continue the run, or start a new one with another --out"
        )


def saved_settings(fields: dict[str, Any]) -> RunSettings:
    """The settings that a run's file holds, as complete and possible as when it began."""
    options = {name: value for name, value in fields.items() if name != "episode"}
    return _validated(options, dict(fields["episode"]))


def _look_up(kind: str, name: object, choices: Mapping[str, T]) -> T:
    """From options given in Python a name may be anything."""
    if not isinstance(name, str):
        raise PseudoshotError(
            f"{kind}: a name was expected, not {_shown(name)}: choose one of {', '.join(choices)}"
        )
    return look_up(kind, name if name in choices else _shown(repr(name))[1:-1], choices)


def _validated(options: dict[str, Any], episode: dict[str, Any]) -> RunSettings:
    method = options.get("method", "baseline")
    method_settings = _look_up("method", method, METHODS).Settings
    _look_up("backbone", options.get("backbone", "conv4"), BACKBONES)
    _look_up("views", options.get("views"), POLICIES)
    try:
        complete = method_settings(**episode)
        settings = RunSettings(**{**options, "episode": complete.model_dump()})
    except ValidationError as error:
        raise PseudoshotError(_explain(error, method, method_settings)) from error
    _refuse_impossible(complete)
    _refuse_smaller_views(settings)
    return settings


def _refuse_impossible(episode: EpisodeSettings) -> None:
    """Numbers that are well-formed, but that no machine could train with."""
    for name, value in episode.model_dump().items():
        if isinstance(value, int | float) and not abs(value) <= MOST:
            raise PseudoshotError(
                f"--{name.replace('_', '-')} {_shown(value)}: must be at most {MOST:,}"
            )
    views = episode.images * episode.views
    if views > MOST_VIEWS:
        raise PseudoshotError(
            f"an episode of {episode.images} images with {episode.views} views each has {views:,} "
            f"views, above the limit of {MOST_VIEWS:,}: lower --images, --shot or --query"
        )
    tasks = 1 if episode.tasks == "exhaustive" else episode.tasks
    entries = tasks * (episode.way or episode.images) * episode.views
    if entries > MOST_ENTRIES:
        raise PseudoshotError(
            f"{tasks} tasks of {entries // tasks:,} views are above the limit of "
            f"{MOST_ENTRIES:,} in all: lower --tasks"
        )


def _refuse_smaller_views(settings: RunSettings) -> None:
    """Where they cannot be made, or where an embedding would be of another size than at test."""
    get_policy(settings.views, settings.view_scale)
    if settings.view_scale != 1 and settings.backbone == "conv4-flat":
        raise PseudoshotError("conv4-flat takes images of one size: leave --view-scale at 1")


def _explain(error: ValidationError, method: str, settings: type[EpisodeSettings]) -> str:
    first = error.errors()[0]
    if not first["loc"]:  # two settings that do not go together
        return first["msg"].removeprefix("Value error, ")
    name = _shown(first["loc"][0])
    if first["type"] == "extra_forbidden":
        valid = ", ".join(settings.model_fields).replace("_", "-")
        return f"method '{method}' has no setting '{name.replace('_', '-')}': it has {valid}"
    return f"--{name.replace('_', '-')} {_shown(first['input'])}: {first['msg'].lower()}"


def _quoted(value: object) -> str:
    """Long enough for the path of a folder."""
    return _shown(repr(value), 300)


def _shown(value: object, most: int = 60) -> str:
    """A value in an error's one line, however long it is."""
    try:
        line = " ".join(str(value).split())
    except ValueError:  # of a number with thousands of digits
        return "(a very long number)"
    return line if len(line) <= most else f"{line[: most - 1]}…"
