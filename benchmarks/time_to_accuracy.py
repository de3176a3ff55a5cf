"""CPU seconds to the accuracy of the paper's recipe: `--recipe paper` and `--recipe fast`.

Every training is a process on one thread; two run at a time. A finished one is
kept in the folder given and not made again. Four epochs of the paper's recipe are the mark; both
sides are read plainly and told apart by prototypes, as the paper does.

    python benchmarks/time_to_accuracy.py [FOLDER] [cifar-fs:val]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

SEEDS = (0, 1, 2)
EPOCHS = {"paper": 4, "fast": 10}  # of 299 and of 150 steps
PLAIN = ("--reading", "plain", "--classifier", "prototype")


def measured(folder: Path, data: str, recipe: str, seed: int) -> tuple[float, list[float]]:
    """CPU seconds of a training, and its accuracy at each shot."""
    run, seconds = folder / f"{recipe}-{seed}", folder / f"{recipe}-{seed}.seconds"
    if not seconds.exists():
        options = ["--recipe", recipe, "--epochs", str(EPOCHS[recipe]), "--seed", str(seed)]
        seconds.write_text(str(cpu_seconds("train", "cifar-fs", *options, "--out", str(run))))
    printed = subprocess.run(
        command("evaluate", str(run), data, *PLAIN, "--json"),
        env=one_thread(), capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    results = json.loads(printed)["results"]
    shown = "  ".join(f"{r['accuracy']:.2f} ± {r['interval']:.2f}" for r in results)
    spent = float(seconds.read_text())
    print(f"{recipe:5} seed {seed}: {spent:6.0f} CPU s   {shown}", flush=True)
    return spent, [r["accuracy"] for r in results]


def cpu_seconds(*arguments: str) -> float:
    process = subprocess.Popen(command(*arguments), env=one_thread(), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{arguments} ended with {status}")
    return usage.ru_utime + usage.ru_stime


def command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("pseudoshot")), *arguments]


def one_thread() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/time-to-accuracy")
    data = sys.argv[2] if len(sys.argv) > 2 else "cifar-fs"
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{data}, 5-way, 1 / 5 / 20 / 50 shots")
    jobs = [(recipe, seed) for seed in SEEDS for recipe in EPOCHS]
    with ThreadPoolExecutor(2) as pool:
        done = dict(zip(jobs, pool.map(lambda j: measured(folder, data, *j), jobs), strict=True))
    for recipe in EPOCHS:
        spent, accuracies = zip(*(done[recipe, seed] for seed in SEEDS), strict=True)
        means = "  ".join(f"{mean:.2f}" for mean in np.mean(accuracies, 0))
        print(f"{recipe:5} mean  : {np.mean(spent):6.0f} CPU s   {means}")
    ratios = [done["fast", seed][0] / done["paper", seed][0] for seed in SEEDS]
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(f"fast / paper, CPU seconds: {np.median(ratios):.2f} ({spread})")


if __name__ == "__main__":
    main()
