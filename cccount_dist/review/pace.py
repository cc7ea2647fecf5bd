"""How much one person may hand in: more than anybody can look at, and far less than a machine can send.

A person has so many answers at once and gets new ones with time. Taking back and changing one's mind is dearer for everybody who
reads the log later, and rarer: it has a measure of its own. Memory: two numbers a person.
"""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fastapi import HTTPException

ANSWERS_A_MINUTE = 600  # a fast person does 60, on sheets of 24 cells some hundred
CHANGES_AT_ONCE = 240  # ten sheets of 24 cells, which is as far back as the page goes …
CHANGES_A_MINUTE = 60  # … and then one a second


@dataclass
class Pace:
    """Counts what everybody hands in. Safe for threads."""

    clock: Callable[[], float] = time.monotonic
    _left: dict[tuple[str, bool], tuple[float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, person: str, count: int, *, changes: bool = False) -> float:
        """Take so many from what the person may hand in, and return 0; or the seconds after which there are enough."""
        most, a_minute = (CHANGES_AT_ONCE, CHANGES_A_MINUTE) if changes else (ANSWERS_A_MINUTE, ANSWERS_A_MINUTE)
        with self._lock:
            now = self.clock()
            had, since = self._left.get((person, changes), (float(most), now))
            left = min(float(most), had + (now - since) * a_minute / 60.0)
            enough = left >= min(count, most)
            self._left[person, changes] = (left - count if enough else left, now)
            return 0.0 if enough else (min(count, most) - left) * 60.0 / a_minute

    def hold_up(self, person: str, count: int = 1, *, changes: bool = False) -> None:
        """Take so many, or refuse the request: the page sends it again later, and nothing is lost."""
        if (wait := self.wait(person, count, changes=changes)) > 0.0:
            raise too_fast("changes" if changes else "answers", wait)

    def spend(self, person: str, count: int) -> None:
        """Take changes that turned out to be dearer than they looked from what the person may hand in next."""
        with self._lock:
            had, since = self._left.get((person, True), (float(CHANGES_AT_ONCE), self.clock()))
            self._left[person, True] = (had - count, since)


def too_fast(what: str, seconds: float) -> HTTPException:
    """The refusal of whoever sends more than a person does, the same everywhere; with the seconds after which to try again.

    >>> refused = too_fast("answers", 2.5)
    >>> refused.status_code, refused.detail, refused.headers
    (429, 'too many answers in a minute: go on in 3 seconds', {'Retry-After': '3'})
    """
    wait = max(1, math.ceil(seconds))
    unit = "second" if wait == 1 else "seconds"
    return HTTPException(429, f"too many {what} in a minute: go on in {wait} {unit}", {"Retry-After": str(wait)})


__all__ = ["ANSWERS_A_MINUTE", "CHANGES_AT_ONCE", "Pace", "too_fast"]
