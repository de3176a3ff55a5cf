"""The page in a browser: frames while scrolling, from a click to the new labels, and memory.

python benchmarks/page.py [ADDRESS]: of a server that runs (`pseudoshot serve --images FOLDER`, its
project empty), or of one of its own with 5,000 drawn images. Wall-clock times are those of the
machine as it is; time on the processor, which is printed beside them, depends little on what else
runs.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import CDPSession, Page, sync_playwright

COUNT = 5_000
SECONDS = 10  # of scrolling by the wheel
FRAMES = 200  # of scrolling by a script, for time on the processor
CLICKS = 9

WATCH_FRAMES = """() => {
  window.deltas = [];
  let last = performance.now();
  const step = (now) => {
    if (!deltas) return;
    deltas.push(now - last);
    last = now;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}"""
SCROLL = """async (frames) => {
  const scroller = document.getElementById("scroller");
  for (let frame = 0; frame < frames; frame++) {
    scroller.scrollTop += 300;
    await new Promise(requestAnimationFrame);
  }
}"""
CLICK = """async (place) => {
  const tiles = [...document.querySelectorAll(".tile")].slice(0, 20);
  const sure = () => tiles.map((tile) => tile.querySelector(".sure").textContent);
  const before = sure(), start = performance.now();
  const isAnew = () => sure().filter((text, index) => text !== before[index]).length > 2;
  tiles[place].click();
  while (!isAnew() && performance.now() - start < 10_000) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""


@contextmanager
def served() -> Iterator[str]:
    """A server over images of soft patterns."""
    with tempfile.TemporaryDirectory() as folder:
        draw = np.random.default_rng(0)
        for number, pixels in enumerate(draw.integers(0, 256, (COUNT, 5, 5, 3), dtype=np.uint8)):
            image = Image.fromarray(pixels).resize((64, 64), Image.Resampling.BICUBIC)
            image.save(Path(folder, f"{number}.jpg"))
        entry = str(Path(sys.executable).with_name("pseudoshot"))
        command = [entry, "serve", "conv4-cifar-fs", "--images", folder, "--port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            found = re.search(r"http://[0-9.:]+", server.stdout.readline())
            assert found is not None
            yield found[0]
        finally:
            server.terminate()
            server.wait()


def frames(page: Page) -> None:
    page.mouse.move(700, 500)
    page.evaluate(WATCH_FRAMES)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        page.mouse.wheel(0, 400)
        page.wait_for_timeout(10)
    deltas = page.evaluate("() => { const seen = deltas.slice(2); deltas = null; return seen; }")
    share = np.mean(np.array(deltas) < 17.5)
    print(
        f"frames while the wheel turns: {len(deltas) / SECONDS:.0f} per second, median "
        f"{statistics.median(deltas):.1f} ms, 95th percentile {np.percentile(deltas, 95):.1f} ms; "
        f"{share:.0%} within 17.5 ms"
    )


def spent(devtools: CDPSession) -> dict[str, float]:
    """Milliseconds of the processor on the main thread, so far."""
    found = devtools.send("Performance.getMetrics")["metrics"]
    return {one["name"]: 1000 * one["value"] for one in found}


def processor_time(page: Page, devtools: CDPSession) -> None:
    before = spent(devtools)
    page.evaluate(SCROLL, FRAMES)
    after = spent(devtools)
    parts = ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration", "TaskDuration")
    script, styles, layout, whole = ((after[one] - before[one]) / FRAMES for one in parts)
    print(
        f"processor time per frame on the main thread: {whole:.1f} ms, of which script "
        f"{script:.1f}, styles {styles:.1f}, layout {layout:.1f}"
    )


def clicks(page: Page, devtools: CDPSession) -> None:
    for name in ("one", "two"):
        if page.locator(f'.class[data-label="{name}"]').count():
            raise SystemExit("the project is not empty: press Start over on the page")
        page.get_by_label("Name a class").fill(name)
        page.get_by_role("button", name="Add", exact=True).click()
        page.locator(f'.class[data-label="{name}"].chosen').wait_for()
        for place in (0, 2) if name == "one" else (1, 3):
            page.locator(".tile").nth(place).click()
            page.wait_for_timeout(500)
    page.get_by_text("sorted from 4 examples").wait_for()
    page.wait_for_timeout(1_000)
    times, processor = [], []
    for place in range(6, 6 + CLICKS):
        before = spent(devtools)["TaskDuration"]
        times.append(page.evaluate(CLICK, place))
        processor.append(spent(devtools)["TaskDuration"] - before)
        page.wait_for_timeout(700)
    asked = page.evaluate(
        """() => Object.fromEntries(["changes", "sort"].map((name) => [name, performance
          .getEntriesByType("resource").filter((entry) => entry.name.endsWith("/" + name))
          .slice(-9).map((entry) => entry.duration)]))"""
    )
    print(
        f"from a click to the new labels: median {statistics.median(times):.0f} ms, of which "
        f"saving {statistics.median(asked['changes']):.0f} and sorting "
        f"{statistics.median(asked['sort']):.0f} (each with its way there and back); "
        f"from {min(times):.0f} to {max(times):.0f} ms; "
        f"{statistics.median(processor):.0f} ms of the processor on the page's main thread"
    )


def memory(page: Page, devtools: CDPSession) -> None:
    devtools.send("HeapProfiler.collectGarbage")
    heap = page.evaluate("performance.memory.usedJSHeapSize") / 2**20
    renderers = subprocess.run(
        ["ps", "-eo", "rss=,args="], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    ours = [int(line.split()[0]) for line in renderers if "--type=renderer" in line]
    tiles = page.locator(".tile").count()
    print(
        f"{tiles} tiles in the page; {heap:.0f} MB of JavaScript, {max(ours) / 1024:.0f} MB "
        "resident in the largest renderer process"
    )


def measure(address: str) -> None:
    browser_file = shutil.which("chromium") or shutil.which("google-chrome")
    arguments = ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_file, args=arguments)
        page = browser.new_page(viewport={"width": 1366, "height": 768})
        page.set_default_timeout(600_000)
        devtools = page.context.new_cdp_session(page)
        devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        start = time.monotonic()
        page.goto(address)
        page.locator(".tile").first.wait_for()
        print(f"first tiles after {time.monotonic() - start:.1f} s")
        page.locator("#work").wait_for(state="hidden")
        clicks(page, devtools)
        frames(page)
        processor_time(page, devtools)
        memory(page, devtools)
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1])
    else:
        with served() as own:
            measure(own)
