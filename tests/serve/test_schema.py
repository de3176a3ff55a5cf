"""The server says what /openapi.json says it does: schemathesis asks everything described there."""

from __future__ import annotations

import uuid

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from pydantic import TypeAdapter
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from pseudoshot.serve.api import build_app
from pseudoshot.serve.edits import Edit
from pseudoshot.serve.served import Served
from pseudoshot.serve.session import Session
from pseudoshot.serve.sorter import Sorter
from pseudoshot.serve.store import Store
from tests.pictures import draw_trees
from tests.serve.serving import MODEL, png

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schema") / "trees"
    draw_trees(folder, 2)
    session = Session(MODEL, folder).begin().wait()
    session.add({"added.png": png()})
    yield session
    session.close()


EDITS = [
    {"kind": "add_class", "name": "a"},
    {"kind": "add_class", "name": "b"},
    {"kind": "label", "files": ["ash/0.jpg"], "class": "a"},
    {"kind": "label", "files": ["elm/0.jpg"], "class": "b"},
]
ASKED = settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_every_answer_is_one_that_was_described(session, tmp_path):
    """Of a project without a word in it, and of one by which images are sorted."""
    app = build_app(session, names=("localhost", "testserver"))
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    seen = set()
    for operation in schema.get_all_operations():

        @ASKED
        @given(case=operation.ok().as_strategy())
        def ask(case):
            _within_reach(case, session, tmp_path)
            answer = case.call_and_validate(checks=CHECKS)
            seen.add((case.method, case.path, answer.status_code))

        for edits in ([], EDITS):
            store = Store()
            if edits:
                store.change(TypeAdapter(list[Edit]).validate_python(edits))
            app.state.served = Served(session, store, Sorter(session))
            ask()
    fine = {path for _, path, code in seen if code < 300}
    assert {path for _, path, _ in seen} - fine <= {"/embed", "/project/import", "/project/redo"}
    assert ("POST", "/project/undo", 409) in seen


def _within_reach(case, session, tmp_path) -> None:
    """The right session, mostly, or nothing but refusals would be seen; no folder but our own."""
    if len(repr(case.query)) % 4 and case.query and "session" in case.query:
        case.query["session"] = session.started
    if isinstance(case.body, dict):
        if "session" in case.body and len(repr(case.body)) % 4:
            case.body["session"] = session.started
        if "folder" in case.body:
            case.body["folder"] = str(tmp_path / uuid.uuid4().hex)


def test_everything_is_described(session):
    schema = build_app(session).openapi()
    assert set(schema["paths"]) == {
        *("/images", "/images/{number}", "/progress", "/project", "/project/changes"),
        *("/project/undo", "/project/redo", "/project/export", "/project/import"),
        *("/sort", "/csv", "/classifier", "/sort-into", "/propose", "/classify", "/embed"),
    }
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            codes = set(operation["responses"])
            assert {"400", "401", "403"} <= codes, path
            assert method == "get" or "413" in codes or "requestBody" not in operation, path
    text = str(schema)
    for reference in {part.split("'")[0] for part in text.split("#/components/schemas/")[1:]}:
        assert reference in schema["components"]["schemas"]
