"""What tests of the server share: a client over a folder, a browser, and for each test of the page
a project of its own over the same images."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import sync_playwright

from pseudoshot.serve.session import Session
from tests.pictures import draw_trees
from tests.serve.browsing import BROWSERS, OFFLINE, serving
from tests.serve.serving import MODEL, asked


@pytest.fixture(scope="module")
def session(folder):
    """Of the images in the test file's `folder`."""
    session = Session(MODEL, folder).begin().wait()
    yield session
    session.close()


@pytest.fixture
def client(session):
    """Of a server with a project of its own over the test file's `session`."""
    with asked(session) as client:
        yield client


@pytest.fixture(scope="session")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no browser: install Debian's package chromium, or Chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[*OFFLINE])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def trees(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page") / "trees"
    draw_trees(folder, 8)
    return folder


@pytest.fixture(scope="session")
def tree_session(trees):
    session = Session(MODEL, trees).begin().wait()
    yield session
    session.close()


@pytest.fixture
def address(tree_session):
    with serving(tree_session) as address:
        yield address


@pytest.fixture
def without_images():
    session = Session(MODEL)
    with serving(session) as address:
        yield address
    session.close()


@pytest.fixture
def context(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    yield context
    context.close()


@pytest.fixture
def page(context):
    """A page whose scripts make no error."""
    errors: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert errors == []
