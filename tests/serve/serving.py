"""The server in this process, as its tests ask it."""

from __future__ import annotations

import base64
import io
from contextlib import contextmanager

import numpy as np
from fastapi.testclient import TestClient
from PIL import Image

from pseudoshot.serve.api import build_app

MODEL = "conv4-cifar-fs"
ADDRESS = "http://127.0.0.1"


@contextmanager
def asked(session, *given, address: str = ADDRESS, **options):
    """A client of an app over the session, each request of which carries the session's name."""
    app = build_app(session, *given, **options)
    with TestClient(app, base_url=address) as client:
        client.params = {"session": session.started}
        client.session = session.started
        yield client


def change(client, *edits: dict, base: int = 0):
    return client.post("/project/changes", json={"base": base, "edits": list(edits)})


def label(files, name):
    return {"kind": "label", "files": files, "class": name}


def labelled(client, **classes: list[str]) -> None:
    """Classes and the files that are examples of them, in place of what there was."""
    edits = [{"kind": "clear"}]
    for name, files in classes.items():
        edits += [{"kind": "add_class", "name": name}, label(files, name)]
    answer = change(client, *edits)
    assert answer.status_code == 200, answer.text


def codes(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<u2")


def png(seed: int = 0, size: tuple[int, int] = (20, 30)) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()
