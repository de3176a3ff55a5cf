"""A hundred thousand images sorted by a project's examples, as one `POST /sort` answers it.

    python benchmarks/sort_many.py [numbers an embedding has]

Embeddings are drawn, ten classes have ten examples each. All that the route does is timed, from the
examples' names to the bytes of the answer: by the clock, and on the processor, which is shared.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np

from pseudoshot.embedders import Embedder
from pseudoshot.serve.edits import AddClass, LabelFiles
from pseudoshot.serve.embeddings import Embeddings
from pseudoshot.serve.messages import Sort
from pseudoshot.serve.routes.sorting import _labels
from pseudoshot.serve.served import Served
from pseudoshot.serve.session import Session
from pseudoshot.serve.sorter import Sorter
from pseudoshot.serve.store import Store

IMAGES, CLASSES, SHOTS, REPEATS = 100_000, 10, 10, 9


def drawn_session(dim: int) -> Session:
    session = Session("conv4-cifar-fs")
    session.embedder = Embedder.of(lambda x: x.mean((2, 3)).repeat(1, dim)[:, :dim], size=8)
    session._embeddings, draw = Embeddings(dim), np.random.default_rng(0)
    numbers = session._embeddings.extend(IMAGES)
    for some in np.array_split(np.arange(IMAGES), 20):
        rows = draw.standard_normal((len(some), dim), dtype=np.float32)
        session._embeddings.fill(some, rows)
    for number in numbers:
        session._name(number, f"folder/{number}.jpg")
    return session


def main() -> None:
    dim = int(sys.argv[1]) if len(sys.argv) > 1 else 1280
    session, store, edits = drawn_session(dim), Store(), []
    for label in range(CLASSES):
        files = [f"folder/{SHOTS * label + shot}.jpg" for shot in range(SHOTS)]
        edits.append(AddClass(kind="add_class", name=f"class {label}"))
        edits.append(LabelFiles(**{"kind": "label", "files": files, "class": f"class {label}"}))
    store.change(edits)
    clock, processor = [], []
    for _ in range(REPEATS):
        here = Served(session, store, Sorter(session))  # which has no result to give again
        start, busy = time.perf_counter(), time.process_time()
        answer = _labels(here, Sort(session=session.started))
        clock.append(1000 * (time.perf_counter() - start))
        processor.append(1000 * (time.process_time() - busy))
    print(f"{IMAGES:,} images, {dim} numbers each, load {os.getloadavg()[0]:.1f}")
    print(f"{np.median(clock):.0f} ms by the clock ({min(clock):.0f} to {max(clock):.0f}),")
    print(f"{np.median(processor):.0f} ms of processors, {len(answer.body):,} bytes")
    session.close()


if __name__ == "__main__":
    main()
