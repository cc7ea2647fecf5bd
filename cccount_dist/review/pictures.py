"""Pictures of items for the page, found by the item's number and made by processes of their own (`picturing.py`).

So nobody waits for somebody else's picture to give an answer. What is asked for twice is made once; what was made is kept in
memory up to a limit, and on disk. A picture that takes too long is given up, and not tried again for a while. Memory: 96 MB of
pictures, and in each process what one image takes to decode.
"""

import json
import logging
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from enum import IntEnum
from pathlib import Path
from typing import IO

from cccount_dist.embedding.images import UnreadableImageError
from cccount_dist.review import picturing
from storage.errors import StoreError

LOG = logging.getLogger("cccount.review")
Picture = tuple[str, bytes]  # content type, and the bytes
_ROOT = Path(__file__).resolve().parents[2]


class Side(IntEnum):
    """Longer sides in pixels. Few sizes: no client can fill the memory with others."""

    SMALL = 256
    MIDDLE = 512
    LARGE = 1024
    LARGEST = 2048


MOST_WAITING = 512  # pictures that are asked for and not made: eight sheets of 24 cells for a few people who begin at once
_MOST_BYTES = 96 * 1024 * 1024
_WORKERS = max(2, min(8, os.cpu_count() or 1))
_START_SECONDS = 60.0  # for a process to import what it needs, on a machine that has much else to do
_MARGIN_SECONDS = 2.0  # after which a process that should have ended itself is ended
GIVEN_UP = "reading it failed a moment ago: it takes too long, or breaks the decoder"
_GIVEN_UP_SECONDS = 60.0
_MOST_GIVEN_UP = 10_000


class BusyError(StoreError):
    """More pictures are asked for than can be made."""


class Pictures:
    """Encoded pictures of a collection. Threads may ask at once; the same picture is made once."""

    def __init__(self, uri_of: Callable[[int], str | None], caches: Path, *, seconds: float = picturing.SECONDS) -> None:
        self._uri_of = uri_of
        self._caches, self._seconds = caches, seconds
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], Picture] = OrderedDict()
        self._bytes = 0
        self._asked: dict[tuple[int, int], Future[Picture]] = {}
        self._given_up: dict[tuple[int, int], float] = {}  # until when it is not tried again
        self._waiting: queue.SimpleQueue[tuple[int, int, str] | None] = queue.SimpleQueue()
        self._workers: list[_Worker] = []
        self._closed = False
        self.lost: set[int] = set()  # items whose picture could not be shown when somebody last wanted to see it

    def ask(self, item: int, side: Side) -> Future[Picture]:
        """Ask for a picture; the future has it, or `UnreadableImageError` with the reason why there is none.

        `BusyError` if too many wait already.
        """
        key = (item, int(side))
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return _done(self._kept[key])
            if key in self._asked:
                return self._asked[key]
            if self._given_up.get(key, 0.0) > time.monotonic():
                raise UnreadableImageError(GIVEN_UP)
            if self._closed or len(self._asked) >= MOST_WAITING:
                raise BusyError("too many pictures are asked for at once: try again")
            uri = self._uri_of(item)
            if uri is None:
                raise UnreadableImageError("the item has no image")
            future: Future[Picture] = Future()
            self._asked[key] = future
            if len(self._workers) < min(_WORKERS, len(self._asked)):
                self._workers.append(_Worker(self._caches, self._seconds, self._serve))
        self._waiting.put((*key, uri))
        return future

    def get(self, item: int, side: Side) -> Picture:
        """Return a picture, however long it takes."""
        return self.ask(item, side).result()

    def close(self) -> None:
        """End the processes, and give up what they are at."""
        with self._lock:
            self._closed = True
            workers, self._workers = self._workers, []
        for worker in workers:
            self._waiting.put(None)
            worker.end()

    def _serve(self, worker: "_Worker") -> None:
        """What the thread of a worker does."""
        while (job := self._waiting.get()) is not None and not self._closed:
            item, side, uri = job
            try:
                found: Picture | Exception = worker.make(uri, side)
            except _GivenUpError as error:
                LOG.warning("the picture of item %d (%s) was given up: %s", item, uri, error)
                found = error
            except (StoreError, UnreadableImageError) as error:
                found = error
            except (OSError, ValueError) as error:  # somebody ended the process between two pictures
                found = StoreError(f"the process that makes pictures cannot be reached: {error}")
            self._finish((item, side), found)

    def _finish(self, key: tuple[int, int], found: "Picture | Exception") -> None:
        with self._lock:
            future = self._asked.pop(key)
            if isinstance(found, Exception):
                if isinstance(found, _GivenUpError) and len(self._given_up) < _MOST_GIVEN_UP:
                    self._given_up[key] = time.monotonic() + _GIVEN_UP_SECONDS
                if isinstance(found, UnreadableImageError):
                    self.lost.add(key[0])
            else:
                self.lost.discard(key[0])
                self._kept[key] = found
                self._bytes += len(found[1])
            while self._bytes > _MOST_BYTES:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._bytes -= len(dropped)
        if isinstance(found, Exception):
            future.set_exception(found)
        else:
            future.set_result(found)


