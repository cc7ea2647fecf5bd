"""Tells people who wait at the page that there may be something new for them: a request is held until the bell rings.

A held request works through every proxy, and a laptop that was closed meanwhile just asks again. Rings from any thread; who waits
is on one event loop. Memory: who waits.
"""

import asyncio
import threading
from contextlib import suppress


class Bell:
    """One for each server. People are told apart by campaign and name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str], set[asyncio.Future[None]]] = {}
        self._closed = False

    @property
    def is_closed(self) -> bool:
        """Whether the server ends: nobody should wait any more."""
        return self._closed

    def ring(self, campaign: str, annotator: str | None = None) -> None:
        """Wake whoever waits for this campaign, or one of them."""
        with self._lock:
            keys = [key for key in self._waiting if key[0] == campaign and annotator in (None, key[1])]
            woken = [one for key in keys for one in self._waiting.pop(key)]
        _wake(woken)

    def close(self) -> None:
        """Wake everybody, for good."""
        self._closed = True  # without the lock: a signal may have interrupted whoever holds it
        for waiting in list(self._waiting.values()):
            _wake(list(waiting))

    def listen(self, campaign: str, annotator: str) -> "asyncio.Future[None]":
        """Begin to listen: what rings from now on is heard by `heard`."""
        one: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.setdefault((campaign, annotator), set()).add(one)
        if self._closed:
            _wake([one])
        return one

    async def heard(self, one: "asyncio.Future[None]", seconds: float) -> bool:
        """Wait until it rings, or for so long; return whether it rang."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(one), seconds)
        return one.done()

    def leave(self, campaign: str, annotator: str, one: "asyncio.Future[None]") -> None:
        """Listen no more."""
        with self._lock:
            waiting = self._waiting.get((campaign, annotator), set())
            waiting.discard(one)
            if not waiting:
                self._waiting.pop((campaign, annotator), None)


def _wake(futures: "list[asyncio.Future[None]]") -> None:
    for one in futures:
        with suppress(RuntimeError):  # its loop is closed: nobody waits there any more
            one.get_loop().call_soon_threadsafe(_finish, one)


def _finish(one: "asyncio.Future[None]") -> None:
    if not one.done():
        one.set_result(None)
