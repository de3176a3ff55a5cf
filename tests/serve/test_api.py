"""The HTTP interface, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import os

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import pseudoshot
from pseudoshot.data import decode
from pseudoshot.serve import api
from pseudoshot.serve.api import build_app
from pseudoshot.serve.session import Session
from pseudoshot.sorting import load_classifier
from pseudoshot.tools.errors import PseudoshotError
from tests.pictures import KINDS, draw_trees

MODEL = "conv4-cifar-fs"
KNOWN = [
    {"image": 0, "label": "ash"},
    {"image": 6, "label": "birch"},
    {"image": 12, "label": "elm"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six images a kind, one damaged file, one link to a secret outside."""
    root = tmp_path_factory.mktemp("served")
    draw_trees(root / "images", 6)
    (root / "images" / "broken.png").write_bytes(b"\x89PNG")
    Image.new("RGB", (40, 40), "red").save(root / "secret.png")
    (root / "images" / "link.png").symlink_to(root / "secret.png")
    return root / "images"


@pytest.fixture(scope="module")
def session(folder):
    return Session(MODEL, folder)


@pytest.fixture
def client(session):
    with TestClient(build_app(session), base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
def empty():
    """No folder: images are uploaded."""
    with TestClient(build_app(Session(MODEL)), base_url="http://127.0.0.1") as client:
        yield client


def png(seed: int = 0, size: tuple[int, int] = (20, 30)) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def test_images_are_listed_and_shown_but_none_from_outside(client):
    about = client.get("/images").json()
    assert about["names"] == [f"{kind}/{i}.jpg" for kind in KINDS for i in range(6)]
    assert set(about["suggested"]) <= set(range(18))
    assert any(text.startswith("broken.png") for text in about["skipped"])
    assert "link.png: leads out of the folder" in about["skipped"]
    assert about["folder"].endswith("images")
    picture = client.get("/images/3")
    assert picture.headers["content-type"] == "image/jpeg"
    assert Image.open(io.BytesIO(picture.content)).size == (160, 160)
    for number in (18, -1, 10**9):
        assert client.get(f"/images/{number}").status_code == 404
    for path in ("..%2f..%2fsecret.png", "../secret.png", "%2e%2e/secret.png", "x"):
        assert client.get(f"/images/{path}").status_code in (404, 422)
        assert client.get(f"/page/{path}").status_code == 404


def test_a_file_that_becomes_a_link_is_not_followed(tmp_path):
    draw_trees(tmp_path / "in", 1)
    Image.new("RGB", (9, 9)).save(tmp_path / "out.png")
    session = Session(MODEL, tmp_path / "in")
    (tmp_path / "in" / "ash" / "0.jpg").unlink()
    (tmp_path / "in" / "ash" / "0.jpg").symlink_to(tmp_path / "out.png")
    with TestClient(build_app(session), base_url="http://127.0.0.1") as client:
        answer = client.get("/images/0")
        assert answer.status_code == 422
        assert "leads out of the folder" in answer.json()["detail"]


def test_a_folder_that_was_read_with_its_links_is_served_without(tmp_path):
    draw_trees(tmp_path / "in", 1)
    Image.new("RGB", (9, 9)).save(tmp_path / "out.png")
    (tmp_path / "in" / "ash" / "link.png").symlink_to(tmp_path / "out.png")
    inside = [f"{kind}/0.jpg" for kind in KINDS]
    for _ in range(2):  # either may have filled the cache
        assert "ash/link.png" in pseudoshot.load_data(tmp_path / "in", size=32).files
        assert Session(MODEL, tmp_path / "in").files == inside


def test_nothing_outside_is_opened_or_even_listed(tmp_path, monkeypatch):
    draw_trees(tmp_path / "far away", 2)
    draw_trees(tmp_path / "in", 1)
    (tmp_path / "in" / "elsewhere").symlink_to(tmp_path / "far away")
    (tmp_path / "in" / "ash" / "within.jpg").symlink_to(tmp_path / "in" / "elm" / "0.jpg")
    opened, whole = [], decode.decode
    monkeypatch.setattr(
        decode, "decode", lambda file, *rest: (opened.append(file), whole(file, *rest))[1]
    )
    session = Session(MODEL, tmp_path / "in")
    assert session.files == ["ash/0.jpg", "ash/within.jpg", "birch/0.jpg", "elm/0.jpg"]
    assert len(opened) == 4
    assert not any("far away" in str(file) for file in opened)


def test_a_few_examples_sort_everything_and_a_correction_stands(client):
    answer = client.post("/classify", json={"examples": KNOWN})
    assert answer.status_code == 200
    labels = answer.json()["labels"]
    assert np.mean(np.array(labels) == np.repeat(KINDS, 6)) > 0.8
    assert answer.json()["confidences"][0] == 1
    wrong = [*KNOWN, {"image": 1, "label": "elm"}]  # a person's word counts, right or wrong
    assert client.post("/classify", json={"examples": wrong}).json()["labels"][1] == "elm"
    doubtful = client.post("/classify", json={"examples": KNOWN, "reject": 1.0}).json()["labels"]
    assert doubtful.count("none of these") == 15


def test_downloads_say_what_the_page_says(client, tmp_path):
    labels = client.post("/classify", json={"examples": KNOWN}).json()["labels"]
    table = client.post("/csv", json={"examples": KNOWN})
    assert "labels.csv" in table.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["label"] for row in rows] == labels
    saved = tmp_path / "classifier.safetensors"
    saved.write_bytes(client.post("/classifier", json={"examples": KNOWN}).content)
    images = pseudoshot.load_data(client.app.state.session.folder, size=32)
    kept = [row for row, name in enumerate(images.files) if name != "link.png"]
    assert len(kept) == len(labels)
    assert load_classifier(saved).predict(images)[kept].tolist() == labels


