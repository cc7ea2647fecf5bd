"""The log of the review server: on standard error, a line for each event, and never more than somebody can read.

Whoever can reach the server can make it log. So of a flood some lines are written, and how many were left out; a line has an end.
With `CCCOUNT_LOG=json` each line is one JSON object (`flows/compute/logs.py`).
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable

from flows.compute.logs import JsonLine

LINES = 20  # in …
WINDOW_SECONDS = 10.0
LONGEST = 2000  # characters of a line
_NAMES = ("cccount", "uvicorn", "asyncio")


class Bounded(logging.Filter):
    """Lets `LINES` records pass in a window; the first one after it says how many were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._began = clock()
        self._passed = self._left_out = 0
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        with self._lock:
            now = self._clock()
            if now >= self._began + WINDOW_SECONDS:
                self._began, self._passed = now, 0
            self._passed += 1
            if self._passed > LINES:
                self._left_out += 1
                return False
            left_out, self._left_out = self._left_out, 0
        text = " ".join(record.getMessage().split())[:LONGEST]
        record.msg, record.args = (f"{text} ({left_out:,} lines before this one were left out)" if left_out else text), ()
        return True


def log_to_standard_error() -> None:
    """Let everything that the server has to say be read: warnings and errors, also of uvicorn and asyncio."""
    as_json = os.environ.get("CCCOUNT_LOG") == "json"
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLine() if as_json else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    handler.addFilter(Bounded())
    for name in _NAMES:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO if as_json and name == "cccount" else logging.WARNING)


__all__ = ["Bounded", "log_to_standard_error"]
