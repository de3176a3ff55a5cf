"""A server in a thread of this process, and the page as a person finds their way on it."""

from __future__ import annotations

import json
import socket
import threading
import urllib.request
from collections.abc import Callable
from contextlib import contextmanager

import uvicorn
from playwright.sync_api import Locator, Page, expect

from pseudoshot.serve.api import build_app
from pseudoshot.serve.session import Session
from pseudoshot.serve.store import Store

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OFFLINE = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)

expect.set_options(timeout=30_000)  # a busy machine is no failure


@contextmanager
def serving(session: Session, store: Store | None = None, port: int = 0):
    """The address; the server ends with the block."""
    listening = socket.create_server(("127.0.0.1", port))
    config = uvicorn.Config(
        build_app(session, store or Store()),
        log_level="warning",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()


def name_class(page: Page, name: str) -> None:
    page.get_by_label("Name a class").fill(name)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(class_row(page, name)).to_have_count(1)


def class_row(page: Page, name: str) -> Locator:
    return page.locator(f".class[data-label={json.dumps(name)}]")


def examples_of(page: Page, name: str) -> Locator:
    return class_row(page, name).locator(".count")


def tile(page: Page, file: str) -> Locator:
    return page.locator(f'.tile[title="{file}"]')


def label_of(page: Page, file: str) -> Locator:
    return tile(page, file).locator(".name")


def group(page: Page, name: str) -> Locator:
    return page.locator(f'#groups [data-group="{name}"]')


def view(page: Page, kind: str) -> Locator:
    return page.locator(f'#groups [data-view="{kind}"]')


def shown(page: Page) -> list[str]:
    """The files in sight, in the order of the page."""
    return page.locator(".tile").evaluate_all("tiles => tiles.map((tile) => tile.title)")


def sort_from_two(page: Page) -> None:
    """An example of each of two kinds of trees."""
    for name in ("ash", "birch"):
        name_class(page, name)
        tile(page, f"{name}/0.jpg").click()
        expect(tile(page, f"{name}/0.jpg")).to_contain_text("example")
    expect(page.locator("#status")).to_contain_text("sorted from 2 examples")


def asked(address: str, path: str) -> dict[str, object]:
    with urllib.request.urlopen(address + path, timeout=30) as answer:
        return json.loads(answer.read())


def wait_until(page: Page, holds: Callable[[], bool], seconds: float = 30.0) -> None:
    """What is drawn in the next frame is not there yet."""
    for _ in range(int(seconds * 10)):
        if holds():
            return
        page.wait_for_timeout(100)
    assert holds()
