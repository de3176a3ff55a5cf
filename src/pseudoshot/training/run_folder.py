"""A run folder: `run.json`, `log.jsonl`, `checkpoint/`, then `model.*`, `report.html` and, where
the method has one, `head.safetensors`; evaluations add to `evaluations.jsonl`.

It is held by one process at a time. It is only continued when asked for, a finished one for more
epochs than it had; its model so far is then kept in `epoch-N/`.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import filelock
import torch
from pydantic import ValidationError

from pseudoshot._version import __version__
from pseudoshot.backbones import compiled
from pseudoshot.heads import Head
from pseudoshot.settings.saved import saved_settings
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.console import console, say
from pseudoshot.tools.errors import PseudoshotError, first_line
from pseudoshot.tools.files import remove_unfinished, replaced, room_for, write_text
from pseudoshot.tools.state_file import LATEST, PREVIOUS, load_state, save_state
from pseudoshot.tools.tensor_file import to_bytes
from pseudoshot.training.adapting import Verdict
from pseudoshot.training.keeping import set_aside
from pseudoshot.training.state import TrainingState, is_reachable
from pseudoshot.views import get_policy


def _circumstances(settings: RunSettings) -> dict[str, Any]:
    """What a result depends on beside the settings and the images."""
    versions = {
        "pseudoshot": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "threads": torch.get_num_threads(),
        "compiled steps": "none" if compiled.library() is None else compiled.source_digest(),
    }
    return {
        "strengths": asdict(get_policy(settings.views)),
        "versions": versions,
    }


class RunFolder:
    """The files of one run.

    >>> RunFolder(Path("runs/demo")).log_path.name
    'log.jsonl'
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings_path = path / "run.json"
        self.log_path = path / "log.jsonl"
        self.head_path = path / "head.safetensors"
        self.checkpoint_path, self.previous_path = path / LATEST, path / PREVIOUS

    @property
    def started(self) -> bool:
        return self.settings_path.is_file()

    @property
    def finished(self) -> bool:
        return (self.path / "model.json").is_file()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes out for as long as the block runs."""
        lock = filelock.FileLock(self.path / ".lock", timeout=0)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except filelock.Timeout:
            raise PseudoshotError(
                f"'{self.path}' is in use by another training: wait for it or choose another --out"
            ) from None
        except OSError as error:
            raise PseudoshotError(f"cannot write to '{self.path}': {error.strerror}") from error
        try:
            remove_unfinished(self.path)
            remove_unfinished(self.checkpoint_path.parent)
            yield
        finally:
            self._leave_no_empty_folder()
            lock.release()

    def _leave_no_empty_folder(self) -> None:
        """A run that was refused before it began leaves nothing behind."""
        if [path.name for path in self.path.iterdir()] == [".lock"]:
            (self.path / ".lock").unlink()
            self.path.rmdir()

    def check_new(self) -> None:
        if self.finished:
            raise PseudoshotError(
                f"'{self.path}' holds a finished run, which is never overwritten: "
                f"choose another --out"
            )
        if self.started:
            raise PseudoshotError(
                f"'{self.path}' holds an unfinished run: continue it with --resume, "
                f"or choose another --out"
            )
        strangers = sorted(p.name for p in self.path.iterdir() if p.name != ".lock")
        if strangers:
            raise PseudoshotError(
                f"'{self.path}' is not empty and holds no run ({strangers[0]} is there): "
                f"choose another --out"
            )

    def check_resumable(self, settings: RunSettings) -> None:
        """Refuse to continue a run that is finished, unless it is for more epochs than it had."""
        before = self.read_settings().optimisation.epochs
        if self.finished and settings.optimisation.epochs <= before:
            raise PseudoshotError(
                f"'{self.path}' is finished, after {before} epochs: to train it further, give "
                f"--epochs above {before}"
            )
        self.check_circumstances(settings)

    def write_settings(self, settings: RunSettings) -> None:
        record = {"settings": settings.model_dump(), **_circumstances(settings)}
        write_text(self.settings_path, json.dumps(record, indent=2) + "\n")

    def set_epochs(self, settings: RunSettings, step: int) -> None:
        """Go on for another number of epochs than the run had; a finished model is kept aside."""
        before, after = (s.optimisation.epochs for s in (self.read_settings(), settings))
        if before == after:
            return
        record = self._read_record()
        if self.finished:
            say(f"the model of {before} epochs is kept as {set_aside(self.path, before)}")
        earlier = record.get("continued")
        told = [*(earlier if isinstance(earlier, list) else []), {"step": step, "epochs": before}]
        record |= {"settings": settings.model_dump(), "continued": told}
        record.pop("adapting", None)
        write_text(self.settings_path, json.dumps(record, indent=2) + "\n")

    def write_verdict(self, verdict: Verdict) -> None:
        """Beside the settings: which of start and end of an adaptation is the model."""
        record = {**self._read_record(), "adapting": verdict.model_dump()}
        write_text(self.settings_path, json.dumps(record, indent=2) + "\n")

    def read_verdict(self) -> Verdict | None:
        """None where nothing was adapted, or not to the end."""
        try:
            return Verdict.model_validate(self._read_record()["adapting"])
        except (KeyError, ValidationError):
            return None

    def check_circumstances(self, settings: RunSettings) -> None:
        """Before a run goes on: views must be as strong as they were, other versions are told."""
        now = json.loads(json.dumps(_circumstances(settings)))
        then = self._read_record()
        if now["strengths"] != then.get("strengths"):
            raise PseudoshotError(
                f"cannot resume: the views '{settings.views.name}' of this version are not those "
                f"of the run; use pseudoshot {then.get('versions', {}).get('pseudoshot')}"
            )
        for name, before in then.get("versions", {}).items():
            current = now["versions"].get(name)
            if before != current:
                console.print(
                    f"note: the run began with {name} {before} and goes on with {current}: "
                    f"the result may differ in its last digits",
                    markup=False,
                )

    def read_settings(self) -> RunSettings:
        if not self.started:
            raise PseudoshotError(f"'{self.path}' holds no run to resume: leave out --resume")
        try:
            return saved_settings(self._read_record()["settings"])
        except (PseudoshotError, AttributeError, KeyError, TypeError, ValueError) as error:
            reason = first_line(error)
            raise PseudoshotError(f"{self.settings_path} cannot be read: {reason}") from error

    def _read_record(self) -> dict[str, Any]:
        try:
            record = json.loads(self.settings_path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            reason = first_line(error)
            raise PseudoshotError(f"{self.settings_path} cannot be read: {reason}") from error
        if not isinstance(record, dict) or not isinstance(record.get("versions", {}), dict):
            raise PseudoshotError(f"{self.settings_path} is not what a training writes")
        return record

    def save_checkpoint(self, state: TrainingState) -> None:
        """Write a checkpoint; the one before it is kept in case this one is damaged later."""
        self.checkpoint_path.parent.mkdir(exist_ok=True)
        fresh = self.checkpoint_path.with_name("fresh.safetensors")
        save_state(fresh, state.to_dict())
        if self.checkpoint_path.is_file():
            self.checkpoint_path.replace(self.previous_path)
        fresh.replace(self.checkpoint_path)

    def load_checkpoint(self) -> TrainingState | None:
        """The last good checkpoint, or None where the run stopped before its first."""
        damaged = None
        for path in (self.checkpoint_path, self.previous_path):
            if not path.is_file():
                continue
            try:
                state = _loaded(path)
            except PseudoshotError as error:
                damaged = damaged or error
                continue
            if damaged:
                console.print(f"{damaged}; going on from {path}", style="yellow", markup=False)
            return state
        if damaged:
            raise damaged
        return None

    def save_head(self, head: Head) -> None:
        """Used at test by some classifiers alone (`embedders/head.py` reads it)."""
        weights = {name: value.contiguous() for name, value in head.state_dict().items()}
        with replaced(self.head_path) as temporary:
            temporary.write_bytes(to_bytes(weights))

    def append_log(self, record: dict[str, Any]) -> None:
        with room_for(self.log_path), self.log_path.open("a", encoding="utf-8") as log:
            log.write(json.dumps(record) + "\n")

    def read_log(self) -> list[dict[str, Any]]:
        if not self.log_path.is_file():
            return []
        records = []
        for line in self.log_path.read_text(encoding="utf-8", errors="replace").splitlines():
            record = _log_record(line)
            if record is None:
                break  # a last line cut short when the process was killed
            records.append(record)
        return records

    def truncate_log(self, step: int) -> None:
        """Drop what was logged after `step`: those steps are about to be made again."""
        kept = [record for record in self.read_log() if record["step"] <= step]
        with replaced(self.log_path) as temporary:
            temporary.write_text("".join(json.dumps(record) + "\n" for record in kept))


def _loaded(path: Path) -> TrainingState:
    state = TrainingState.from_dict(load_state(path))
    if state is None:
        raise PseudoshotError(f"the checkpoint {path} cannot be read: it holds no training's state")
    return state


def _log_record(line: str) -> dict[str, Any] | None:
    """None for a line that no training wrote."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not is_reachable(record.get("step")):
        return None
    numbers = (value for value in record.values() if isinstance(value, int | float))
    placed = all(is_reachable(record.get(name, 0.0)) for name in ("epoch", "seconds"))
    return record if placed and all(map(_fits_a_float, numbers)) else None


def _fits_a_float(value: float) -> bool:
    """What was logged came from 32 bits; a loss among it may have become infinite."""
    return value != value or abs(value) in (0, math.inf) or 1e-60 < abs(value) < 1e39
