"""Train a run, or go on with one."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any, Unpack

from pseudoshot.class_sources import CLASS_SOURCES
from pseudoshot.data import ImageSet, full_name, is_named
from pseudoshot.data import load as load_data
from pseudoshot.embedders import PHOTOS, Embedder, bundled_models, load
from pseudoshot.embedders.doors import lite0
from pseudoshot.methods import METHODS
from pseudoshot.report import write_report
from pseudoshot.runs.pre_learning import (
    PRE_LEARNT,
    check_alone,
    check_enough,
    check_looked_at,
    from_pre_learnt,
    pre_learning_options,
)
from pseudoshot.settings.config import read_config
from pseudoshot.settings.resolve import resolve, resumed
from pseudoshot.settings.train_options import TrainOptions
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.console import say
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import is_file
from pseudoshot.tools.processor import multiplies_bfloat16
from pseudoshot.training.base_images import FEWEST_HELD_OUT, held_out_of
from pseudoshot.training.first_embedder import start_of
from pseudoshot.training.loop import run_training
from pseudoshot.training.processes import Team, build_fabric, check_shares, leads
from pseudoshot.training.run_folder import RunFolder

# Options that are about a network from scratch, or about another start.
SCRATCH = {
    *("recipe", "backbone", "size", "views", "class_source"),
    *("start_from", "pre_learn", "frozen_epochs"),
}

# That a person waits for by default, in place of the recipe's ten: without bfloat16 a step takes
# more than twice as long, and four gain four fifths of what six do (results/README.md).
EPOCHS_IN_SINGLE_PRECISION = 4


def train(
    data: str | Path,
    out: str | Path,
    /,
    *,
    config: str | Path | None = None,
    resume: bool = False,
    data_root: Path | None = None,
    devices: int = 1,
    nodes: int = 1,
    **options: Unpack[TrainOptions],
) -> Embedder:
    """Train an embedding on unlabelled images and leave it in the run folder `out`.

    Parameters
    ----------
    data
        A folder of images, or the name of a set.
    out
        The run folder to make: settings, log, checkpoint, model and report go there.
    config
        A TOML file of settings, as `pseudoshot train --dry-run` prints it; options win over it.
    resume
        Continue an interrupted run, bit for bit. With other epochs than it has, an interrupted or
        finished run is trained for as many in all: from its present step on, the learning rate is
        that of a training of so many epochs. The model of a finished one is kept in `epoch-N/`.
    data_root
        The folder that holds the named sets.
    devices, nodes
        With several, an episode is shared by as many processes.
    **options
        Settings of the run and of its parts, by name: method, backbone, epochs, seed, way, …
        What is not given follows the recipe.

    Examples
    --------
    >>> train("glyphs", "runs/glyphs", epochs=2)  # doctest: +SKIP
    """
    given = gather(data, config, dict(options))
    folder = RunFolder(Path(out))
    writes = leads(devices, nodes)
    with folder.held() if writes else nullcontext():
        if resume:
            settings = resumed(folder.read_settings(), given)
            if writes:
                folder.check_resumable(settings)
        else:
            given = with_usual_start(given, data_root)
            settings = resolve(given, start_of(given))
            if writes:
                folder.check_new()
        check_shares(settings.method, devices * nodes)
        images = images_of(settings, data_root)
        if not resume:
            check_looked_at(settings, images)
        first = pre_learning_options(settings, len(images))
        if first is not None:
            check_alone(devices * nodes)
            check_enough(settings, images)
            settings = from_pre_learnt(settings, folder.path)
            _train_first(settings, folder, data_root, first)
        fabric = build_fabric(devices, nodes, settings.optimisation.precision)
        fabric.launch()  # the other processes, after all that may be refused
        embedder = run_training(settings, images, folder, Team(fabric))
        if writes:
            write_report(folder, images)
        return embedder


def _train_first(
    settings: RunSettings, folder: RunFolder, data_root: Path | None, options: dict[str, Any]
) -> None:
    """The run that is to be clustered, or what is left of its training."""
    first = RunFolder(folder.path / PRE_LEARNT)
    if not folder.started:
        folder.write_settings(settings)  # with which --resume goes on, here too
    if not first.finished:
        say(f"training '{first.path}' by {options['method']} first")
        train(settings.data.name, first.path, resume=first.started, data_root=data_root, **options)


def gather(data: str | Path, config: str | Path | None, options: dict[str, Any]) -> dict[str, Any]:
    """All that was given, by the names of options: those of the config file, then the options."""
    given = {name: value for name, value in options.items() if value is not None}
    from_file = {} if config is None else read_config(Path(config))
    given = {**from_file, **given, "data": full_name(str(data))}
    if isinstance(given.get("from_run"), str | Path):  # anything else is refused with the settings
        if given.get("pre_learn") is not None:
            raise PseudoshotError(
                "give --from, a run to cluster, or --pre-learn, which trains one: not both"
            )
        given["from_run"] = lasting_name(given["from_run"])
    if given.get("frozen") is True and {"start_from", "pre_learn"} <= {*given}:
        raise PseudoshotError(
            "give --start-from, a run to learn from, or --pre-learn, which trains one: not both"
        )
    return given


def with_usual_start(given: dict[str, Any], data_root: Path | None) -> dict[str, Any]:
    """What was given; a folder of photos of which nothing is said that speaks against it is learnt
    from where the bundled model for photos left off."""
    method = METHODS[given.get("method", "baseline")]
    if is_named(given["data"]) or SCRATCH & {*given, *method.defaults}:
        return given
    images = load_data(given["data"], root=data_root, size=load(PHOTOS).card.size)
    held_out = held_out_of(len(images))
    if images.channels != 3 or held_out < FEWEST_HELD_OUT:
        return given
    shorter = {} if multiplies_bfloat16() else {"epochs": EPOCHS_IN_SINGLE_PRECISION}
    return {**shorter, **given, "start_from": PHOTOS}


def images_of(settings: RunSettings, data_root: Path | None) -> ImageSet:
    """The images that a run is trained on; with their labels only where its class source asks."""
    data, labelled = settings.data, CLASS_SOURCES[settings.class_source.name].needs_labels
    images = load_data(
        data.name,
        split="train",
        root=data_root,
        size=data.size,
        rotations=data.rotations,
        labelled=labelled,
    )
    return images if labelled else images.without_labels()


def lasting_name(model: str | Path) -> str:
    """What leads to the model from any folder: its path, or the name that it comes under."""
    path = Path(model)
    own = str(model) in (*bundled_models(), lite0.NAME) and not is_file(path / "model.json")
    return str(path.resolve()) if path.exists() and not own else str(model)


def finetune(
    run: str | Path,
    data: str | Path,
    out: str | Path,
    /,
    *,
    resume: bool = False,
    data_root: Path | None = None,
    **options: Unpack[TrainOptions],
) -> Embedder:
    """Go on training a run with the labels of a part of each class (section 7.1).

    50 epochs of ten episodes up to a tenth of the labels, 100 above; SGD at 1e-4, SES and SNS on
    64 classes of four images, of smaller classes several views of an image. Options are those of
    `train`; `labels` is the part of each class whose labels are used. A fifth of the images, 256 at
    most and no class's last, are held out: where they are not told better at the end, the model is
    the start as it was.

    >>> finetune("runs/hms", "cifar-fs", "runs/tuned", labels=0.1)  # doctest: +SKIP
    """
    tuning = tuning_options(run, data, data_root, dict(options))
    if resume and options.get("epochs") is None:
        tuning.pop("epochs")  # the run has its own, perhaps others than it began with
    return train(data, out, resume=resume, data_root=data_root, **tuning)


def tuning_options(
    run: str | Path, data: str | Path, data_root: Path | None, options: dict[str, Any]
) -> dict[str, Any]:
    """Those of a fine-tuning in full: what was given, and its recipe."""
    card = load(run).card
    images = load_data(str(data), split="train", root=data_root, size=card.size, labelled=True)
    classes = len(images.class_counts())  # refuses a set without labels
    if classes < 2:
        raise PseudoshotError(
            f"fine-tuning needs two classes or more, '{images.name}' has {classes}: give a folder "
            f"with a subfolder per class"
        )
    labels = options.get("labels") or 1.0
    recipe: dict[str, Any] = {
        "recipe": "paper",
        "class_source": "labels",
        "optimiser": "sgd",
        "lr": 1e-4,
        "epochs": 50 if labels <= 0.1 else 100,
        "episodes_per_epoch": 10,
        "images": min(64, classes),
        "query": 3,
        "size": card.size,
        "similarity": card.similarity,
        "backbone": card.backbone,
        "start_from": lasting_name(run),
    }
    return recipe | {name: value for name, value in options.items() if value is not None}
