"""Many people at one `pseudoshot serve`, while others send it what it should not take.

    python benchmarks/serve.py [--seconds 60] [--clients 200]

A real server on loopback. First the clients alone, then the same clients while one sends images of
134 and 32 megapixels and long JSON, and ten others send half of a request and wait. What is
compared was measured in one run: a busy machine is busy for both. Then SIGTERM, with all connected.
A client looks at pictures, asks whether the project has changed, labels, and has all sorted.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import itertools
import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from pathlib import Path

import numpy as np
from PIL import Image

IMAGES = 300
PAUSE = 1.0  # seconds between what a client does, on average
HALF_SENDERS = 10

Sent = tuple[str, str, bytes, str]  # method, path, body, kind


@dataclass
class Phase:
    """What honest clients met."""

    seconds: list[float] = field(default_factory=list)  # of each answer
    errors: Counter[str] = field(default_factory=Counter)
    attacks: Counter[str] = field(default_factory=Counter)  # what became of the others
    memory: list[int] = field(default_factory=list)  # of the server, in MB, four times a second

    def percentile(self, share: float) -> float:
        return 1000 * float(np.percentile(self.seconds, share)) if self.seconds else float("nan")


@dataclass
class Outcome:
    alone: Phase
    attacked: Phase
    seconds_to_end: float


class Connection:
    """HTTP/1.1, kept open: as little as possible, for the client shares the processor."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.reader: asyncio.StreamReader | None = None

    async def ask(
        self, method: str, path: str, body: bytes = b"", kind: str = "", tries: int = 2
    ) -> int:
        for left in reversed(range(tries)):  # a connection may have been idle for too long
            try:
                if self.reader is None:
                    where = asyncio.open_connection("127.0.0.1", self.port)
                    self.reader, self.writer = await where
                return await self._ask(method, path, body, kind)
            except (ConnectionError, asyncio.IncompleteReadError):
                self.close()
                if not left:
                    raise
        raise AssertionError

    async def _ask(self, method: str, path: str, body: bytes, kind: str) -> int:
        assert self.reader is not None
        self.writer.write(head(method, path, len(body), kind) + body)
        await self.writer.drain()
        answer = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        length = re.search(rb"content-length: (\d+)", answer)
        self.content = await self.reader.readexactly(int(length[1]) if length else 0)
        if b"connection: close" in answer:
            self.close()
        return int(answer.split(b" ", 2)[1])

    def close(self) -> None:
        if self.reader is not None:
            self.writer.close()
        self.reader = None


def head(method: str, path: str, length: int, kind: str = "") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {length}"]
    lines += [f"Content-Type: {kind}"] if kind else []
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def client(port: int, session: str, phase: Phase, seed: int) -> None:
    """A person: mostly looking, at times labelling and sorting."""
    draw, connection, version = random.Random(seed), Connection(port), 0
    while True:
        await asyncio.sleep(draw.expovariate(1 / PAUSE))
        number, what = draw.randrange(IMAGES), draw.random()
        if what < 0.6:
            asked = ("GET", f"/images/{number}?session={session}")
        elif what < 0.9:
            asked = ("GET", f"/project?since={version}")
        elif what < 0.97:
            body = {"session": session}
            asked = ("POST", "/sort", json.dumps(body).encode(), "application/json")
        else:
            edit = {"kind": "label", "files": [f"{number:03d}.jpg"], "class": "ab"[number % 2]}
            body = {"base": version, "edits": [edit]}
            asked = ("POST", "/project/changes", json.dumps(body).encode(), "application/json")
        start = time.perf_counter()
        try:
            status = await connection.ask(*asked)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            phase.errors[repr(error)[:60]] += 1
            connection.close()
            continue
        phase.seconds.append(time.perf_counter() - start)
        if status not in (200, 204):
            phase.errors[str(status)] += 1
        elif asked[1].startswith("/project") and status == 200:
            version = json.loads(connection.content)["version"]


def bombs(session: str) -> list[Sent]:
    """What no server should choke on."""
    found = []
    for side in (11_585, 5_700):  # refused by its header; just allowed
        file = io.BytesIO()
        Image.new("RGB", (side, side)).save(file, "PNG")
        part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="b.png"\r\n\r\n'
        body = part + file.getvalue() + b"\r\n--x--\r\n"
        found.append(("POST", "/embed", body, "multipart/form-data; boundary=x"))
    edits = [{"kind": "label", "files": [f"{i:08d}.jpg"], "class": "a"} for i in range(65_000)]
    allowed = json.dumps({"base": 0, "edits": edits}).encode()
    found.append(("POST", "/project/changes", allowed, "application/json"))
    found.append(("POST", "/project/changes", b"[" * (63 << 20), "application/json"))
    examples = b'{"image":0,"label":"a"},' * 43_000  # just below 1 MB
    listed = b'{"session":"' + session.encode() + b'","examples":[' + examples[:-1] + b"]}"
    found.append(("POST", "/classify", listed, "application/json"))
    return found


async def attacker(port: int, sent: list[Sent], phase: Phase) -> None:
    for method, path, body, kind in itertools.cycle(sent):
        await asyncio.sleep(0.01)
        connection = Connection(port)
        try:
            phase.attacks[str(await connection.ask(method, path, body, kind, tries=1))] += 1
        except (OSError, asyncio.IncompleteReadError):
            phase.attacks["cut off"] += 1  # refused before all of it was sent
        connection.close()


