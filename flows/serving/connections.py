"""What the review server bears from outside: how many connections, from whom, and how long each may take.

Everybody who can reach the port can open connections, before any sign-in. Three bounds hold whatever they do:

- Connections in all and of one address are counted where they are accepted, before a byte is read and before TLS. Where there
  is no room, the one that has kept the server waiting longest is closed: half a header, half a body, an idle line. One that is
  being answered is never closed for another; if all are, the new one is refused. So a person gets in through any number of
  half-open ones.
- A header, a body and a response each have their time, which no byte that trickles in makes longer.
- File descriptors: the number of connections stays well below what the process may open, so accepting never fails for want of
  one, which would stop the event loop and fill the log.

Memory: some kilobytes a connection. Time: to accept is constant, unless there is no room; then it is the number of connections.
"""

import asyncio
import ipaddress
import logging
import resource
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

LOG = logging.getLogger("cccount.review")

MOST_CONNECTIONS = 1024
MOST_OF_ONE_ADDRESS = 256  # a laboratory behind one router, or everybody behind one proxy
HEADER_SECONDS = 10.0
BODY_SECONDS = 30.0  # of 256 KB at most
RESPONSE_SECONDS = 120.0  # to read a picture over a bad line
BACKLOG = 1024  # connections that the kernel holds until they are accepted: of more, it lets people try again after a second
MOST_HEADER_BYTES = 16 * 1024
_FILES_BESIDE = 512  # descriptors for files, databases and pipes, and for what is closed and not yet gone
_AT_ONCE = 32  # connections that are accepted or refused before others get their turn


class Accepted(socket.socket):
    """A connection that says when it is closed."""

    table: "Connections | None" = None

    def close(self) -> None:
        if self.table is not None:
            self.table.left(self)
            self.table = None
        super().close()

    def shut(self) -> None:
        """Let the event loop find it closed by the other side."""
        self.table = None
        with suppress(OSError):  # it is closed already
            self.shutdown(socket.SHUT_RDWR)


@dataclass(eq=False, slots=True)
class Entry:
    """A connection, and since when the server waits for it."""

    address: str
    connection: Accepted
    since: float = field(default_factory=time.monotonic)
    answering: bool = False

    def waits(self, *, answering: bool) -> None:
        self.since, self.answering = time.monotonic(), answering


class Connections:
    """Counts connections, and closes those that wait longest where there is no room for another."""

    def __init__(self, most: int = MOST_CONNECTIONS, of_one: int = MOST_OF_ONE_ADDRESS) -> None:
        self.most, self.of_one = most, of_one
        self._entries: dict[int, Entry] = {}  # by file descriptor
        self._addresses: dict[str, dict[int, Entry]] = {}  # the same, by address

    def __len__(self) -> int:
        return len(self._entries)

    def entered(self, connection: Accepted, address: str) -> bool:
        """Take a connection in; False if there is no room for it."""
        if len(self._addresses.get(address, ())) >= self.of_one and not self._make_room(address):
            return False
        if len(self._entries) >= self.most and not self._make_room(None):
            return False
        connection.table = self
        entry = Entry(address, connection)
        self._entries[connection.fileno()] = entry
        self._addresses.setdefault(address, {})[connection.fileno()] = entry
        return True

    def left(self, connection: Accepted) -> None:
        self._forget(connection.fileno())

    def entry(self, descriptor: int) -> Entry | None:
        return self._entries.get(descriptor)

    def _make_room(self, address: str | None) -> bool:
        """Close the connection that has kept the server waiting longest, of this address or of the one that has most."""
        busiest = address or max(self._addresses, key=lambda name: len(self._addresses[name]))
        for among in (self._addresses[busiest], self._entries) if address is None else (self._addresses[busiest],):
            idle = [entry for entry in among.values() if not entry.answering]
            if idle:
                oldest = min(idle, key=lambda entry: entry.since)
                self._forget(oldest.connection.fileno())
                oldest.connection.shut()
                LOG.warning(
                    "too many connections (%d, most of them of %s): one that only waits is closed", len(self) + 1, busiest
                )
                return True
        LOG.warning("too many connections (%d, most of them of %s): a new one is refused", len(self), busiest)
        return False

    def _forget(self, descriptor: int) -> None:
        entry = self._entries.pop(descriptor, None)
        if entry is not None:
            del self._addresses[entry.address][descriptor]
            if not self._addresses[entry.address]:
                del self._addresses[entry.address]


class Listener(socket.socket):
    """A listening socket that counts what it accepts."""

    table: Connections
    _left = _AT_ONCE

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection that there is room for; after some of them say that there is none for now."""
        while self._left > 0:
            self._left -= 1
            plain, address = super().accept()
            connection = Accepted(plain.family, plain.type, plain.proto, plain.detach())
            # A response is written in two parts: without this the second waits 40 ms until the first has arrived.
            with suppress(OSError):  # who is gone already needs none
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.table.entered(connection, network_of(str(address[0]))):
                return connection, address
            connection.close()
        self._left = _AT_ONCE
        raise BlockingIOError


def network_of(address: str) -> str:
    """Return whom an address stands for: of IPv6 one household has 2^64.

    >>> network_of("192.0.2.7"), network_of("2001:db8:1:2:3:4:5:6"), network_of("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8:1:2::', '192.0.2.7')
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 4 or found.ipv4_mapped is not None:
        return str(found if found.version == 4 else found.ipv4_mapped)
    return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)).network_address)


def listening(plain: socket.socket) -> Listener:
    """Return the same socket with its connections bounded, and let this process open as many files as that takes."""
    listener = Listener(plain.family, plain.type, plain.proto, plain.detach())
    listener.table = Connections(most=_room())
    return listener


def _room() -> int:
    """Return how many connections this process may hold, after asking for more files if it has few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + _FILES_BESIDE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else max(16, min(MOST_CONNECTIONS, soft - _FILES_BESIDE))


def bounded(table: Connections) -> type[H11Protocol]:
    """Return uvicorn's protocol with a time for header, body and response, which tells the table whom it waits for."""

    class Bounded(H11Protocol):
        _timer: asyncio.TimerHandle | None = None
        _entry: Entry | None = None
        _phase: tuple[str, object] = ("", None)
        _since = 0.0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._entry = table.entry(transport.get_extra_info("socket").fileno())
            self._look()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._timer is not None:
                self._timer.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._look()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._look()

        def _look(self) -> None:
            """Begin another time if something else is waited for now; more of the same does not lengthen it."""
            if self.cycle is None or self.cycle.response_complete:
                name, seconds = "header", HEADER_SECONDS
            elif self.conn.their_state is h11.SEND_BODY:
                name, seconds = "body", BODY_SECONDS
            else:
                name, seconds = "response", RESPONSE_SECONDS
            if self._phase == (name, self.cycle):
                return
            self._phase, self._since = (name, self.cycle), self.loop.time()
            if self._entry is not None:
                self._entry.waits(answering=name == "response")
            self._again(seconds)

        def _again(self, seconds: float) -> None:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self.loop.call_later(seconds, self._cut)

        def _cut(self) -> None:
            """The time is over. Whoever still reads the response before gets the time of a response for it."""
            unread = self.transport.get_write_buffer_size() > 0
            if self._phase[0] == "header" and unread and self.loop.time() < self._since + RESPONSE_SECONDS:
                self._again(HEADER_SECONDS)
            else:
                self.transport.abort()

    return Bounded


__all__ = ["BACKLOG", "MOST_HEADER_BYTES", "Connections", "Listener", "bounded", "listening"]
