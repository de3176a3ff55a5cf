"""What one request may take, so that the others do not wait for it."""

from __future__ import annotations

import io
import json
import threading
import time

import anyio
import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from pseudoshot.data import decode as decoding
from pseudoshot.serve import limits, pictures, served, uploads
from pseudoshot.serve import session as sessions
from pseudoshot.serve.api import build_app
from pseudoshot.serve.session import Session
from pseudoshot.tools.errors import PseudoshotError
from tests.serve.serving import ADDRESS, MODEL, png

ANY = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
READING = ("/classify", "/sort", "/csv", "/classifier", "/propose", "/sort-into")
PATHS = (*READING, "/project/changes", "/project/import", "/embed", "/images")


@pytest.fixture(scope="module")
def session():
    session = Session(MODEL)
    session.add({f"{i}.png": png(i) for i in range(3)})
    yield session
    session.close()


def test_bodies_are_bounded_by_what_they_are_for(client, monkeypatch):
    monkeypatch.setattr(limits, "MOST_BYTES", {"/embed": 10_000})
    for path, size in (("/embed", 20_000), ("/sort", 70_000)):
        large = client.post(path, content=bytes(size))
        assert large.status_code == 413
        assert "in one request" in large.json()["detail"]
        kind = {"Content-Type": "multipart/form-data; boundary=x"}
        pieces = (b"--x\r\n" + b" " * 1000 for _ in range(size // 1000))
        undeclared = client.post(path, content=pieces, headers=kind)
        assert undeclared.status_code == 413
    assert client.post("/embed", files=[("files", ("x.png", png()))]).status_code == 200


def test_numbers_of_files_are_bounded(client, monkeypatch):
    monkeypatch.setattr(uploads, "MOST_FILES", 3)
    for path in ("/embed", "/images"):
        many = client.post(path, files=[("files", ("x.png", b""))] * 4)
        assert many.status_code == 413
    monkeypatch.setattr(sessions, "MOST_ADDED", 4)
    full = client.post("/images", files=[("files", (f"{i}.png", png())) for i in range(2)])
    assert full.status_code == 422
    assert "at most 4 images" in full.json()["detail"]


def test_a_body_that_does_not_arrive_is_given_up(session, monkeypatch):
    monkeypatch.setattr(limits, "SILENCE", 0.2)
    app = build_app(session)

    async def silent(scope):
        answers = []

        async def receive():
            await anyio.sleep(3600)

        async def send(message):
            answers.append(message)

        await app(scope, receive, send)
        return answers

    for path, kind in (
        ("/sort", "application/json"),
        ("/embed", "multipart/form-data; boundary=x"),
    ):
        headers = [(b"host", b"127.0.0.1"), (b"content-type", kind.encode())]
        scope = {
            **{"type": "http", "method": "POST", "path": path, "raw_path": path.encode()},
            **{"query_string": b"", "headers": headers, "root_path": "", "scheme": "http"},
            **{"server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1), "http_version": "1.1"},
        }
        start = time.monotonic()
        answers = anyio.run(silent, scope)
        assert answers[0]["status"] == 408
        assert time.monotonic() - start < 10


def bomb(side: int, form: str = "PNG", **options: object) -> bytes:
    file = io.BytesIO()
    Image.new("L", (side, side)).save(file, form, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [bomb(11_600), bomb(6_000), bomb(6_000, "JPEG", progressive=True)],
    ids=["134 megapixels", "36 megapixels", "progressive JPEG"],
)
def test_pixels_of_uploads_are_bounded_by_the_header_alone(client, content, monkeypatch):
    monkeypatch.setattr(decoding, "_upright", lambda _: pytest.fail("it was decoded"))
    for path in ("/embed", "/images"):
        answer = client.post(path, files=[("files", ("bomb.png", content))])
        assert answer.status_code == 422
        assert "above the limit of 33,554,432" in answer.json()["detail"]


def test_an_upload_is_decoded_once_and_a_large_photo_at_a_reduced_size(monkeypatch):
    sizes, whole = [], decoding._upright
    monkeypatch.setattr(
        decoding, "_upright", lambda image: (sizes.append(image.size), whole(image))[1]
    )
    kept = pictures.decode_upload("a.jpg", bomb(6_000, "JPEG"), 32)
    assert sizes == [(1500, 1500)]
    assert kept.pixels.shape == (32, 32, 3)
    assert Image.open(io.BytesIO(kept.large)).size == (1280, 1280)
    assert Image.open(io.BytesIO(kept.thumbnail)).size == (160, 160)
    with pytest.raises(PseudoshotError, match=r"'b\.jpg' cannot be read: 11800 x 11800"):
        pictures.decode_upload("b.jpg", bomb(11_800, "JPEG"), 32)


def test_a_turned_photo_is_turned_back_once():
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    pixels = np.zeros((60, 60, 3), np.uint8)
    pixels[:, :30, 0] = 250  # red on the left, so on top once it is upright
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", exif=exif)
    kept = pictures.decode_upload("a.jpg", file.getvalue(), 32)
    alone = pictures.upload_pixels("a.jpg", file.getvalue(), 32)
    thumbnail = np.asarray(Image.open(io.BytesIO(kept.thumbnail)))
    large = np.asarray(Image.open(io.BytesIO(kept.large)))
    for shown in (kept.pixels, alone, thumbnail, large):
        third = len(shown) // 3
        assert shown[:third, :, 0].min() > 200
        assert shown[-third:, :, 0].max() < 50


def test_uploads_wait_for_each_other_and_nobody_else_for_them(client, monkeypatch):
    """More slow uploads than there are threads, and everything else is answered."""
    go_on, decoded = threading.Event(), client.app.state.served.session.embed
    monkeypatch.setattr(
        client.app.state.served.session, "embed", lambda files: (go_on.wait(30), decoded(files))[1]
    )
    answers = []

    def upload():
        answers.append(client.post("/embed", files=[("files", ("x.png", png()))]).status_code)

    threads = [threading.Thread(target=upload) for _ in range(60)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    assert client.get("/project").status_code == 200
    assert client.get("/images/0").status_code == 200
    assert client.post("/sort", json={"session": client.session}).status_code == 200
    assert answers == []
    go_on.set()
    for thread in threads:
        thread.join()
    assert answers == [200] * 60


def test_a_long_body_is_read_off_the_event_loop(client):
    examples = [{"image": 0, "label": "a"}] * 20_000
    body = json.dumps({"session": client.session, "examples": examples}).encode()
    assert len(body) < limits.MOST_BYTES["/classify"]
    assert client.post("/classify", content=body).status_code == 200
    body = json.dumps({"session": client.session, "examples": [*examples, examples[0]]}).encode()
    assert client.post("/classify", content=body).status_code == 422


def test_far_too_many_edits_are_refused_before_they_are_parsed(client, monkeypatch):
    monkeypatch.setattr(served, "_parsed", lambda *_: pytest.fail("it was parsed"))
    edit = {"kind": "add_class", "name": "a"}
    answer = client.post("/project/changes", json={"base": 0, "edits": [edit] * 2_001})
    assert answer.status_code == 422
    assert "at most 1,000" in answer.json()["detail"]


@given(
    body=st.binary(max_size=300),
    kind=st.sampled_from(["application/json", "multipart/form-data; boundary=x", "text/plain", ""]),
    path=st.sampled_from(PATHS),
)
@ANY
def test_bytes_of_any_kind_are_answered_with_4xx(client, body, kind, path):
    answer = client.post(path, content=body, headers={"Content-Type": kind})
    assert 400 <= answer.status_code < 500
    assert isinstance(answer.json()["detail"], str)


TEXT = st.text(max_size=8) | st.sampled_from(["a", "none of these", "\ud800", "\0", "x" * 101])
NUMBER = st.integers() | st.floats() | st.sampled_from([0, 1, 2, 3, None, "1", 10**30])


@given(
    examples=st.lists(st.fixed_dictionaries({"image": NUMBER, "label": TEXT}), max_size=4),
    reject=NUMBER,
    path=st.sampled_from(READING),
)
@ANY
def test_examples_of_any_content_are_answered(client, examples, reject, path):
    fields = {"session": client.session, "reject": reject}
    body = json.dumps({**fields, "examples": examples} if path == "/classify" else fields)
    answer = client.post(path, content=body)
    assert answer.status_code == 200 or 400 <= answer.status_code < 500


@given(
    name=st.text(max_size=12) | st.sampled_from(["../../x.png", "\ud800.png", "a/b", ""]),
    content=st.binary(max_size=60) | st.just(png()),
    charset=st.sampled_from(["", "; charset=utf-16", "; charset=unicode_escape", "; charset=x"]),
)
@ANY
def test_uploads_of_any_name_are_answered(client, name, content, charset):
    named = name.encode(errors="surrogatepass").replace(b'"', b"%22").replace(b"\n", b"%0A")
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="' + named
    body = head + b'"\r\n\r\n' + content + b"\r\n--x--\r\n"
    kind = f"multipart/form-data; boundary=x{charset}"
    answer = client.post("/embed", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 200 or 400 <= answer.status_code < 500


def test_what_is_added_to_is_not_copied_and_views_keep_what_they_were_given(session):
    with TestClient(build_app(session), base_url=ADDRESS):
        before = session.view()
        rows, known = before.rows.copy(), before.known.copy()
        numbers = session.add({f"more {i}.png": png(i) for i in range(80)})
        session.remove(numbers[0])
        assert np.array_equal(before.rows, rows)
        assert np.array_equal(before.known, known)
        after = session.view()
        assert len(after.rows) == len(rows) + 80
        assert not after.known[numbers[0]]
        assert after.revision > before.revision
        for number in numbers[1:]:
            session.remove(number)
