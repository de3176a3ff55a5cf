"""Every setting of a run, and the paper's recipe for each backbone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, ValidationError

from pseudoshot.backbones import BACKBONES
from pseudoshot.data import default_views
from pseudoshot.errors import PseudoshotError
from pseudoshot.methods import METHODS, EpisodeSettings
from pseudoshot.registry import look_up
from pseudoshot.training.processes import Precision
from pseudoshot.views import get_policy

OptimiserName = Literal["adam", "sgd"]


@dataclass(frozen=True)
class Recipe:
    """Section 6.3: the optimiser and the episode that go with a backbone."""

    optimiser: OptimiserName
    lr: float
    epochs: int
    images: int
    head_lr_scale: float


_CONVNET = Recipe("adam", lr=0.002, epochs=100, images=64, head_lr_scale=1)
_RESNET = Recipe("sgd", lr=0.03, epochs=200, images=32, head_lr_scale=10)
RECIPES: dict[str, Recipe] = {
    name: _CONVNET if name.startswith("conv4") else _RESNET for name in BACKBONES
}


class RunSettings(BaseModel):
    """What `run.json` holds: with these and the data, a run can be made again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: str
    size: PositiveInt | None = None  # None: the set's own
    rotations: bool = False
    method: str = "baseline"
    episode: dict[str, Any] = Field(default_factory=dict)  # the method's settings, complete
    backbone: str = "conv4"
    views: str
    optimiser: OptimiserName
    lr: PositiveFloat
    epochs: PositiveInt
    seed: int = Field(default=0, ge=0, lt=2**63)
    precision: Precision = "32-true"
    sync_bn: bool = False  # batch statistics over all processes; nothing where there is one
    episodes_per_epoch: PositiveInt | None = None  # None: as many as visit every image once
    labels: float = Field(default=1.0, gt=0, le=1)  # part of each class; labelled methods only
    start_from: str | None = None  # a run whose weights are the first

    def method_settings(self) -> EpisodeSettings:
        return look_up("method", self.method, METHODS).Settings(**self.episode)


def resolve_settings(data: str, options: dict[str, Any], episode: dict[str, Any]) -> RunSettings:
    """The complete settings of a run from what the user gave; the recipe fills in the rest."""
    recipe = look_up("backbone", options.get("backbone", "conv4"), RECIPES)
    filled = {
        "data": data,
        "views": default_views(data),
        "optimiser": recipe.optimiser,
        "lr": recipe.lr,
        "epochs": recipe.epochs,
        **options,
    }
    get_policy(filled["views"])
    method = look_up("method", filled.get("method", "baseline"), METHODS)
    of_recipe = {"images": recipe.images, "head_lr_scale": recipe.head_lr_scale}
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
        f"{name} (the run has {before.get(name)!r}, you gave {value!r})"
        for name, value in after.items()
        if before.get(name) != value
    ]
    if changed:
        raise PseudoshotError(
            f"cannot resume with other settings: {', '.join(changed)}; "
            f"leave them out to continue the run, or start a new one with another --out"
        )


def _validated(options: dict[str, Any], episode: dict[str, Any]) -> RunSettings:
    method = options.get("method", "baseline")
    method_settings = look_up("method", method, METHODS).Settings
    try:
        complete = method_settings(**episode)
        return RunSettings(episode=complete.model_dump(), **options)
    except ValidationError as error:
        raise PseudoshotError(_explain(error, method, method_settings)) from error


def _explain(error: ValidationError, method: str, settings: type[EpisodeSettings]) -> str:
    first = error.errors()[0]
    if not first["loc"]:  # two settings that do not go together
        return first["msg"].removeprefix("Value error, ")
    name = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        valid = ", ".join(settings.model_fields).replace("_", "-")
        return f"method '{method}' has no setting '{name.replace('_', '-')}': it has {valid}"
    return f"--{name.replace('_', '-')} {first['input']}: {first['msg'].lower()}"
