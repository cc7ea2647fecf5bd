"""Strangers who open connections and send half of what they should, while a person answers."""

import errno
import logging
import selectors
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from benchmarks.gallery import pairs_of, start_campaign
from flows.serving import connections as limits
from flows.serving.connections import Accepted, Connections, bounded, listening
from flows.serving.logs import LINES, WINDOW_SECONDS, Bounded
from storage.workspace import Workspace
from tests.attack.server import allow_files, answer_for, ends_by, most, review, slowness

HALF = b"POST /api/census/answers HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "
ANSWER_MS = 300.0


class HalfOpen:
    """Holds `count` connections from several addresses, each with half a header; one that the server closes is opened again."""

    def __init__(self, port: int, count: int, addresses: int = 10) -> None:
        self.port, self.count, self.addresses = port, count, addresses
        self.opened = 0
        self._held: set[socket.socket] = set()
        self._selector = selectors.DefaultSelector()
        self._stop = threading.Event()
        self._full = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "HalfOpen":
        allow_files(self.count + 500)
        self._thread.start()
        assert self._full.wait(60), f"only {self.opened} were opened"
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for one in self._held:
            one.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            for _ in range(min(100, self.count - len(self._held))):
                self._open()
            if self.opened >= self.count:
                self._full.set()
            for key, _ in self._selector.select(0.02):
                one = key.fileobj
                assert isinstance(one, socket.socket)
                if not self._alive(one):
                    self._selector.unregister(one)
                    self._held.discard(one)
                    one.close()

    def _open(self) -> None:
        one = socket.socket()
        one.bind((f"127.0.0.{10 + self.opened % self.addresses}", 0))
        one.setblocking(False)
        failed = one.connect_ex(("127.0.0.1", self.port))
        assert failed in (0, errno.EINPROGRESS), errno.errorcode[failed]
        self.opened += 1
        self._held.add(one)
        self._selector.register(one, selectors.EVENT_READ)
        threading.Event().wait(0.0005)
        try:
            one.send(HALF)
        except OSError:
            return  # not connected yet: an empty half-open one will do

    def _alive(self, one: socket.socket) -> bool:
        try:
            return one.recv(4096) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False


def test_somebody_answers_while_2000_connections_are_half_open(gallery: Workspace, tmp_path: Path) -> None:
    start_campaign(gallery, "census", pairs_of(48, 240))
    with review(Path(gallery.location), log=tmp_path / "log") as server:
        alone = answer_for(server.url, 1.0, questions=range(240))
        with HalfOpen(server.port, 2000) as attack:
            times = answer_for(server.url, 3.0, questions=range(240))
        assert attack.opened >= 2000
        assert most(times) < slowness(alone) * ANSWER_MS, f"{most(times):.0f} ms, nine of ten of {len(times)} answers"
        assert server.log.stat().st_size < 30_000, server.log.read_text()[:2000]
        assert ends_by(server.process, signal.SIGTERM, 20) is not None


def test_half_a_header_and_half_a_body_have_their_time(
    gallery: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import uvicorn

    from tests.servers import free_port

    for name in ("HEADER_SECONDS", "BODY_SECONDS"):
        monkeypatch.setattr(limits, name, 0.5)

    async def app(scope: dict[str, str], receive, send) -> None:  # type: ignore[no-untyped-def]
        if scope["type"] == "http":
            while (await receive()).get("more_body"):
                pass
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
            await send({"type": "http.response.body", "body": b"ok"})

    port = free_port()
    listener = listening(socket.create_server(("127.0.0.1", port)))
    config = uvicorn.Config(app, log_config=None, lifespan="off", http=bounded(listener.table), ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        for sent in (b"", b"GET / HT", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1234"):
            with socket.create_connection(("127.0.0.1", port)) as one:
                one.settimeout(20.0)
                one.sendall(sent)
                began = time.monotonic()
                for _ in range(100):  # bytes that trickle in do not lengthen it
                    time.sleep(0.1)
                    try:
                        one.sendall(b"x" if b"\r\n\r\n" not in sent else b"")
                        one.setblocking(False)
                        if one.recv(100) == b"":
                            break
                    except BlockingIOError:
                        continue
                    except OSError:
                        break
                    finally:
                        one.setblocking(True)
                else:
                    pytest.fail(f"still open after {time.monotonic() - began:.1f} s: {sent!r}")
        with socket.create_connection(("127.0.0.1", port)) as one:
            one.settimeout(20.0)
            one.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert one.recv(100).startswith(b"HTTP/1.1 200")
        deadline = time.monotonic() + 20
        while len(listener.table) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(listener.table) == 0, "every connection is counted out again"
    finally:
        server.should_exit = True
        thread.join(30)


def test_the_second_part_of_a_response_does_not_wait_for_the_first_to_arrive() -> None:
    """Without `TCP_NODELAY` each answer to somebody who is quick takes 44 ms, whatever the server does."""
    with listening(socket.create_server(("127.0.0.1", 0))) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        accepted.close()


def made(table: Connections, address: str) -> tuple[Accepted, bool]:
    ours, theirs = socket.socketpair()
    theirs.close()
    one = Accepted(ours.family, ours.type, ours.proto, ours.detach())
    return one, table.entered(one, address)


def test_the_one_that_waits_longest_makes_room_and_one_that_is_answered_stays() -> None:
    table = Connections(most=4, of_one=3)
    held = [made(table, address)[0] for address in ("a", "a", "a", "b")]
    entry = table.entry(held[0].fileno())
    assert entry is not None
    entry.waits(answering=True)
    one, taken = made(table, "c")
    assert taken
    assert table.entry(held[1].fileno()) is None, "the oldest of whoever has most, and not the one that is answered"
    assert len(table) == 4
    for there in (*held, one):
        if (found := table.entry(there.fileno())) is not None:
            found.waits(answering=True)
    refused, taken = made(table, "d")
    assert not taken
    for there in (*held, one, refused):
        there.close()
    assert len(table) == 0


def test_a_flood_of_errors_does_not_fill_the_log() -> None:
    now = [0.0]
    bound = Bounded(clock=lambda: now[0])

    def passes(text: str) -> str | None:
        record = logging.LogRecord("cccount", logging.WARNING, "", 0, text, (), None)
        return record.getMessage() if bound.filter(record) else None

    assert sum(passes(f"line {n}\nforged line " + "x" * 9999) is not None for n in range(5000)) == LINES
    now[0] += WINDOW_SECONDS
    found = passes("one\nmore")
    assert found is not None
    assert found.startswith("one more (4,980 lines before this one were left out)")
