"""The commands of someone who trains and measures."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pseudoshot.cli.app import app
from pseudoshot.cli.options import DataRoot, Rotations, TrainOptions


@app.command
def train(
    data: str,
    /,
    *,
    out: Path,
    options: Annotated[TrainOptions, Parameter(name="*")] = TrainOptions(),  # noqa: B008 (frozen)
    data_root: DataRoot = None,
    devices: int = 1,
    nodes: int = 1,
    resume: Annotated[bool, Parameter(negative=())] = False,
    **settings: str,
) -> None:
    """Train an embedding on unlabelled images.

    A step takes an episode: some images, several random views of each. Every image counts as a
    class of its own, and the embedding learns to tell which views belong together.

    Parameters
    ----------
    data
        A folder of images, or the name of a set (`pseudoshot data` lists them).
    out
        The run folder to make: settings, log, checkpoint, model and report go there.
    devices
        Processes on this machine that share each episode, one a GPU where there are any.
    nodes
        Machines of as many devices each, started by torchrun or SLURM.
    resume
        Continue an interrupted run, bit for bit.
    settings
        Any further setting of the method, as `--name value`.
    """
    from pseudoshot.data import evaluation_set
    from pseudoshot.runs import train as run
    from pseudoshot.training.processes import leads

    further = {name.replace("-", "_"): value for name, value in settings.items()}
    run(
        data,
        out,
        resume=resume,
        data_root=data_root,
        devices=devices,
        nodes=nodes,
        **asdict(options),
        **further,
    )
    if leads(devices, nodes):
        print(f"trained: {out}")
        print(f"next: pseudoshot evaluate {shlex.quote(str(out))} {evaluation_set(data)}")


@app.command
def evaluate(
    run: Path,
    data: str,
    /,
    *,
    way: int = 5,
    shot: tuple[int, ...] = (),
    query: int | None = None,
    tasks: int = 10_000,
    seed: int = 0,
    classifier: str | None = None,
    pseudo: Annotated[bool, Parameter(negative=())] = False,
    rotations: Rotations = None,
    data_root: DataRoot = None,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> None:
    """Measure a trained run: mean accuracy and 95 % interval over many tasks of new classes.

    Parameters
    ----------
    run
        The --out folder of a finished training.
    data
        A folder with one subfolder a class, or the name of a set; its test split by default.
    way
        Classes of a task.
    shot
        Labelled examples of each class; give it again for more. 1, 5, 20 and 50 by default, as far
        as the set allows.
    query
        Images of each class to recognise in a task; 15 by default, 7 for glyphs.
    tasks
        How many tasks to draw.
    seed
        Of the tasks' draw.
    classifier
        How queries are told apart: prototype (nearest class mean); logistic, ridge or svm (fitted
        to the support); feat (the run's head adapts the support); with-head (the head adapts
        support and queries together, transductive). By default what the run's method is made for.
    pseudo
        Measure on pseudo tasks: a class is an image, its members are views; labels are not used.
    as_json
        Print one JSON object, accuracies in percent.
    """
    from pseudoshot.runs import evaluate_run
    from pseudoshot.runs.tables import print_evaluation

    result = evaluate_run(
        run,
        data,
        way=way,
        shots=shot,
        query=query,
        tasks=tasks,
        seed=seed,
        classifier=classifier,
        pseudo=pseudo,
        rotations=bool(rotations),
        data_root=data_root,
    )
    if as_json:
        print(json.dumps(asdict(result)))
    else:
        print_evaluation(result)


@app.command
def finetune(
    run: Path,
    data: str,
    /,
    *,
    out: Path,
    labels: float = 1.0,
    epochs: int | None = None,
    images: int | None = None,
    lr: float | None = None,
    seed: int = 0,
    data_root: DataRoot = None,
    resume: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Go on training a run with real labels, of all images or of a few in each class.

    Parameters
    ----------
    run
        The --out folder of a finished training, by any method.
    data
        A folder with one subfolder a class, or the name of a set; its train split by default.
    out
        The run folder to make.
    labels
        Which part of each class to use the labels of: 0.1 is a tenth.
    epochs
        Of ten episodes each: 50 up to a tenth of the labels, 100 above.
    images
        Classes an episode, of four images each: 64, or all where there are fewer.
    lr
        First learning rate, annealed: 0.0001.
    seed
        Of every random draw, that of the labels included.
    resume
        Continue an interrupted run, bit for bit.
    """
    from pseudoshot.data import evaluation_set
    from pseudoshot.runs import finetune as tune

    tune(
        run,
        data,
        out,
        labels=labels,
        resume=resume,
        data_root=data_root,
        epochs=epochs,
        images=images,
        lr=lr,
        seed=seed,
    )
    print(f"fine-tuned: {out}")
    print(f"next: pseudoshot evaluate {shlex.quote(str(out))} {evaluation_set(data)}")


@app.command
def methods(name: str | None = None, /) -> None:
    """List the methods: what each does, its settings and where the paper describes it.

    Parameters
    ----------
    name
        One method, with every setting explained.
    """
    from pseudoshot.runs.tables import print_method, print_methods

    if name is None:
        print_methods()
    else:
        print_method(name)


@app.command
def demo(*, out: Path = Path("runs/demo"), seed: int = 0) -> None:
    """Learn from letters nobody labelled, then read new alphabets from one example of each letter.

    Needs no data: the letters come from the typefaces that matplotlib brings. About a minute.

    Parameters
    ----------
    out
        The run folder to make; an earlier demo there is scored again, not overwritten.
    seed
        Of every random draw.
    """
    from pseudoshot.runs.demo import run_demo
    from pseudoshot.runs.tables import print_comparison

    print_comparison("letters of two alphabets never seen in training", run_demo(out, seed))
    print(f"pictures: {out / 'report.html'}")


@app.command(name="data")
def list_data(*, data_root: DataRoot = None) -> None:
    """List the image sets: which are here, their classes and images, where to get the others."""
    from pseudoshot.data import describe
    from pseudoshot.runs.tables import print_sources

    print_sources(describe(data_root))
