"""The commands that train; their options are made from the settings models."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Parameter

from pseudoshot.cli.options import DataRoot, Switch, of_settings
from pseudoshot.data import evaluation_set
from pseudoshot.runs import announce, tuning_options
from pseudoshot.runs import dry_run as estimate
from pseudoshot.runs import finetune as run_finetuning
from pseudoshot.runs import train as run_training
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.processes import leads

if TYPE_CHECKING:
    AllSettings: TypeAlias = Any
    TuningSettings: TypeAlias = Any
else:
    AllSettings = of_settings()
    TuningSettings = of_settings(("labels", "epochs", "images", "lr", "seed"))


def train(
    data: str,
    /,
    *,
    out: Path | None = None,
    config: Path | None = None,
    dry_run: Switch = False,
    resume: Switch = False,
    data_root: DataRoot = None,
    devices: int = 1,
    nodes: int = 1,
    settings: Annotated[AllSettings, Parameter(name="*")] = AllSettings(),  # noqa: B008 (frozen)
) -> None:
    """
    Parameters
    ----------
    data
        A folder of images, or the name of a set (`pseudoshot data` lists them).
    out
        The run folder to make: settings, log, checkpoint, model and report go there.
    config
        A TOML file of settings, as --dry-run prints it; options win over it.
    dry_run
        Print the settings in full, the steps, and the time and memory they would take here (a few
        are made and thrown away); leave nothing behind.
    resume
        Continue an interrupted run, bit for bit. With --epochs, an interrupted or finished run is
        trained for so many epochs in all: from its present step on, the learning rate is that of a
        training of so many, and so rises again where it had been annealed. The model of a finished
        run is kept as the run folder OUT/epoch-N.
    devices
        Processes on this machine that share each episode, one per GPU where there are any.
    nodes
        Machines of as many devices each, started by torchrun or SLURM.
    """
    options = asdict(settings)
    if dry_run:
        print(estimate(data, config=config, data_root=data_root, options=options))
        return
    if out is None:
        raise PseudoshotError("give --out: the run folder to make")
    if not resume and devices * nodes == 1:
        announce(data, out, config=config, data_root=data_root, options=options)
    run_training(
        data,
        out,
        config=config,
        resume=resume,
        data_root=data_root,
        devices=devices,
        nodes=nodes,
        **options,
    )
    if leads(devices, nodes):
        _say_next("trained", out, data)


def finetune(
    run: str,
    data: str,
    /,
    *,
    out: Path,
    resume: Switch = False,
    data_root: DataRoot = None,
    settings: Annotated[TuningSettings, Parameter(name="*")] = TuningSettings(),  # noqa: B008 (frozen)
) -> None:
    """
    Parameters
    ----------
    run
        The run folder of a finished training by any method, or a bundled model.
    data
        A folder with one subfolder per class, or the name of a set; its train split by default.
    out
        The run folder to make.
    resume
        Continue an interrupted run, bit for bit; with --epochs, as `pseudoshot train` does.
    """
    options = asdict(settings)
    if not resume:
        tuning = tuning_options(run, data, data_root, options)
        announce(data, out, data_root=data_root, options=tuning)
    run_finetuning(run, data, out, resume=resume, data_root=data_root, **options)
    _say_next("fine-tuned", out, data)


def _say_next(done: str, out: Path, data: str) -> None:
    print(f"{done}: {out}")
    run = shlex.quote(str(out))
    print(f"next: pseudoshot evaluate {run} {evaluation_set(data)}")
    print(
        f"use it: pseudoshot serve {run} --images FOLDER, or pseudoshot classify {run} --support "
        f"EXAMPLES --images FOLDER; how it went: {out / 'report.html'}"
    )
