"""What the page does when the server stops, starts anew, or is still at work; and who may ask."""

from __future__ import annotations

import http.server
import shutil
import threading
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from pseudoshot.serve.session import Progress, Session
from pseudoshot.serve.store import Store
from tests.serve.browsing import (
    class_row,
    examples_of,
    label_of,
    name_class,
    serving,
    sort_from_two,
    tile,
)


def test_the_page_waits_for_a_server_that_stops_and_goes_on(page, trees, tmp_path):
    """With other numbers: there is an image more, and it comes first."""
    folder = tmp_path / "images"
    for kind in ("ash", "birch"):
        shutil.copytree(trees / kind, folder / kind)
    session = Session("conv4-cifar-fs", folder).begin().wait()
    store = Store(tmp_path / "project.sqlite", str(folder))
    with serving(session, store) as address:
        page.goto(address)
        sort_from_two(page)
        port = int(address.rsplit(":", 1)[1])
    store.close()
    session.close()
    tile(page, "ash/3.jpg").click()
    expect(page.get_by_text("The server has stopped")).to_be_visible()
    expect(page.locator("#stopped")).to_contain_text("pseudoshot serve")

    (folder / "aaa.jpg").write_bytes((trees / "elm" / "0.jpg").read_bytes())
    (folder / "birch" / "0.jpg").rename(folder / "gone.txt")
    session = Session("conv4-cifar-fs", folder).begin().wait()
    store = Store(tmp_path / "project.sqlite", str(folder))
    with serving(session, store, port):
        expect(page.locator("#stopped")).to_be_hidden()
        expect(page.locator(".tile")).to_have_count(16)
        expect(examples_of(page, "ash")).to_contain_text("1 example")
        expect(label_of(page, "ash/0.jpg")).to_have_text("ash")
        expect(page.locator("#status")).to_contain_text("1 example is of files that are not here")
        class_row(page, "birch").locator(".pick").click()
        tile(page, "birch/1.jpg").click()
        expect(page.locator("#status")).to_contain_text("16 images sorted from 2 examples")
    store.close()
    session.close()


def test_the_page_is_used_while_images_are_still_looked_at(page, trees):
    session = Session("conv4-cifar-fs", trees).begin().wait()
    ready = session.progress
    session.progress = replace(Progress("embedding", 10, 24), since=0.0)
    with serving(session) as address:
        page.goto(address)
        expect(page.locator("#work")).to_contain_text("10 of 24")
        expect(page.get_by_role("progressbar")).to_have_attribute("value", "10")
        name_class(page, "ash")
        tile(page, "ash/0.jpg").click()
        expect(examples_of(page, "ash")).to_have_text("1 example")
        session.progress = ready
        expect(page.locator("#work")).to_be_hidden()
    session.close()


def test_nothing_is_kept_in_the_browser(browser, address):
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.add_init_script(
        """for (const name of ["localStorage", "sessionStorage", "indexedDB"]) {
          const get = () => { throw new DOMException("denied", "SecurityError") };
          Object.defineProperty(window, name, { get });
        }"""
    )
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    sort_from_two(page)
    page.reload()
    expect(examples_of(page, "birch")).to_contain_text("1 example")
    assert errors == []
    context.close()


@pytest.fixture
def elsewhere():
    """Another site, on another port of this machine."""

    class Empty(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title>")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


TRIES = """async (address) => {
  const session = %s;
  const made = (tag, values) => new Promise((resolve) => {
    const element = Object.assign(document.createElement(tag), values);
    element.onload = () => resolve("loaded");
    element.onerror = () => resolve("refused");
    document.body.append(element);
  });
  const fetched = (path, options) =>
    fetch(address + path, options).then(() => "read", () => "refused");
  const post = { method: "POST", body: '{"base":0,"edits":[{"kind":"clear"}]}' };
  return {
    img: await made("img", { src: `${address}/images/0?session=${session}` }),
    script: await made("script", { src: `${address}/page/main.js` }),
    style: await made("link", { rel: "stylesheet", href: `${address}/page/page.css` }),
    fetch: await fetched("/images"),
    post: await fetched("/project/changes", post),
    simple: await fetched("/project/changes", { ...post, mode: "no-cors" }).then(() => "sent"),
  };
}"""


def test_another_sites_page_gets_nothing(page, address, elsewhere, tree_session):
    page.goto(address)
    name_class(page, "ash")
    page.goto(elsewhere)
    tries = page.evaluate(TRIES % repr(tree_session.started), address)
    sent = tries.pop("simple")
    assert sent == "sent"
    assert set(tries.values()) == {"refused"}, tries
    page.evaluate(
        """(address) => document.body.append(
          Object.assign(document.createElement("iframe"), { src: address }))""",
        address,
    )
    page.wait_for_timeout(1_000)
    framed = [frame for frame in page.frames if frame != page.main_frame]
    assert all(frame.locator("#grid").count() == 0 for frame in framed)
    page.goto(address)  # and nothing was changed by what was sent
    expect(class_row(page, "ash")).to_have_count(1)
