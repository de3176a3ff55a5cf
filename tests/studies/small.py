"""Two small studies that share a run, and the pictures for them."""

from pathlib import Path

import numpy as np
from PIL import Image

from pseudoshot.studies import run_studies
from pseudoshot.studies.budget import Budget
from pseudoshot.studies.order import Order
from pseudoshot.studies.plan import Job, make_plan
from pseudoshot.studies.shelf import Shelf
from pseudoshot.studies.study import get_study
from pseudoshot.studies.working import Worker

TINY = """
title = "Tiny"
where = "nowhere"
asks = "Whether it runs."
backbone = "conv4"
common = { size = 16, images = 8, query = 2, tasks = 4 }
"""


FIRST = (
    TINY
    + """
[runs]
"Baseline" = { method = "baseline" }
"HMS" = { method = "hms" }
"tuned" = { start = "Baseline", labels = 1.0, images = 4, epochs = 2 }

[[paper]]
backbone = "conv4"
figures."HMS" = [48.12, 65.33]
figures."another" = [40.0]

[[claims]]
says = "HMS is above the baseline"
better = "HMS"
than = ["Baseline"]
"""
)


SECOND = (
    TINY
    + """
curves = ["loss"]
[runs]
"SES" = { method = "baseline" }
[evaluations]
"two" = { way = 2, shots = [1] }
"elsewhere" = { on = "cub" }
"linear" = { linear = true }
"map" = { tsne = true, way = 2, shots = [1] }
"together" = { classifier = "opta", way = 2, shots = [1] }
"""
)


SHORT = {"budget": "2 epochs", "tasks": 20}


def pictures(folder: Path, classes: int, each: int, seed: int) -> str:
    pixels = np.random.default_rng(seed).integers(0, 256, (classes, each, 16, 16, 3), np.uint8)
    for label, images in enumerate(pixels):
        place = folder / f"class{label}"
        place.mkdir(parents=True)
        for number, image in enumerate(images):
            Image.fromarray(image).save(place / f"{number}.png")
    return str(folder)


def run(place: Path, out: str, *names: str, **options: object) -> list[Path]:
    files = [str(place / f"{name}.toml") for name in names]
    given = {"test": str(place / "test"), "data_root": place / "no sets", **SHORT, **options}
    return run_studies(files, place / "train", place / out, **given)


def folders(out: Path) -> list[Path]:
    return sorted(path for path in (out / "runs").iterdir() if path.is_dir())


def first_job(
    place: Path, out: Path, name: str = "first", budget: str = "3s"
) -> tuple[Worker, Job]:
    """Of a study, and a process that may do it."""
    data, test = str(place / "train"), str(place / "test")
    order = Order(data, test, Budget.parse(budget), 1, 20, out, None, place / "no sets")
    plan = make_plan([get_study(str(place / f"{name}.toml"))], order)
    return Worker(order, Shelf(order.out)), next(iter(plan.jobs.values()))
