"""The run that another one clusters or learns from, trained once for all in a folder."""

from __future__ import annotations

import shutil
from typing import Any

from pseudoshot.runs.pre_learning import PRE_LEARNT, from_pre_learnt, pre_learning_options
from pseudoshot.runs.training import images_of, train
from pseudoshot.settings.resolve import resolve
from pseudoshot.studies.order import Order
from pseudoshot.studies.plan import run_key
from pseudoshot.studies.shelf import Shelf
from pseudoshot.training.run_folder import RunFolder


def share_pre_learnt(
    folder: RunFolder, options: dict[str, Any], order: Order, shelf: Shelf
) -> bool:
    """Leave a run that is to begin as if it had been interrupted once its first part was trained;
    False while another process trains that part."""
    settings = resolve({**options, "data": order.data})
    if folder.started or settings.pre_learn is None:
        return True
    first = pre_learning_options(settings, len(images_of(settings, order.data_root)))
    assert first is not None
    key = run_key(resolve({**first, "data": order.data}), order)
    shared = shelf.run(key)
    with shelf.held(key) as mine:
        if not mine:
            return False
        if not shared.finished:
            resume = shared.started
            train(order.data, shared.path, resume=resume, data_root=order.data_root, **first)
        _copy_whole(shared, RunFolder(folder.path / PRE_LEARNT))
    folder.write_settings(from_pre_learnt(settings, folder.path))
    return True


def _copy_whole(source: RunFolder, target: RunFolder) -> None:
    """Under another name first: a process may be killed on the way."""
    if target.finished:
        return
    unfinished = target.path.with_name(f".{PRE_LEARNT}.tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(source.path, unfinished, ignore=shutil.ignore_patterns(".lock"))
    unfinished.replace(target.path)
