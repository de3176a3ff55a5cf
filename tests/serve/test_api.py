"""The HTTP interface: images, and what programs ask."""

from __future__ import annotations

import io
import os
import threading
from unittest import mock

import numpy as np
import pytest
from PIL import Image

import pseudoshot
from pseudoshot.data import decode
from pseudoshot.serve import session as sessions
from pseudoshot.serve.pictures import LARGE
from pseudoshot.serve.session import Session
from pseudoshot.tools.errors import PseudoshotError
from tests.pictures import KINDS, draw_trees
from tests.serve.serving import MODEL, asked, codes, labelled, png

EXAMPLES = [
    {"image": 0, "label": "ash"},
    {"image": 6, "label": "birch"},
    {"image": 13, "label": "elm"},
]
BROKEN = 12  # its number


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six images per kind, one damaged file, one link to a secret outside."""
    root = tmp_path_factory.mktemp("served")
    draw_trees(root / "images", 6)
    (root / "images" / "broken.png").write_bytes(b"\x89PNG")
    Image.new("RGB", (40, 40), "red").save(root / "secret.png")
    (root / "images" / "link.png").symlink_to(root / "secret.png")
    return root / "images"


@pytest.fixture
def empty():
    """No folder: images are uploaded."""
    session = Session(MODEL)
    with asked(session) as client:
        yield client
    session.close()


def classify(client, **fields):
    return client.post("/classify", json={"session": client.session, **fields})


def test_images_are_listed_and_shown_but_none_from_outside(client):
    about = client.get("/images").json()
    whole = [name for name in about["names"] if name is not None]
    assert whole == [f"{kind}/{i}.jpg" for kind in KINDS for i in range(6)]
    assert about["names"][BROKEN] is None
    assert set(about["suggested"]) <= set(range(len(about["names"]))) - {BROKEN}
    assert any(text.startswith("broken.png") for text in about["skipped"])
    assert "link.png: leads out of the folder" in about["skipped"]
    assert about["folder"].endswith("images")
    assert about["progress"]["stage"] == "ready"
    picture = client.get("/images/3")
    assert picture.headers["content-type"] == "image/jpeg"
    assert picture.headers["cache-control"].startswith("private")
    assert Image.open(io.BytesIO(picture.content)).size == (160, 160)
    outside = about["names"].index(None, BROKEN + 1)  # the link
    for number in (BROKEN, outside, 99, 2**31):
        assert client.get(f"/images/{number}").status_code == 404
        assert client.get(f"/images/{number}", params={"size": "large"}).status_code == 404
    for path in ("..%2f..%2fsecret.png", "../secret.png", "%2e%2e/secret.png", "x"):
        assert client.get(f"/images/{path}").status_code in (404, 422)
        assert client.get(f"/page/{path}").status_code == 404


def test_the_large_view_is_the_whole_image_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    Image.new("RGB", (3000, 1000), "red").save(tmp_path / "wide.jpg", exif=exif)
    session = Session(MODEL, tmp_path).begin().wait()
    with asked(session) as client:
        large = client.get("/images/0", params={"size": "large"})
        assert Image.open(io.BytesIO(large.content)).size == (LARGE * 1000 // 3000 + 1, LARGE)
        assert client.get("/images/0", params={"size": "huge"}).status_code == 422
    session.close()


def test_a_file_that_becomes_a_link_is_not_followed(tmp_path):
    draw_trees(tmp_path / "in", 1)
    Image.new("RGB", (9, 9)).save(tmp_path / "out.png")
    session = Session(MODEL, tmp_path / "in").begin().wait()
    (tmp_path / "in" / "ash" / "0.jpg").unlink()
    (tmp_path / "in" / "ash" / "0.jpg").symlink_to(tmp_path / "out.png")
    with asked(session) as client:
        for size in ("small", "large"):
            answer = client.get("/images/0", params={"size": size})
            assert answer.status_code == 422
            assert "leads out of the folder" in answer.json()["detail"]


def test_a_folder_that_was_read_with_its_links_is_served_without(tmp_path):
    draw_trees(tmp_path / "in", 1)
    Image.new("RGB", (9, 9)).save(tmp_path / "out.png")
    (tmp_path / "in" / "ash" / "link.png").symlink_to(tmp_path / "out.png")
    for _ in range(2):  # either may have filled the cache
        assert "ash/link.png" in pseudoshot.load_data(tmp_path / "in", size=32).files
        served = Session(MODEL, tmp_path / "in").begin().wait()
        assert served.names == ["ash/0.jpg", None, "birch/0.jpg", "elm/0.jpg"]


def test_nothing_outside_is_opened_or_even_listed(tmp_path, monkeypatch):
    draw_trees(tmp_path / "far away", 2)
    draw_trees(tmp_path / "in", 1)
    (tmp_path / "in" / "elsewhere").symlink_to(tmp_path / "far away")
    (tmp_path / "in" / "ash" / "within.jpg").symlink_to(tmp_path / "in" / "elm" / "0.jpg")
    opened, whole = [], decode.decode
    monkeypatch.setattr(
        decode, "decode", lambda file, *rest: (opened.append(file), whole(file, *rest))[1]
    )
    session = Session(MODEL, tmp_path / "in").begin().wait()
    assert session.names == ["ash/0.jpg", "ash/within.jpg", "birch/0.jpg", "elm/0.jpg"]
    assert len(opened) == 4
    assert not any("far away" in str(file) for file in opened)


def test_names_that_are_no_text_are_listed(tmp_path):
    for name in (b"caf\xe9.png", b"caf\xe8.png"):
        Image.new("RGB", (20, 20)).save(tmp_path / "plain.png")
        (tmp_path / "plain.png").rename(tmp_path / os.fsdecode(name))
    with asked(Session(MODEL, tmp_path).begin().wait()) as client:
        names = client.get("/images").json()["names"]
        assert names == ["caf?.png", "caf? (2).png"]  # each its own
        assert client.get("/images/1").status_code == 200
        labelled(client, a=names[:1], b=names[1:])
        assert client.post("/csv", json={"session": client.session}).is_success


def test_the_server_answers_while_images_are_prepared_and_says_how_far(tmp_path, monkeypatch):
    draw_trees(tmp_path, 4)
    monkeypatch.setattr(sessions, "CHUNK", 5)
    go_on, begun = threading.Semaphore(0), threading.Semaphore(0)
    session = Session(MODEL, tmp_path)
    whole = session._embedded

    def one_at_a_time(pixels):
        begun.release()
        go_on.acquire()
        return whole(pixels)

    session._embedded = one_at_a_time
    with asked(session) as client:
        assert client.get("/progress").json()["stage"] == "listing"
        assert client.get("/images").json()["names"] == []
        session.begin()
        begun.acquire()
        about = client.get("/progress").json()
        assert (about["stage"], about["done"], about["total"]) == ("embedding", 0, 12)
        assert client.get("/images/0").status_code == 200
        labelled(client, ash=["ash/0.jpg"], birch=["birch/0.jpg"])
        nothing = client.post("/sort", json={"session": client.session}).json()
        assert nothing["classes"] == []
        go_on.release()
        begun.acquire()
        about = client.get("/progress").json()
        assert about["done"] == 5
        assert about["seconds_left"] >= 0
        some = client.post("/sort", json={"session": client.session}).json()
        assert (codes(some["labels"]) == 65534).tolist() == [False] * 5 + [True] * 7
        go_on.release(2)
        session.wait()
        assert client.get("/progress").json()["stage"] == "ready"
        everything = client.post("/sort", json={"session": client.session}).json()
        assert not (codes(everything["labels"]) == 65534).any()
    session.close()


def test_what_goes_wrong_in_the_background_is_told(tmp_path, monkeypatch):
    draw_trees(tmp_path, 2)
    for error in (PseudoshotError("the model is damaged"), MemoryError("too much")):
        session = Session(MODEL, tmp_path)
        monkeypatch.setattr(session, "_embedded", mock.Mock(side_effect=error))
        session.begin().wait()
        with asked(session) as client:
            about = client.get("/progress").json()
            assert about["stage"] == "embedding"
            assert str(error) in about["error"]
            assert client.get("/images/0").status_code == 200


def test_a_session_ends_while_it_is_reading(tmp_path, monkeypatch):
    draw_trees(tmp_path, 2)
    session = Session(MODEL, tmp_path)
    monkeypatch.setattr(sessions, "list_folder", lambda *_, **__: session._stopping.wait())
    session.begin().close(5.0)
    assert not session._reader.is_alive()


def test_a_folder_without_images_is_refused_at_once(tmp_path):
    with pytest.raises(PseudoshotError, match="no images below"):
        Session(MODEL, tmp_path)
    with pytest.raises(PseudoshotError, match="is not a folder"):
        Session(MODEL, tmp_path / "nowhere")


def test_a_program_has_everything_labelled_from_a_few_examples(client):
    answer = classify(client, examples=EXAMPLES)
    assert answer.status_code == 200
    labels = np.array(answer.json()["labels"], object)
    whole = labels != None  # noqa: E711 (element by element)
    assert np.mean(labels[whole] == np.repeat(KINDS, 6)) > 0.8
    assert answer.json()["confidences"][0] == 1
    wrong = [*EXAMPLES, {"image": 1, "label": "elm"}]  # a person's word counts, right or wrong
    assert classify(client, examples=wrong).json()["labels"][1] == "elm"
    doubtful = classify(client, examples=EXAMPLES, reject=1.0).json()["labels"]
    assert doubtful.count("none of these") == 15


def test_numbers_of_another_session_are_refused(client):
    stale = {"session": "another"}
    for answer in (
        client.get("/images/0", params=stale),
        client.get("/progress", params=stale),
        client.delete("/images/0", params=stale),
        client.post("/images", params=stale, files=[("files", ("a.png", png()))]),
        client.post("/classify", json={**stale, "examples": EXAMPLES}),
        *(client.post(path, json=stale) for path in ("/sort", "/csv", "/classifier", "/propose")),
        client.post("/sort-into", json={**stale, "folder": "/x"}),
    ):
        assert answer.status_code == 409
        assert answer.json()["stale"] is True


def test_uploads_are_embedded_added_sorted_and_removed(empty):
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
    assert empty.get("/images/3", params={"size": "large"}).status_code == 200
    assert empty.get("/images").json()["names"] == ["0.png", "1.png", "2.png", "0 (2).png"]
    known = [{"image": 0, "label": "a"}, {"image": 1, "label": "b"}]
    assert classify(empty, examples=known).json()["labels"][3] == "a"
    assert empty.delete("/images/1").status_code == 204
    about = empty.get("/images").json()
    assert about["names"] == ["0.png", None, "2.png", "0 (2).png"]
    assert about["added"] == [0, 2, 3]
    assert 1 not in about["suggested"]
    assert empty.get("/images/1").status_code == 404
    assert empty.delete("/images/1").status_code == 404
    assert classify(empty, examples=known).status_code == 422
    known[1]["image"] = 2
    assert classify(empty, examples=known).json()["labels"] == ["a", None, "b", "a"]
    assert empty.post("/images", files=files[1:2]).json() == {"images": [4]}  # numbers go on


def test_an_image_of_the_folder_is_not_removed(client):
    answer = client.delete("/images/0")
    assert answer.status_code == 422
    assert client.get("/images").json()["names"][0] == "ash/0.jpg"


def test_a_dropped_folder_keeps_its_paths_but_leads_nowhere(empty):
    names = ["holiday/a.png", "holiday/b/../a.png", "/etc/x.png", "..\\..\\y.png", "\r\n", ""]
    files = [("files", (name or "x", png(i))) for i, name in enumerate(names)]
    assert empty.post("/images", files=files).status_code == 200
    found = empty.get("/images").json()["names"]
    assert found[:4] == ["holiday/a.png", "holiday/b/a.png", "etc/x.png", "y.png"]
    assert all(name and ".." not in name and not name.startswith("/") for name in found)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"examples": []}, "at least 1 item"),
        ({"examples": [{"image": 99, "label": "a"}]}, "there is no image 99"),
        ({"examples": [{"image": BROKEN, "label": "a"}]}, f"there is no image {BROKEN}"),
        ({"examples": [{"image": -1, "label": "a"}]}, "greater than or equal to 0"),
        ({"examples": [{"image": 0, "label": ""}]}, "at least 1 character"),
        ({"examples": [{"image": 0, "label": "x" * 101}]}, "at most 100 characters"),
        ({"examples": [{"image": 0, "label": "a", "path": "/etc/passwd"}]}, "not permitted"),
        ({"examples": EXAMPLES, "reject": 2}, "less than or equal to 1"),
        ({"examples": [{"image": 0, "label": "none of these"}], "reject": 0.5}, "stands for"),
        ({"examples": [{"image": 0, "label": "a\0"}]}, "match pattern"),
        ({"examples": [{"image": 0, "label": "a\nb"}]}, "match pattern"),
        ({}, "Field required"),
    ],
)
def test_malformed_requests_get_a_clear_answer(client, fields, words):
    answer = classify(client, **fields)
    assert answer.status_code == 422
    assert words in answer.text
    assert set(answer.json()) == {"detail", "stale"}


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n", png()[:200]])
def test_one_bad_upload_is_named_and_nothing_is_taken_in(empty, content):
    for path in ("/embed", "/images"):
        files = [("files", ("good.png", png())), ("files", ("bad.png", content))]
        answer = empty.post(path, files=files)
        assert answer.status_code == 422
        assert "'bad.png' cannot be read" in answer.json()["detail"]
    assert empty.get("/images").json()["names"] == []


def test_the_classifier_is_the_one_asked_for(folder):
    session = Session(MODEL, folder, "ridge").begin().wait()
    with asked(session) as client:
        labelled(client, ash=["ash/0.jpg"], elm=["elm/0.jpg"])
        assert "ridge" in client.post("/sort", json={"session": client.session}).text.lower()
    session.close()
    with pytest.raises(PseudoshotError, match="did you mean 'ridge'"):
        Session(MODEL, folder, "rigde")
