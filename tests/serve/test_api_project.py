"""The project over HTTP: changes, undo, other tabs, other starts, one file."""

from __future__ import annotations

import json

import pytest

from pseudoshot.serve.session import Session
from pseudoshot.serve.store import Store
from tests.pictures import draw_trees
from tests.serve.serving import MODEL, asked, change, label, labelled

CAT = {"kind": "add_class", "name": "cat"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project") / "trees"
    draw_trees(folder, 2)
    return folder


def test_a_project_begins_empty_and_changes_by_name(client):
    assert client.get("/project").json() == {
        "version": 0,
        "classes": [],
        "examples": {},
        "settings": {"reject": None},
        "can_undo": None,
        "can_redo": None,
        "missing": 0,
    }
    answer = change(client, CAT, label(["ash/0.jpg", "ash/1.jpg"], "cat"))
    assert answer.json()["version"] == 1
    assert answer.json()["examples"] == {"ash/0.jpg": "cat", "ash/1.jpg": "cat"}
    assert answer.json()["can_undo"] == "add class cat, label 2 images"
    assert client.get("/project", params={"since": 1}).status_code == 204
    assert client.get("/project", params={"since": 0}).json() == answer.json()
    undone = client.post("/project/undo", json={}).json()
    assert (undone["version"], undone["classes"], undone["can_undo"]) == (2, [], None)
    assert client.post("/project/redo", json={}).json()["classes"] == answer.json()["classes"]


def test_nothing_to_undo_or_redo_is_a_conflict_that_is_not_stale(client):
    for path in ("/project/undo", "/project/redo"):
        answer = client.post(path, json={})
        assert answer.status_code == 409
        assert answer.json()["stale"] is False
        assert "nothing to" in answer.json()["detail"]


def test_edits_made_on_an_older_version_count_where_they_still_make_sense(client):
    labelled(client, cat=["ash/0.jpg"], dog=["elm/0.jpg"])
    change(client, {"kind": "delete_class", "name": "dog"}, base=1)
    late = change(client, label(["ash/1.jpg"], "cat"), base=1)
    assert late.status_code == 200
    assert set(late.json()["examples"]) == {"ash/0.jpg", "ash/1.jpg"}
    lost = change(client, label(["ash/1.jpg"], "dog"), base=1)
    assert lost.status_code == 409
    assert "changed meanwhile" in lost.json()["detail"]
    wrong = change(client, label(["ash/1.jpg"], "dog"), base=3)
    assert wrong.status_code == 422
    assert client.get("/project").json() == late.json()


def test_files_that_nobody_knows_are_no_examples(client):
    answer = change(client, CAT, label(["../../etc/passwd"], "cat"))
    assert answer.status_code == 422
    assert "there is no image" in answer.json()["detail"]
    assert client.get("/project").json()["classes"] == []


def test_a_restarted_server_gives_new_numbers_and_keeps_examples_by_name(tmp_path, folder):
    file = tmp_path / "p.sqlite"
    one = Session(MODEL, folder).begin().wait()
    with asked(one, Store(file, str(folder))) as client:
        labelled(client, ash=["ash/0.jpg"], elm=["elm/1.jpg"])
        before = client.get("/project").json()
        old = client.session
    (folder / "aaa.jpg").write_bytes((folder / "birch" / "0.jpg").read_bytes())
    (folder / "elm" / "1.jpg").rename(tmp_path / "gone.jpg")
    other = Session(MODEL, folder).begin().wait()
    try:
        with asked(other, Store(file, str(folder))) as client:
            stale = client.post("/sort", json={"session": old})
            assert stale.status_code == 409
            assert stale.json()["stale"] is True
            now = client.get("/project").json()
            assert now == {**before, "missing": 1}  # kept, and counted
            change(client, label(["elm/0.jpg"], "elm"), base=now["version"])
            answer = client.post("/sort", json={"session": client.session}).json()
            assert answer["classes"] == ["ash", "elm"]
            assert client.post("/project/undo").status_code == 200
    finally:
        (folder / "aaa.jpg").unlink()
        (tmp_path / "gone.jpg").rename(folder / "elm" / "1.jpg")


def test_two_servers_on_one_folder_see_each_others_changes(tmp_path, session):
    file = tmp_path / "p.sqlite"
    with asked(session, Store(file, "x")) as one, asked(session, Store(file, "x")) as other:
        change(one, CAT)
        seen = other.get("/project", params={"since": 0}).json()
        assert seen["version"] == 1
        assert other.post("/project/undo").json()["version"] == 2
        assert one.get("/project", params={"since": 1}).json()["classes"] == []


def test_a_project_goes_from_one_folder_to_another_as_one_file(client, session):
    labelled(client, ash=["ash/0.jpg"], elm=["elm/0.jpg"])
    change(client, {"kind": "set", "reject": 0.5}, base=1)
    exported = client.get("/project/export")
    assert 'filename="trees.pseudoshot.json"' in exported.headers["content-disposition"]
    before = client.get("/project").json()
    with asked(session) as other:
        change(other, CAT)
        taken = other.post("/project/import", content=exported.content).json()
        for part in ("classes", "examples", "settings"):
            assert taken[part] == before[part]
        assert taken["can_undo"] == "import a project"
        assert [c["name"] for c in other.post("/project/undo").json()["classes"]] == ["cat"]


def test_a_damaged_file_is_not_imported(client):
    labelled(client, ash=["ash/0.jpg"])
    exported = client.get("/project/export").content
    before = client.get("/project").json()
    changed = json.loads(exported) | {"examples": {"ash/1.jpg": "ash"}}
    for content in (b"", b"{}", exported[:-9], json.dumps(changed).encode()):
        answer = client.post("/project/import", content=content)
        assert answer.status_code == 422
        assert set(answer.json()) == {"detail", "stale"}
    assert client.get("/project").json() == before


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"base": 0},
        {"base": 0, "edits": []},
        {"base": -1, "edits": [CAT]},
        {"base": 0, "edits": [{"kind": "drop_table"}]},
        {"base": 0, "edits": [{**CAT, "more": 1}]},
        {"base": 0, "edits": [CAT] * 1001},
        [],
        "x",
    ],
)
def test_what_is_no_change_is_refused(client, body):
    answer = client.post("/project/changes", json=body)
    assert answer.status_code == 422
    assert "body: " in answer.json()["detail"]
    assert client.get("/project").json()["version"] == 0