def test_uploads_are_embedded_added_and_sorted(empty):
    files = [("files", (f"{i}.png", png(i))) for i in range(3)]
    embedded = empty.post("/embed", files=files).json()
    assert embedded["dim"] == 64
    expected = pseudoshot.FewShotClassifier(MODEL)
    expected.fit([Image.open(io.BytesIO(png(i))) for i in range(3)], [0, 1, 2])
    assert np.shape(embedded["embeddings"]) == (3, 64)
    assert expected.predict(np.array(embedded["embeddings"])).tolist() == [0, 1, 2]
    assert empty.get("/images").json()["names"] == []
    assert empty.post("/images", files=files).json() == {"images": [0, 1, 2]}
    assert empty.post("/images", files=files[:1]).json() == {"images": [3]}
    assert empty.get("/images/3").status_code == 200
    assert empty.get("/images").json()["names"] == ["0.png", "1.png", "2.png", "0 (2).png"]
    known = [{"image": 0, "label": "a"}, {"image": 1, "label": "b"}]
    assert empty.post("/classify", json={"examples": known}).json()["labels"][3] == "a"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"examples": []}, "at least 1 item"),
        ({"examples": [{"image": 99, "label": "a"}]}, "there is no image 99"),
        ({"examples": [{"image": -1, "label": "a"}]}, "greater than or equal to 0"),
        ({"examples": [{"image": 0, "label": ""}]}, "at least 1 character"),
        ({"examples": [{"image": 0, "label": "x" * 101}]}, "at most 100 characters"),
        ({"examples": [{"image": 0, "label": "a", "path": "/etc/passwd"}]}, "not permitted"),
        ({"examples": KNOWN, "reject": 2}, "less than or equal to 1"),
        ({"examples": [{"image": 0, "label": "none of these"}], "reject": 0.5}, "stands for"),
        ({"examples": [{"image": 0, "label": "a\0"}]}, "match pattern"),
        ({"examples": [{"image": 0, "label": "a\nb"}]}, "match pattern"),
        ({}, "Field required"),
        ([], "valid dictionary"),
    ],
)
def test_malformed_requests_get_a_clear_answer(client, body, words):
    for path in ("/classify", "/csv", "/classifier"):
        answer = client.post(path, json=body)
        assert answer.status_code == 422
        assert words in answer.text


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n", png()[:200]])
def test_one_bad_upload_is_named_and_nothing_is_taken_in(empty, content):
    for path in ("/embed", "/images"):
        files = [("files", ("good.png", png())), ("files", ("bad.png", content))]
        answer = empty.post(path, files=files)
        assert answer.status_code == 422
        assert "'bad.png' cannot be read" in answer.json()["detail"]
    assert empty.get("/images").json()["names"] == []


def test_pixels_are_bounded_whatever_the_size_of_the_file(empty):
    file = io.BytesIO()
    Image.new("1", (13_000, 13_000)).save(file, "PNG")
    answer = empty.post("/embed", files=[("files", ("bomb.png", file.getvalue()))])
    assert answer.status_code == 422
    assert "above the limit" in answer.json()["detail"]