class _GivenUpError(UnreadableImageError):
    """The process ended over this picture, by its alarm or by itself."""


class _Worker:
    """A thread with a process that it starts when there is something to do, and again after it was ended."""

    def __init__(self, caches: Path, seconds: float, serve: Callable[["_Worker"], None]) -> None:
        self._command = [sys.executable, "-P", "-m", picturing.__name__, str(caches), str(seconds)]
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._ended = False
        threading.Thread(target=serve, args=(self,), name="pictures", daemon=True).start()

    def make(self, uri: str, side: int) -> Picture:
        """Return the picture that the process makes."""
        process, fresh = self._started()
        if process.stdin is None or process.stdout is None:
            raise StoreError("the process that makes pictures has no pipes")
        if fresh and not _heard(process.stdout, _START_SECONDS):  # no fault of the picture: it may be tried again at once
            self._kill(process)
            raise StoreError(f"a process that makes pictures did not start in {_START_SECONDS:g} s")
        process.stdin.write(json.dumps({"uri": uri, "side": side}).encode() + b"\n")
        process.stdin.flush()
        # It ends itself by an alarm; one that cannot (it sleeps in the kernel) is left behind, and another takes its place.
        line = _heard(process.stdout, self._seconds + _MARGIN_SECONDS)
        if not line:
            self._kill(process)
            late = process.returncode in (None, -signal.SIGALRM, -signal.SIGKILL)
            raise _GivenUpError(f"reading it takes longer than {self._seconds:g} s" if late else GIVEN_UP)
        told = json.loads(line)
        if "problem" in told:
            raise UnreadableImageError(str(told["problem"]))
        if "broken" in told:
            raise StoreError(str(told["broken"]))
        return str(told["kind"]), process.stdout.read(int(told["size"]))

    def end(self) -> None:
        with self._lock:
            self._ended = True
            if self._process is not None:
                self._kill(self._process)

    def _started(self) -> tuple[subprocess.Popen[bytes], bool]:
        """Return the process, and whether it was started just now."""
        with self._lock:
            if self._ended:
                raise StoreError("the server ends")
            if self._process is not None and self._process.poll() is None:
                return self._process, False
            self._process = subprocess.Popen(  # noqa: S603  our own interpreter and module
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment(), start_new_session=True
            )
            return self._process, True

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        try:
            process.wait(1.0)
        except subprocess.TimeoutExpired:
            LOG.warning("process %d hangs in a read that cannot be interrupted", process.pid)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None


def _heard(pipe: IO[bytes], seconds: float) -> bytes:
    """Return the next line; empty if none comes in time, or the process has ended."""
    ready, _, _ = select.select([pipe], [], [], seconds)
    return pipe.readline() if ready else b""


def _environment() -> dict[str, str]:
    """The environment in which another process finds the very code that runs here, installed or not."""
    plain = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # nothing is multiplied there, and threads cost memory
    if "site-packages" in _ROOT.parts:
        return plain
    before = os.environ.get("PYTHONPATH")
    return {**plain, "PYTHONPATH": f"{_ROOT}{os.pathsep}{before}" if before else str(_ROOT)}


def _done(picture: Picture) -> Future[Picture]:
    future: Future[Picture] = Future()
    future.set_result(picture)
    return future


__all__ = ["BusyError", "Picture", "Pictures", "Side"]
