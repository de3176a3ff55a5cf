"""The model of a finished run, kept before the run is trained further."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

# What a finished run says of its model, and what explains it; `model.json` makes it finished.
_OF_THE_MODEL = (
    *("model.safetensors", "head.safetensors", "evaluations.jsonl", "evaluations"),
    *("report.html", "report"),
)
_FINISHED, _SHARED = "model.json", ("run.json", "log.jsonl")


def set_aside(run: Path, epochs: int) -> Path:
    """Move a run's model and what was measured of it to a folder of its own, itself a run.

    The copy is complete before the first file goes, and `model.json` goes last: stopped at any
    moment, the run is a finished one or an unfinished one, and nothing of it is lost.
    """
    again = (f"epoch-{epochs}-{number}" for number in itertools.count(2))
    names = itertools.chain([f"epoch-{epochs}"], again)
    kept = next(path for path in map(run.joinpath, names) if not path.exists())
    partial = run / ".keeping"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    for name in (*_OF_THE_MODEL, *_SHARED, _FINISHED):
        if (run / name).is_dir():
            shutil.copytree(run / name, partial / name)
        elif (run / name).exists():
            shutil.copy2(run / name, partial / name)
    partial.rename(kept)
    for name in (*_OF_THE_MODEL, _FINISHED):
        if (run / name).is_dir():
            shutil.rmtree(run / name)
        else:
            (run / name).unlink(missing_ok=True)
    return kept
