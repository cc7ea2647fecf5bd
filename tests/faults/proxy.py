"""A proxy on loopback that cuts, delays and duplicates traffic: raw bytes for Dask, whole HTTP requests for an object store.

Duplicated requests are answered with the second answer: what a client sees when the first one got lost and it tried again.
"""

import random
import select
import socket
import threading
import time
from contextlib import suppress
from typing import Literal

Mode = Literal["pass", "cut", "delay", "duplicate"]


class Proxy:
    """Listens on a port of its own and forwards to another one, as well as its mode lets it."""

    def __init__(self, upstream: int, *, http: bool, seed: int = 0) -> None:
        self.upstream = upstream
        self.http = http
        self.mode: Mode = "pass"
        self.seen = 0  # requests so far: how far the work is, however busy the machine
        self._chance = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_all(self) -> None:
        """Break every connection that is open at this moment."""
        for connection in list(self._open):
            _close(connection)

    def close(self) -> None:
        self._listener.close()
        self.cut_all()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._open.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with suppress(OSError):
                self._request(client) if self.http else self._stream(client)
        finally:
            self._open.discard(client)
            _close(client)

    def _stream(self, client: socket.socket) -> None:
        if self.mode == "cut":
            return
        server = socket.create_connection(("127.0.0.1", self.upstream))
        try:
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(1 << 16)
                    if not data:
                        return
                    if self.mode == "delay":
                        time.sleep(0.02)
                    (server if ready is client else client).sendall(data)
        finally:
            _close(server)

    def _request(self, client: socket.socket) -> None:
        """One request on each connection: the answer ends with the connection."""
        request = _whole_request(client)
        if not request:
            return
        self.seen += 1
        mode = self.mode
        if mode == "cut" and self._chance.random() < 0.5:  # before the server has seen it
            return
        if mode == "delay":
            time.sleep(self._chance.uniform(0.05, 0.3))
        answer = self._ask(request)
        if mode == "duplicate" and self._chance.random() < 0.5:
            answer = self._ask(request)
        if mode == "cut":  # after the server has done it: the client does not know
            return
        client.sendall(answer)

    def _ask(self, request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.upstream)) as server:
            server.sendall(request)
            parts = []
            while data := server.recv(1 << 16):
                parts.append(data)
        return b"".join(parts)


def _whole_request(client: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        more = client.recv(1 << 16)
        if not more:
            return b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    length = next((int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:")), 0)
    if any(line.lower().startswith(b"expect:") for line in lines):
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    while len(body) < length:
        body += client.recv(1 << 16)
    return b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        # A reset, not a polite end: what a machine sends that has forgotten the connection.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
