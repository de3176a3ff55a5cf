"""The commands of someone who trains and measures."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pseudoshot.cli.app import app
from pseudoshot.cli.options import DataRoot, Model, example
from pseudoshot.cli.protocol import AsJson, Protocol


@app.command(
    help_epilogue=example(
        "evaluate runs/mine LABELLED_FOLDER",
        "evaluate lite0 cub --way 20 --shot 1 --shot 5",
    )
)
def evaluate(
    model: Model,
    data: str,
    /,
    *,
    protocol: Annotated[Protocol, Parameter(name="*")] = Protocol(),  # noqa: B008 (frozen)
    as_json: AsJson = False,
) -> None:
    """Measure a model: mean accuracy and 95 % interval over many tasks of new classes.

    Parameters
    ----------
    data
        A folder with one subfolder per class, or the name of a set; its test split by default.
    """
    from pseudoshot.runs import evaluate_run
    from pseudoshot.runs.tables import print_evaluation

    result = evaluate_run(model, data, **asdict(protocol))
    if as_json:
        print(json.dumps(result.as_dict()))
    else:
        print_evaluation(result)


@app.command(
    usage="Usage: pseudoshot compare MODEL MODEL... DATA [OPTIONS]",
    help_epilogue=example("compare runs/mine resnet-tiny-imagenet LABELLED_FOLDER"),
)
def compare(
    *models_and_data: str,
    protocol: Annotated[Protocol, Parameter(name="*")] = Protocol(),  # noqa: B008 (frozen)
    as_json: AsJson = False,
) -> None:
    """Measure models on the same tasks, and how much each differs from the first.

    What is hard in a task is hard for every model, so a difference within each task is far more
    certain than the two accuracies suggest.

    Parameters
    ----------
    models_and_data
        Two or more models, as `pseudoshot evaluate` takes them; last a folder with one subfolder
        per class, or the name of a set: its test split by default.
    """
    from pseudoshot.runs.comparing import compare as compare_runs
    from pseudoshot.runs.tables import print_compared_runs

    result = compare_runs(models_and_data[:-1], "".join(models_and_data[-1:]), **asdict(protocol))
    if as_json:
        print(json.dumps(result.as_dict()))
    else:
        print_compared_runs(result)


@app.command(help_epilogue=example("methods", "methods hms"))
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


@app.command(help_epilogue=example("demo --out runs/demo"))
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


@app.command(name="data", help_epilogue=example("data"))
def list_data(*, data_root: DataRoot = None) -> None:
    """List the image sets: which are here, their classes and images, where to get the others."""
    from pseudoshot.data import describe
    from pseudoshot.runs.tables import print_sources

    print_sources(describe(data_root))
