"""A trained network adapted to unlabelled images of half of the classes, measured on the others.

    python benchmarks/adapting.py FOLDER [--start lite0] [--seeds 0 1 2] [--out FILE.json]

FOLDER has a subfolder per class, such as CUB's `images`. Of its classes, in alphabetical order, the
first half is the pile: `pseudoshot train PILE --start-from lite0`, which looks at no label. The
other half is measured, before and after, on the same tasks; the difference is taken within each.
What is measured is the network at the end of the training, whether the run kept it or its start;
where the start was kept, the run's own difference is zero. Both are read as the start's card says,
about the mean of the measured images, as `pseudoshot evaluate` does with a folder.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import pseudoshot
from pseudoshot.data import ImageSet
from pseudoshot.embedders import Embedder
from pseudoshot.evaluation import Evaluation, evaluate_embeddings
from pseudoshot.evaluation.comparison import differences
from pseudoshot.readings import join
from pseudoshot.training.run_folder import RunFolder

WAY, SHOTS, QUERY = 5, (1, 5, 20), 15
READ_AT_ONCE = 16  # images


def halves(folder: Path, place: Path) -> tuple[Path, Path]:
    """Links to the classes to learn from, and to those to measure on."""
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    parts = place / "pile", place / "measured"
    for part, chosen in zip(
        parts, (classes[: len(classes) // 2], classes[len(classes) // 2 :]), strict=True
    ):
        part.mkdir()
        for path in chosen:
            (part / path.name).symlink_to(path.resolve())
    return parts


def network_at_the_end(run: Path, start: str) -> Embedder:
    """As the last checkpoint has it, kept or not; read as the start is."""
    state = RunFolder(run).load_checkpoint()
    assert state is not None
    part = "backbone."
    weights = {n.removeprefix(part): w for n, w in state.method.items() if n.startswith(part)}
    embedder = pseudoshot.load(start)
    embedder.backbone.load_state_dict(weights)
    return embedder


@torch.inference_mode()
def described(embedder: Embedder, images: ImageSet) -> torch.Tensor:
    """The embedding of every image about the mean of all, which is known once each was seen."""
    if not embedder.card.reading.centre:
        return embedder.embed(images)
    pixels = (images.images[i : i + READ_AT_ONCE] for i in range(0, len(images), READ_AT_ONCE))
    found = [embedder.parts(embedder.preprocess(some)) for some in pixels]
    parts = {name: torch.cat([one[name] for one in found]) for name in found[0]}
    centre = {name: part.mean(0) for name, part in parts.items()}
    return join(parts, centre, embedder.card.reading.centre)


def measured(embedder: Embedder, images: ImageSet, tasks: int) -> Evaluation:
    return evaluate_embeddings(
        described(embedder, images),
        images,
        embedder.classifier(),
        way=WAY,
        shots=SHOTS,
        query=QUERY,
        tasks=tasks,
        seed=0,
        pretrained_labels=embedder.card.labels,
    )


def adapted(
    pile: Path, run: Path, seed: int, before: Evaluation, images: ImageSet, start: str
) -> dict[str, Any]:
    """One run, and what the network at its end has more than its start."""
    began = time.process_time()
    pseudoshot.train(pile, run, start_from=start, seed=seed)
    spent = time.process_time() - began
    verdict = RunFolder(run).read_verdict()
    assert verdict is not None
    after = measured(network_at_the_end(run, start), images, before.tasks)
    return {
        "seed": seed,
        "cpu_seconds": round(spent),
        **verdict.model_dump(),
        "differences": [
            {"shot": d.shot, "difference": d.difference, "interval": d.interval}
            for d in differences(before, after)
        ],
    }


def table(before: Evaluation, rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        ["", "CPU s", "held-out images, no labels", "neighbours that stay", "kept"],
        ["---"] * (5 + len(SHOTS)),
        ["start", "", "", "", ""],
    ]
    lines[0] += [f"{shot} shot" + ("s" if shot > 1 else "") for shot in SHOTS]
    lines[2] += [f"{one.accuracy:.2f} ± {one.interval:.2f}" for one in before.results]
    for row in rows:
        gain = (
            f"{row['start']:.1f} to {row['end']:.1f} ({row['gain']:+.1f} ± {row['interval']:.1f})"
        )
        stay = "" if row["neighbours_kept"] is None else f"{row['neighbours_kept']:.0f} %"
        more = [f"{d['difference']:+.2f} ± {d['interval']:.2f}" for d in row["differences"]]
        told = [f"end, seed {row['seed']}", str(row["cpu_seconds"]), gain, stay, row["kept"]]
        lines.append([*told, *more])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("folder", type=Path, help="with a subfolder per class")
    parser.add_argument("--start", default="lite0", help="lite0, a bundled model or a run")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--out", type=Path, help="a JSON file for all that is printed")
    options = parser.parse_args()
    start = pseudoshot.load(options.start)
    with tempfile.TemporaryDirectory() as place:
        pile, others = halves(options.folder, Path(place))
        images = pseudoshot.load_data(others, size=start.card.size)
        before = measured(start, images, options.tasks)
        rows = []
        for seed in options.seeds:
            run = Path(place) / f"run-{seed}"
            rows.append(adapted(pile, run, seed, before, images, options.start))
            print(table(before, rows), flush=True)
            if options.out:
                told = {"start": before.as_dict(), "runs": rows}
                options.out.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
