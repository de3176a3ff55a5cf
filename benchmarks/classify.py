"""What a person waits for on the page: sorting again after a correction, and embedding a folder.

Sorting is timed as the server does it, HTTP included. Reading and embedding a folder of JPEG photos
(256 px, generated) are timed one after the other: the slower of the two is what is waited for.

    python benchmarks/classify.py
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from fastapi.testclient import TestClient
from PIL import Image

from pseudoshot.data import load as load_data
from pseudoshot.serve.api import build_app
from pseudoshot.serve.session import Session
from pseudoshot.sorting import FewShotClassifier

IMAGES, CLASSES, EXAMPLES, ROUNDS = 10_000, 10, 200, 30
DIM = 1_092  # of resnet-tiny-imagenet
PHOTOS, SIDE = 2_000, 256


def sorting() -> None:
    session = Session("conv4-cifar-fs")
    draw = np.random.default_rng(0)
    session.files = [f"{number:05}.jpg" for number in range(IMAGES)]
    session.embeddings = np.abs(draw.normal(size=(IMAGES, session.embedder.dim)))
    numbers = draw.choice(IMAGES, EXAMPLES, replace=False)
    known = {int(number): f"class {place % CLASSES}" for place, number in enumerate(numbers)}
    asked = [{"image": image, "label": label} for image, label in known.items()]
    inside, outside = [], []
    with TestClient(build_app(session), base_url="http://127.0.0.1") as client:
        for _ in range(ROUNDS):
            asked[0]["label"] = f"class {draw.integers(CLASSES)}"  # the correction
            start = time.perf_counter()
            answer = client.post("/classify", json={"examples": asked}).json()
            outside.append(1000 * (time.perf_counter() - start))
            inside.append(answer["milliseconds"])
    print(f"sorting {IMAGES:,} images again after a correction, {EXAMPLES} examples, ms:")
    print(f"  classifying           {shown(inside)}")
    print(f"  and its HTTP request  {shown(outside)}")


def choosing() -> None:
    """What choosing the classifier and calibrating on the images add to a fit and its scores."""
    draw = np.random.default_rng(0)
    embeddings = np.abs(draw.normal(size=(IMAGES, DIM)))
    print(f"fitting {CLASSES} classes and sorting {IMAGES:,} images, vectors of {DIM}, ms:")
    for examples in (10, 50, EXAMPLES):
        rows = draw.choice(IMAGES, examples, replace=False)
        labels = np.arange(examples) % CLASSES
        taken: dict[str, list[float]] = {"fixed": [], "auto": []}
        for _ in range(ROUNDS):  # in turn: another program slows both
            for name, options in (
                ("fixed", {"classifier": "ridge"}),
                ("auto", {"unlabelled": embeddings}),
            ):
                start = time.perf_counter()
                classifier = FewShotClassifier(**options).fit(embeddings[rows], labels)
                classifier.predict_proba(embeddings)
                taken[name].append(1000 * (time.perf_counter() - start))
        ratios = np.divide(taken["auto"], taken["fixed"])
        print(
            f"  {examples:3} examples: ridge alone {shown(taken['fixed'])}, auto, calibrated on "
            f"the images {shown(taken['auto'])}, times {np.median(ratios):.1f}"
        )


def embedding() -> None:
    draw = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PSEUDOSHOT_CACHE"] = f"{folder}/cache"
        photos = Path(folder, "photos")
        photos.mkdir()
        for number in range(PHOTOS):
            coarse = draw.integers(0, 256, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(coarse).resize((SIDE, SIDE)).save(photos / f"{number}.jpg")
        session = Session("conv4-cifar-fs")
        start = time.perf_counter()
        images = load_data(photos, size=session.embedder.card.size)
        read = time.perf_counter()
        session.embedder.embed(images)
        embedded = time.perf_counter()
    print(f"{PHOTOS:,} JPEG photos of {SIDE} px, images a second:")
    print(f"  reading    {PHOTOS / (read - start):8,.0f}")
    print(f"  embedding  {PHOTOS / (embedded - read):8,.0f}")


def shown(times: list[float]) -> str:
    return f"{statistics.median(times):6.1f} ({min(times):.1f} to {max(times):.1f})"


if __name__ == "__main__":
    sorting()
    choosing()
    embedding()
