"""Sorting by the project: the labels are FewShotClassifier's, wherever they are read."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import pseudoshot
from pseudoshot.serve.proposals import propose, unlike_every_example
from pseudoshot.serve.session import Session
from pseudoshot.serve.sorter import NONE, UNKNOWN
from pseudoshot.sorting import load_classifier
from tests.pictures import KINDS, draw_trees
from tests.serve.serving import MODEL, asked, change, codes, label, labelled, png

BROKEN = 20  # its number


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sorting") / "trees"
    draw_trees(folder, 10)
    (folder / "broken.jpg").write_bytes(b"no image")
    return folder


@pytest.fixture
def client(client):
    labelled(client, **{kind: [f"{kind}/{i}.jpg" for i in range(3)] for kind in KINDS})
    return client


def sort(client, **fields):
    return client.post("/sort", json={"session": client.session, **fields}).json()


def named(answer) -> list[str | None]:
    names = {**dict(enumerate(answer["classes"])), NONE: "none of these", UNKNOWN: None}
    return [names[code] for code in codes(answer["labels"])]


@pytest.mark.parametrize("classifier", [None, "logistic", "ridge"])
@pytest.mark.parametrize("reject", [None, 0.75])
def test_the_labels_are_those_of_few_shot_classifier(folder, classifier, reject):
    images = pseudoshot.load_data(folder, size=32)
    examples = {f"{kind}/{i}.jpg": kind for kind in KINDS for i in range(3)}
    rows = [images.files.index(file) for file in sorted(examples)]
    embeddings = pseudoshot.load(MODEL).centred_on(images).embed(images).double().numpy()
    alone = pseudoshot.FewShotClassifier(
        MODEL, classifier=classifier, unlabelled=embeddings, reject=reject
    )
    alone.fit(embeddings[rows], [examples[file] for file in sorted(examples)])
    session = Session(MODEL, folder, classifier).begin().wait()
    with asked(session) as client:
        labelled(client, **{kind: [f for f, k in examples.items() if k == kind] for kind in KINDS})
        answer = sort(client, reject=reject)
        labels, names = named(answer), client.get("/images").json()["names"]
        sure = codes(answer["confidences"]) / 10_000
    session.close()
    expected = dict(zip(images.files, alone.predict(embeddings), strict=True))
    probabilities = dict(zip(images.files, alone.predict_proba(embeddings).max(1), strict=True))
    assert {n for n, name in enumerate(names) if name is None} == {BROKEN}
    for number, name in enumerate(names):
        if name is not None and name not in examples:
            assert labels[number] == expected[name]
            assert sure[number] == pytest.approx(probabilities[name], abs=2e-4)
        elif name is not None:
            assert (labels[number], sure[number]) == (examples[name], 1)
    assert labels[BROKEN] is None


def test_what_is_said_of_every_image(client):
    answer = sort(client)
    assert answer["version"] == client.get("/project").json()["version"]
    assert answer["classes"] == list(KINDS)
    assert "examples right when held out" in answer["quality"]
    assert answer["classifier"]
    labels, seconds = codes(answer["labels"]), codes(answer["runners_up"])
    whole = labels != UNKNOWN
    assert np.flatnonzero(~whole).tolist() == [BROKEN]
    assert np.mean(np.array(named(answer))[whole] == np.repeat(KINDS, 10)) > 0.8
    assert (labels != seconds)[whole].all()
    distance = codes(answer["distance"])
    assert (distance[whole].min(), distance.max()) == (0, 10_000)


def test_a_correction_stands_and_doubt_is_none_of_these(client):
    change(client, label(["ash/5.jpg"], "elm"))
    assert named(sort(client))[5] == "elm"  # a person's word counts, right or wrong
    assert named(sort(client, reject=1.0)).count("none of these") == 20
    change(client, {"kind": "set", "reject": 1.0})
    assert named(sort(client)).count("none of these") == 20
    assert named(sort(client, reject=0.0)).count("none of these") == 0


def test_with_fewer_than_two_classes_nothing_is_sorted(client):
    labelled(client, ash=["ash/0.jpg"])
    change(client, {"kind": "add_class", "name": "elm"})
    answer = sort(client)
    assert answer["classes"] == []
    assert answer["labels"] == ""
    for path in ("/csv", "/classifier"):
        refused = client.post(path, json={"session": client.session})
        assert refused.status_code == 422
        assert "two classes" in refused.json()["detail"]


def test_downloads_say_what_the_page_says(client, tmp_path, folder):
    labels = [name for name in named(sort(client)) if name is not None]
    table = client.post("/csv", json={"session": client.session})
    assert "labels.csv" in table.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["label"] for row in rows] == labels
    saved = tmp_path / "classifier.safetensors"
    saved.write_bytes(client.post("/classifier", json={"session": client.session}).content)
    images = pseudoshot.load_data(folder, size=32)
    assert load_classifier(saved).predict(images).tolist() == labels


def test_images_are_sorted_into_a_new_folder_and_stay_where_they_are(client, tmp_path, folder):
    before = sorted(folder.rglob("*"))
    labels = named(sort(client))
    numbers = client.post("/images", files=[("files", ("x.png", png()))]).json()["images"]
    for copied in (False, True):
        into = tmp_path / f"sorted {copied}"
        asked_for = {"session": client.session, "folder": str(into), "copy": copied}
        answer = client.post("/sort-into", json=asked_for).json()
        assert answer == {"folder": str(into), "images": 30, "left_out": 1}
        files = sorted(path for path in into.rglob("*") if path.is_file())
        assert len(files) == 30
        assert all(path.is_symlink() != copied for path in files)
        assert (into / labels[0] / "ash" / "0.jpg").read_bytes()
        assert client.post("/sort-into", json=asked_for).json() == answer  # may be asked again
        (into / "mine.txt").write_text("precious")
        again = client.post("/sort-into", json=asked_for)
        assert again.status_code == 422
        assert "not empty" in again.json()["detail"]
    assert sorted(folder.rglob("*")) == before
    client.delete(f"/images/{numbers[0]}")


def test_where_nothing_may_be_sorted_into(client, folder):
    for place, words in (
        (str(folder / "within"), "lies within"),
        ("relative", "no full path"),
        ("/proc/nowhere", "cannot be made"),
    ):
        answer = client.post("/sort-into", json={"session": client.session, "folder": place})
        assert answer.status_code == 422, answer.text
        assert words in answer.json()["detail"]
    session = Session(MODEL)
    with asked(session) as other:
        other.post("/images", files=[("files", (f"{i}.png", png(i))) for i in range(2)])
        labelled(other, a=["0.png"], b=["1.png"])
        answer = other.post("/sort-into", json={"session": other.session, "folder": "/x"})
        assert answer.status_code == 422
        assert "--images" in answer.json()["detail"]
    session.close()


def test_groups_are_proposed_the_most_typical_first(client):
    asked_for = {"session": client.session, "count": 3}
    groups = client.post("/propose", json=asked_for).json()["groups"]
    assert sum(group["size"] for group in groups) == 21  # no example, and not the broken one
    assert BROKEN not in [number for group in groups for number in group["images"]]
    assert groups == client.post("/propose", json=asked_for).json()["groups"]
    labelled(client, ash=["ash/0.jpg"], birch=["birch/0.jpg"])
    unlike = client.post("/propose", json={**asked_for, "among": "unlike", "count": 1}).json()
    found = unlike["groups"][0]["images"]
    assert len(found) == 7
    assert np.mean([number > BROKEN for number in found]) > 0.8  # elms: there is no class of them


def test_a_group_is_of_alike_images_and_typical_is_near_its_middle():
    draw = np.random.default_rng(0)
    middles = np.eye(3, 8, dtype=np.float32)
    rows = np.repeat(middles, 100, 0) + 0.1 * draw.standard_normal((300, 8)).astype(np.float32)
    rows[7] = middles[0]
    groups = propose(rows, np.arange(300), 3)
    assert [group.size for group in groups] == [100, 100, 100]
    assert all(len({number // 100 for number in group.images}) == 1 for group in groups)
    assert max(len(group.images) for group in groups) == 60
    assert 7 in next(g.images[:5] for g in groups if g.images[0] < 100)
    assert propose(rows, np.array([], np.int64), 3) == []
    assert [g.size for g in propose(np.zeros((5, 8), np.float32), np.arange(5), 3)] == [5]
    likeness = np.array([0.1, 0.9, 0.8, 0.2, 0.7], np.float32)
    assert unlike_every_example(likeness, np.array([0, 1, 2, 3])).tolist() == [0]
