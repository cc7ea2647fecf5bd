"""How fast people answer, learnt from the log: seconds for a pair and for a page, answers in an hour of work.

A pair's seconds are what the page measured; those of a page are the sum over its answers. Long ones are cut at five times the
median: somebody went for coffee. An hour of work has no gaps of more than two minutes. Memory: the last thousand looks, and a
few numbers a person.
"""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean, median

from cccount_dist.sampling.ledger import LoggedAnswer

_LOOKS = 1000  # newest looks of each kind that the seconds are learnt from
_GAP_SECONDS = 120.0
_CUT = 5.0
_BUSY_MINUTES, _MINUTES_AHEAD, _SHEETS_AHEAD = 15, 5, 8
MOST_AHEAD = 4096


@dataclass
class _Person:
    answers: int = 0
    seconds: float = 0.0  # of work
    last: int | None = None


class Activity:
    """Reads answers as they come."""

    def __init__(self) -> None:
        self._people: dict[str, _Person] = {}
        self._pairs: deque[float] = deque(maxlen=_LOOKS)
        self._pages: deque[float] = deque(maxlen=_LOOKS)

    def take(self, rows: Iterable[LoggedAnswer]) -> None:
        given = [row for row in rows if row.undoes is None and row.is_vote and row.annotator and row.at is not None]
        for row in given:
            person = self._people.setdefault(row.annotator, _Person())
            person.answers += 1
            gap = row.seconds if person.last is None else ((row.at or 0) - person.last) / 1e6
            person.seconds += min(max(gap, 0.0), _GAP_SECONDS)
            person.last = row.at
        for (_, page), look in groupby(given, key=lambda row: (row.annotator, row.page)):
            took = [row.seconds for row in look if row.seconds > 0.0]
            if page is None:
                self._pairs.extend(took)
            elif took:
                self._pages.append(sum(took))

    @property
    def people(self) -> list[tuple[str, int, float | None]]:
        """Everybody's name, answers, and answers in an hour of work."""
        return [
            (name, p.answers, 3600.0 * p.answers / p.seconds if p.seconds > 0.0 and p.answers > 1 else None)
            for name, p in sorted(self._people.items())
        ]

    @property
    def seconds_per_pair(self) -> float | None:
        return _mean(self._pairs)

    @property
    def seconds_per_page(self) -> float | None:
        return _mean(self._pages)


def questions_ahead(rows: Iterable[LoggedAnswer], now: int, *, least: int, overlap: int) -> int:
    """Return how many questions should lie ready so that nobody waits for the next step, which may be five minutes away.

    What people, not files, answered in the last quarter of an hour before `now` (microseconds since 1970), in that time, and the
    sheets that the page of each of them has fetched already.
    """
    late = [row for row in rows if row.source == "people" and now - (row.at or 0) < _BUSY_MINUTES * 60_000_000]
    busy = math.ceil(len(late) / _BUSY_MINUTES / overlap * _MINUTES_AHEAD) + _SHEETS_AHEAD * len({row.annotator for row in late})
    return max(least, min(busy, MOST_AHEAD))


def _mean(seconds: deque[float]) -> float | None:
    if not seconds:
        return None
    most = _CUT * median(seconds)
    return fmean(min(value, most) for value in seconds)
