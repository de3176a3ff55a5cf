"""A real server: patience with slow clients, and its end."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from pseudoshot.serve import running
from pseudoshot.serve.store import project_file
from tests.cli.entry import here, refused
from tests.pictures import draw_trees

# The console script, with shorter patience: a test does not wait half a minute.
IMPATIENT = """
import sys
from pseudoshot.serve import limits, running
running.HEADERS = running.READING = running.IDLE = limits.SILENCE = 1.0
from pseudoshot.cli import main
sys.argv = ["pseudoshot", *sys.argv[1:]]
main()
"""


@pytest.fixture
def started(tmp_path):
    """Starts servers, and ends them."""
    servers = []

    def start(*options: object, command=(sys.executable, "-c", IMPATIENT)):
        environment = {**os.environ, "PSEUDOSHOT_PROJECTS": str(tmp_path / "projects")}
        environment["TMPDIR"] = str(tmp_path)
        server = subprocess.Popen(
            [*command, "serve", "conv4-cifar-fs", "--port", "0", *map(str, options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        servers.append(server)
        return server, server.stdout.readline()

    yield start
    for server in servers:
        server.kill()
        server.communicate()


def port_of(line: str) -> int:
    return int(re.search(r":(\d+)[ /]", line)[1])


def closed_after(connection: socket.socket) -> float:
    start = time.monotonic()
    connection.settimeout(60)
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass
    return time.monotonic() - start


def test_half_requests_are_given_up_and_sigterm_ends_the_server_all_the_same(started, tmp_path):
    draw_trees(tmp_path / "trees", 2)
    server, line = started("--images", tmp_path / "trees")
    port = port_of(line)
    halves = {
        "nothing": b"",
        "half of the headers": b"POST /sort HTTP/1.1\r\nHost: 127",
        "half of a body": b"POST /sort HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{",
        "half of the next": b"GET /project HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /pro",
    }
    for what, content in halves.items():
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(content)
            assert closed_after(connection) < 40, what
    address = f"http://127.0.0.1:{port}"
    with urllib.request.urlopen(f"{address}/images") as answer:
        session = json.load(answer)["session"]
    edits = [{"kind": "add_class", "name": "kept"}]
    change = json.dumps({"base": 0, "edits": edits}).encode()
    urllib.request.urlopen(f"{address}/project/changes", change).close()
    open_ones = []
    for content in halves.values():
        open_ones.append(socket.create_connection(("127.0.0.1", port)))
        open_ones[-1].sendall(content)
    start = time.monotonic()
    server.send_signal(signal.SIGTERM)
    code = server.wait(timeout=60)
    seconds = time.monotonic() - start
    for connection in open_ones:
        connection.close()
    assert code in (128 + signal.SIGTERM, -signal.SIGTERM, 1)  # 1: no thread came to its turn
    assert seconds < running.LAST + running.AFTER_ALL + 20  # on whatever machine
    assert "Traceback" not in server.stderr.read()
    assert code == 1 or not list(tmp_path.glob("pseudoshot-*"))  # what it had for itself
    again, line = started("--images", tmp_path / "trees")
    with urllib.request.urlopen(f"http://127.0.0.1:{port_of(line)}/project") as answer:
        assert [c["name"] for c in json.load(answer)["classes"]] == ["kept"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port_of(line)}/images") as answer:
        assert json.load(answer)["session"] != session
    again.terminate()


def test_beyond_loopback_the_printed_address_has_a_token(started):
    _, line = started("--host", "0.0.0.0", "--name", "photos.local")
    token = re.search(r"/\?token=([\w-]+) ", line)[1]
    port = port_of(line)

    def status(host: str, path: str = "/images", **headers: str) -> int:
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
        request.add_header("Host", host)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    program = {"Authorization": f"Bearer {token}"}
    assert status("127.0.0.1") == 401
    assert status("127.0.0.1", **program) == 200
    assert status(f"{socket.gethostname()}:{port}", f"/?token={token}") == 200
    assert status("photos.local", **program) == 200
    assert status("evil.example", **program) == 400


def test_a_damaged_project_is_refused_before_the_server_is_there(tmp_path, monkeypatch):
    draw_trees(tmp_path / "trees", 1)
    monkeypatch.setenv("PSEUDOSHOT_PROJECTS", str(tmp_path / "projects"))
    file = project_file(tmp_path / "trees")
    file.parent.mkdir()
    file.write_bytes(b"damaged")
    result = here("serve", "conv4-cifar-fs", "--port", "0", "--images", tmp_path / "trees")
    refused(result, "is damaged")
    assert file.read_bytes() == b"damaged"


@pytest.mark.slow
def test_a_crowd_is_served_while_others_attack():
    path = Path(__file__).parents[2] / "benchmarks" / "serve.py"
    spec = importlib.util.spec_from_file_location("crowd", path)
    crowd = importlib.util.module_from_spec(spec)
    sys.modules["crowd"] = crowd  # dataclasses look there
    spec.loader.exec_module(crowd)
    outcome = crowd.measure(clients=20, seconds=6)
    for phase in (outcome.alone, outcome.attacked):
        assert len(phase.seconds) > 20
        assert not phase.errors
    assert outcome.attacked.attacks["422"] > 0
    assert max(outcome.attacked.memory) < max(outcome.alone.memory) + 600  # MB; one large image
    assert outcome.seconds_to_end < 30  # on whatever machine
