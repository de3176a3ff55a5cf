"""The command that runs the paper's tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pseudoshot.cli.app import app
from pseudoshot.cli.options import DataRoot, Switch, example


@app.command(
    help_epilogue=example(
        "study",
        "study heads --data cifar-fs --budget 20m --seeds 3 --out studies",
        "study --all --data glyphs --budget 1m --out studies",
    )
)
def study(
    *names: str,
    every: Annotated[Switch, Parameter(name="--all")] = False,
    data: str = "glyphs",
    test: str | None = None,
    budget: str = "5m",
    seeds: int = 1,
    tasks: int = 10_000,
    backbone: str | None = None,
    jobs: int | None = None,
    shard: str = "1/1",
    out: Path = Path("studies"),
    data_root: DataRoot = None,
) -> None:
    """List the tables and figures of the paper, or run some of them and test what they claim.

    Trains what is missing in the folder, goes on with what was interrupted, and never trains the
    same settings twice. Writes a page, a Markdown file and a CSV file per study.

    Parameters
    ----------
    names
        Studies, as they are listed, or TOML files of your own; none: list them.
    every
        All of them.
    data
        What is trained on: the name of a set, or a folder of images.
    test
        What is measured on: the test split of the set by default.
    budget
        Of each run: CPU time on one thread (90s, 20m, 2h), epochs ("10 epochs"), or paper. Beside
        paper, networks are conv4 where a study does not name its own.
    seeds
        Trainings of each run, each measured on tasks of its own. Claims need two or more; give 3.
    tasks
        Few-shot tasks per evaluation.
    backbone
        A network in place of the paper's or conv4.
    jobs
        Processes at work, one thread each: as many as there are cores, eight at most, where not
        given. 0: train nothing, write pages of what is there so far.
    shard
        This is one of several commands that share the work in one folder, such as 2/8.
    out
        The folder of studies: runs, pages and tables.
    """
    from pseudoshot.studies import all_studies, run_studies
    from pseudoshot.studies.listing import print_studies

    if not names and not every:
        print_studies(all_studies().values())
        return
    pages = run_studies(
        [] if every else names,
        data,
        out,
        test=test,
        budget=budget,
        seeds=seeds,
        tasks=tasks,
        backbone=backbone,
        jobs=jobs,
        shard=shard,
        data_root=data_root,
    )
    for page in pages[:1] if every else pages:
        print(f"page: {page}")
