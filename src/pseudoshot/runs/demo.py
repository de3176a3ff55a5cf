"""The demo: train on glyphs, then compare raw pixels, an untrained and the trained embedding."""

from __future__ import annotations

from pathlib import Path

import torch

from pseudoshot.backbones import build_backbone
from pseudoshot.data import default_query
from pseudoshot.data import load as load_data
from pseudoshot.embedders import Embedder, load
from pseudoshot.evaluation import Evaluation, evaluate_embeddings
from pseudoshot.evaluation.few_shot import pixel_embeddings
from pseudoshot.report import Novel
from pseudoshot.runs.evaluating import record
from pseudoshot.runs.training import train
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.run_folder import RunFolder

EPOCHS = 2
WAYS = (5, 20)


def run_demo(out: Path, seed: int) -> dict[str, list[Evaluation]]:
    """Train, unless `out` holds a finished demo, and score: what -> one evaluation a way."""
    folder = RunFolder(out)
    if not folder.finished:
        train("glyphs", out, epochs=EPOCHS, seed=seed, resume=folder.started)
    settings = folder.read_settings()
    if (settings.data.name, settings.seed) != ("glyphs", seed):
        raise PseudoshotError(
            f"'{out}' holds another run (on '{settings.data.name}', seed {settings.seed}): "
            f"choose another --out"
        )
    trained = load(out)
    novel = load_data("glyphs", split="test")
    query = default_query("glyphs")
    embeddings = {
        "raw pixels": pixel_embeddings(novel),
        "untrained": _untrained(trained, seed).embed(novel),
        "trained": trained.embed(novel),
    }
    results = {
        what: [
            evaluate_embeddings(
                table, novel, trained.classifier(), way=way, shots=(1,), query=query
            )
            for way in WAYS
        ]
        for what, table in embeddings.items()
    }
    record(folder, results, Novel(novel, embeddings["trained"]))
    return results


def _untrained(trained: Embedder, seed: int) -> Embedder:
    """The embedding as it was before the first step."""
    torch.manual_seed(seed)
    card = trained.card
    return Embedder(build_backbone(card.backbone, card.channels, card.size), card)
