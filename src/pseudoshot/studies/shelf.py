"""The folder of studies: `runs/`, one folder per training, and what is known of them.

`costs/` holds what a step takes, measured once, so that every process makes the same number of
steps of a budget; `machines.json` how long the same step takes on the processors that were at work,
by the first of which budgets are counted; `known/` which run folder a planned run has, and its
evaluations by the records of that folder; `refused/` why something could not be done. Files are
replaced whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import filelock
from pydantic import BaseModel, PositiveFloat, TypeAdapter, ValidationError

from pseudoshot.studies.budget import StepCost
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import write_text
from pseudoshot.training.run_folder import RunFolder


class Known(BaseModel):
    """Of one planned run."""

    key: str = ""  # of its folder
    trained: bool = False
    evaluated: dict[str, str] = {}  # record by evaluation
    slowness: float = 1.0  # of the machine that trained it, beside the first


TRAINING = "training"  # what was refused, where it is not one of the evaluations


class Shelf:
    """Where the runs of studies lie; several processes may work on it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, key: str) -> RunFolder:
        return RunFolder(self.path / "runs" / key)

    @contextmanager
    def held(self, key: str) -> Iterator[bool]:
        """Whether this process alone has what is called so."""
        lock = filelock.FileLock(self._folder("locks") / key, timeout=0)
        try:
            lock.acquire()
        except filelock.Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    @contextmanager
    def waiting_for(self, key: str) -> Iterator[None]:
        """Alone with it, when others have done with it: for what takes seconds."""
        with filelock.FileLock(self._folder("locks") / key):
            yield

    def known(self, identity: str) -> Known:
        """Nothing, of a run that was not begun, or of a file that cannot be read."""
        try:
            return Known.model_validate_json((self.path / "known" / f"{identity}.json").read_text())
        except (OSError, ValidationError, ValueError):
            return Known()

    def remember(self, identity: str, known: Known) -> None:
        write_text(self._folder("known") / f"{identity}.json", known.model_dump_json(indent=2))

    def refused(self, identity: str) -> dict[str, str]:
        """Reasons, by evaluation or of the training."""
        try:
            told = json.loads((self.path / "refused" / f"{identity}.json").read_text())
        except (OSError, ValueError):
            return {}
        return {str(k): str(v) for k, v in told.items()} if isinstance(told, dict) else {}

    def refuse(self, identity: str, what: str, reason: str) -> None:
        told = {**self.refused(identity), what: reason}
        write_text(self._folder("refused") / f"{identity}.json", json.dumps(told, indent=2) + "\n")

    def keep_traceback(self, identity: str, text: str) -> Path:
        """Of what nobody foresaw."""
        path = self._folder("refused") / f"{identity}.txt"
        write_text(path, text)
        return path

    def try_again(self, identity: str) -> None:
        """A set that was missing may be here by now."""
        for ending in ("json", "txt"):
            (self.path / "refused" / f"{identity}.{ending}").unlink(missing_ok=True)

    def cost(self, alike: str) -> StepCost | None:
        path = self.path / "costs" / f"{alike}.json"
        if not path.is_file():
            return None
        try:
            return StepCost(**json.loads(path.read_text())["step"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise PseudoshotError(f"{path} cannot be read: delete it and begin again") from error

    def keep_cost(self, alike: str, cost: StepCost, settings: Mapping[str, Any]) -> None:
        told = {"step": asdict(cost), "settings": dict(settings)}
        write_text(self._folder("costs") / f"{alike}.json", json.dumps(told, indent=2) + "\n")

    def machines(self) -> dict[str, float]:
        """CPU seconds of the same step by name of the processor, in the order they came."""
        path = self.path / "machines.json"
        if not path.is_file():
            return {}
        try:
            return TypeAdapter(dict[str, PositiveFloat]).validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise PseudoshotError(
                f"{path} cannot be read: put it back as it was, or delete it, and seconds are "
                "counted as on this machine"
            ) from error

    def keep_machines(self, machines: Mapping[str, float]) -> None:
        write_text(self._folder(".") / "machines.json", json.dumps(dict(machines), indent=2) + "\n")

    def _folder(self, name: str) -> Path:
        folder = self.path / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PseudoshotError(f"cannot write to '{folder}': {error.strerror}") from error
        return folder