def test_bodies_and_numbers_of_files_are_bounded(session, monkeypatch):
    monkeypatch.setattr(api, "MOST_BYTES", 10_000)
    monkeypatch.setattr(api, "MOST_FILES", 3)
    with TestClient(build_app(session), base_url="http://127.0.0.1") as client:
        large = client.post("/embed", files=[("files", ("x.png", bytes(20_000)))])
        assert large.status_code == 413
        assert "MB in one request" in large.json()["detail"]
        undeclared = client.post("/classify", content=(b" " * 1000 for _ in range(50)))
        assert undeclared.status_code == 413
        many = client.post("/embed", files=[("files", ("x.png", b""))] * 4)
        assert many.status_code == 413
        assert client.post("/classify", json={"examples": KNOWN}).status_code == 200


def test_other_sites_and_other_names_are_refused(client):
    assert client.get("/images", headers={"Host": "evil.example"}).status_code == 400
    from_elsewhere = {"Origin": "http://evil.example"}
    assert client.get("/images", headers=from_elsewhere).status_code == 403
    assert client.get("/images", headers={"Origin": "http://["}).status_code == 403
    assert client.get("/images", headers={"Origin": "http://127.0.0.1"}).status_code == 200


@given(
    body=st.binary(max_size=300),
    kind=st.sampled_from(["application/json", "multipart/form-data; boundary=x", "text/plain", ""]),
    path=st.sampled_from(["/classify", "/csv", "/classifier", "/embed", "/images"]),
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bytes_of_any_kind_are_answered_with_4xx(client, body, kind, path):
    answer = client.post(path, content=body, headers={"Content-Type": kind})
    assert 400 <= answer.status_code < 500


TEXT = st.text(max_size=8) | st.sampled_from(["a", "none of these", "\ud800", "\0", "x" * 101])
NUMBER = st.integers() | st.floats() | st.sampled_from([0, 1, 17, 18, None, "1", 10**30])


@given(
    examples=st.lists(st.fixed_dictionaries({"image": NUMBER, "label": TEXT}), max_size=4),
    reject=NUMBER,
    path=st.sampled_from(["/classify", "/csv", "/classifier"]),
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_examples_of_any_content_are_answered(client, examples, reject, path):
    body = json.dumps({"examples": examples, "reject": reject})
    answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200 or 400 <= answer.status_code < 500


@given(
    name=st.text(max_size=12) | st.sampled_from(["../../x.png", "\ud800.png", "a/b", ""]),
    content=st.binary(max_size=60) | st.just(png()),
    charset=st.sampled_from(["", "; charset=utf-16", "; charset=unicode_escape", "; charset=x"]),
)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_uploads_of_any_name_are_answered(client, name, content, charset):
    named = name.encode(errors="surrogatepass").replace(b'"', b"%22").replace(b"\n", b"%0A")
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="' + named
    body = head + b'"\r\n\r\n' + content + b"\r\n--x--\r\n"
    kind = f"multipart/form-data; boundary=x{charset}"
    answer = client.post("/embed", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 200 or 400 <= answer.status_code < 500


def test_the_interface_is_described(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/embed", "/classify", "/csv", "/classifier", "/images"} <= set(paths)
    assert client.get("/").headers["content-type"].startswith("text/html")
    assert client.get("/page/page.js").status_code == 200


def test_names_that_are_no_text_are_listed(tmp_path):
    name = os.fsdecode(b"caf\xe9.png")
    Image.new("RGB", (20, 20)).save(tmp_path / "plain.png")
    (tmp_path / "plain.png").rename(tmp_path / name)
    with TestClient(build_app(Session(MODEL, tmp_path)), base_url="http://127.0.0.1") as client:
        assert client.get("/images").json()["names"] == ["caf?.png"]
        assert client.get("/images/0").status_code == 200
        assert client.post("/csv", json={"examples": [{"image": 0, "label": "é"}]}).is_success


def test_the_classifier_is_the_one_asked_for(folder):
    with TestClient(build_app(Session(MODEL, folder, "ridge")), base_url="http://127.0.0.1") as one:
        answer = one.post("/classify", json={"examples": KNOWN})
        assert answer.status_code == 200
        saved = one.post("/classifier", json={"examples": KNOWN}).content
    (folder.parent / "ridge.safetensors").write_bytes(saved)
    assert load_classifier(folder.parent / "ridge.safetensors").classifier_.name == "ridge"
    with pytest.raises(PseudoshotError, match="did you mean 'ridge'"):
        Session(MODEL, folder, "rigde")