async def half_sender(port: int, phase: Phase, number: int) -> None:
    """Half of the headers, or half of a body, and then nothing until the server has had enough."""
    while True:
        await asyncio.sleep(0.01)  # once the server has gone, too
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            whole = head("POST", "/sort", 1000, "application/json")
            writer.write(whole[: len(whole) // 2] if number % 2 else whole + b"{")
            await writer.drain()
            await reader.read()
            phase.attacks["half a request given up"] += 1
            writer.close()


def attack(port: int, sent: list[Sent], ended: Event, told: Queue[Counter[str]]) -> None:
    """In a process of its own, or the clients would wait for it, not for the server."""
    phase = Phase()

    async def until_the_end() -> None:
        halves = (half_sender(port, phase, number) for number in range(HALF_SENDERS))
        async with running(attacker(port, sent, phase), *halves):
            while not ended.is_set():
                await asyncio.sleep(0.1)

    asyncio.run(until_the_end())
    told.put(phase.attacks)


async def watch(pid: int, phase: Phase) -> None:
    while found := re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()):
        phase.memory.append(int(found[1]) >> 10)
        await asyncio.sleep(0.25)


@asynccontextmanager
async def running(*work) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(one) for one in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception) and not isinstance(result, asyncio.CancelledError):
                raise result


async def prepared(port: int) -> str:
    """Everything is embedded, and two classes have examples."""
    connection = Connection(port)
    while True:
        await connection.ask("GET", "/images")
        about = json.loads(connection.content)
        if about["progress"]["stage"] == "ready":
            break
        await asyncio.sleep(0.5)
    edits = [{"kind": "add_class", "name": name} for name in "ab"]
    edits += [{"kind": "label", "files": [f"{i:03d}.jpg"], "class": "ab"[i % 2]} for i in range(10)]
    body = json.dumps({"base": 0, "edits": edits}).encode()
    assert await connection.ask("POST", "/project/changes", body, "application/json") == 200
    connection.close()
    return str(about["session"])


async def measured(server: subprocess.Popen[str], port: int, clients: int, seconds: float):
    session = await prepared(port)
    alone, attacked = Phase(), Phase()

    def people(phase: Phase):
        return [client(port, session, phase, seed) for seed in range(clients)]

    warming = Phase()
    async with running(*people(warming)):
        await asyncio.sleep(seconds / 4)
    async with running(*people(alone), watch(server.pid, alone)):
        await asyncio.sleep(seconds)
    ended, told = multiprocessing.Event(), multiprocessing.Queue()
    work = (port, bombs(session), ended, told)  # made before: that costs the attacker, not us
    others = multiprocessing.Process(target=attack, args=work, daemon=True)
    others.start()
    async with running(*people(attacked), watch(server.pid, attacked)):
        await asyncio.sleep(seconds)
        start = time.monotonic()
        seen = len(attacked.seconds), Counter(attacked.errors)
        server.send_signal(signal.SIGTERM)
        await asyncio.to_thread(server.wait, 60)
        seconds_to_end = time.monotonic() - start
    ended.set()
    attacked.attacks = told.get(timeout=60)
    attacked.seconds, attacked.errors = attacked.seconds[: seen[0]], seen[1]
    return Outcome(alone, attacked, seconds_to_end)


def draw_images(folder: Path) -> None:
    draw = np.random.default_rng(0)
    folder.mkdir()
    for number in range(IMAGES):
        rough = Image.fromarray(draw.integers(0, 256, (6, 6, 3), dtype=np.uint8))
        rough.resize((640, 480), Image.Resampling.BICUBIC).save(folder / f"{number:03d}.jpg")


def measure(clients: int, seconds: float) -> Outcome:
    with tempfile.TemporaryDirectory() as temporary:
        draw_images(Path(temporary) / "images")
        command = [str(Path(sys.executable).with_name("pseudoshot")), "serve", "conv4-cifar-fs"]
        command += ["--port", "0", "--images", f"{temporary}/images"]
        folders = {"PSEUDOSHOT_PROJECTS": temporary, "PSEUDOSHOT_CACHE": f"{temporary}/cache"}
        server = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, **folders}
        )
        try:
            assert server.stdout is not None
            port = int(re.search(r":(\d+) ", server.stdout.readline())[1])
            return asyncio.run(measured(server, port, clients, seconds))
        finally:
            server.kill()
            server.wait()
            server.stdout.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=200)
    options = parser.parse_args()
    outcome = measure(options.clients, options.seconds)
    print(f"{options.clients} clients, {options.seconds:.0f} s each")
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    for name, phase in (("alone", outcome.alone), ("attacked", outcome.attacked)):
        times = ", ".join(f"p{share} {phase.percentile(share):.0f} ms" for share in (50, 95, 99))
        print(f"{name}: {len(phase.seconds)} answers, {sum(phase.errors.values())} errors, {times}")
        early = phase.memory[len(phase.memory) // 4]
        print(f"  memory {early} MB after a quarter, {phase.memory[-1]} at the end,")
        print(f"  {max(phase.memory)} at most")
        for what, count in [*phase.errors.items(), *phase.attacks.items()]:
            print(f"  {what}: {count}")
    ratio = outcome.attacked.percentile(99) / outcome.alone.percentile(99)
    print(f"p99 attacked over alone: {ratio:.2f}")
    print(f"SIGTERM ended it in {outcome.seconds_to_end:.1f} s")


if __name__ == "__main__":
    main()
