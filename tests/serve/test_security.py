"""Who is let in: names, pages of other sites, tokens; and what every answer says to browsers."""

from __future__ import annotations

import socket

import pytest
from fastapi.testclient import TestClient

from pseudoshot.serve.api import build_app
from pseudoshot.serve.security import is_loopback, names_of
from pseudoshot.serve.session import Session
from tests.serve.serving import MODEL

TOKEN = "a-token-that-nobody-guesses"
LINK = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.fixture(scope="module")
def session():
    session = Session(MODEL)
    yield session
    session.close()


@pytest.fixture
def outside(session):
    """A server that others can reach."""
    app = build_app(session, names=["photos.local"], token=TOKEN, cookie="pseudoshot-8000")
    with TestClient(app, base_url="http://photos.local:8000") as client:
        yield client


@pytest.mark.parametrize(
    ("host", "code"),
    [
        *(("127.0.0.1", 200), ("127.0.0.1:8000", 200), ("localhost:1", 200), ("LOCALHOST", 200)),
        *(("[::1]:8000", 200), ("evil.example", 400), ("127.0.0.1.evil.example", 400)),
        *(("", 400), ("[::1", 400), ("localhost:evil.example", 200), ("*", 400)),
    ],
)
def test_the_server_answers_to_its_own_names_alone(client, host, code):
    assert client.get("/images", headers={"Host": host}).status_code == code


@pytest.mark.parametrize(
    ("origin", "code"),
    [
        ("http://127.0.0.1", 200),
        ("http://evil.example", 403),
        ("http://127.0.0.1:9999", 403),  # another server of this machine
        ("http://127.0.0.1.evil.example", 403),
        ("null", 403),
        ("http://[", 403),
        ("", 403),
    ],
)
def test_scripts_of_other_sites_are_refused(client, origin, code):
    assert client.get("/images", headers={"Origin": origin}).status_code == code
    answer = client.post("/project/undo", headers={"Origin": origin})
    assert answer.status_code == (409 if code == 200 else code)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_pictures_scripts_and_frames_of_other_sites_are_refused(client, site):
    for dest in ("image", "script", "iframe", "empty", "object", "document"):
        for mode in ("no-cors", "cors", "navigate"):
            for path in ("/", "/images", "/images/0", "/page/main.js", "/project/export"):
                headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Dest": dest, "Sec-Fetch-Mode": mode}
                link = (path, dest, mode) == ("/", "document", "navigate")
                assert (client.get(path, headers=headers).status_code == 403) != link
    assert client.post("/", headers={"Sec-Fetch-Site": site, **LINK}).status_code == 403


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_our_own_page_and_an_address_typed_in_are_let_in(client, site):
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
    assert client.get("/images", headers=headers).status_code == 200


def test_every_answer_tells_browsers_what_may_not_be_done_with_it(client):
    for path, code in (("/", 200), ("/images", 200), ("/nowhere", 404), ("/images/9", 404)):
        answer = client.get(path)
        assert answer.status_code == code
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"
    refused = client.get("/", headers={"Host": "evil.example"})
    assert "frame-ancestors 'none'" in refused.headers["content-security-policy"]
    assert "set-cookie" not in client.get("/").headers


def test_beyond_loopback_nothing_is_shown_without_the_token(outside):
    for path in ("/", "/images", "/page/main.js", "/openapi.json", "/project", "/nowhere"):
        answer = outside.get(path)
        assert answer.status_code == 401
        assert "token" in answer.json()["detail"]
    assert outside.post("/project/undo").status_code == 401
    for wrong in ("", "x", TOKEN[:-1], TOKEN + "x", "é"):
        assert outside.get("/", params={"token": wrong}).status_code == 401
        headers = {"Authorization": f"Bearer {wrong}".encode()}
        assert outside.get("/images", headers=headers).status_code == 401
        cookie = {"Cookie": f"pseudoshot-8000={wrong}".encode()}
        assert outside.get("/images", headers=cookie).status_code == 401


def test_the_printed_address_opens_the_page_and_a_cookie_the_rest(outside):
    page = outside.get("/", params={"token": TOKEN})
    assert page.status_code == 200
    cookie = page.headers["set-cookie"]
    assert cookie.startswith(f"pseudoshot-8000={TOKEN};")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert outside.get("/images").status_code == 200  # the client kept it
    assert outside.get("/").status_code == 200
    outside.cookies.clear()
    assert outside.get("/images", params={"token": TOKEN}).status_code == 401
    program = {"Authorization": f"Bearer {TOKEN}"}
    assert outside.get("/images", headers=program).status_code == 200


def test_with_the_token_names_and_pages_are_still_looked_at(outside):
    program = {"Authorization": f"Bearer {TOKEN}"}
    for more in (
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        assert outside.get("/images", headers={**program, **more}).status_code in (400, 403)


def test_a_server_on_all_addresses_is_called_by_those_of_its_machine():
    with socket.create_server(("0.0.0.0", 0)) as everywhere:
        names = names_of("0.0.0.0", everywhere, ["photos.local"])
    assert {"localhost", "127.0.0.1", "photos.local", socket.gethostname()} <= set(names)
    assert "*" not in names
    with socket.create_server(("127.0.0.1", 0)) as here:
        assert names_of("127.0.0.1", here, []) == ["localhost", "127.0.0.1", "[::1]"]
    assert is_loopback("127.0.0.5")
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("fe80::1%eth0")
