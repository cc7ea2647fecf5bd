"""How fast people answer, from the log: seconds for a pair and for a page, answers (pairs and pages) in an hour of work.

What came from other campaigns or from files says nothing about it. A pair's seconds are what the page measured; those of a page
are the sum over its answers. Long ones are cut at five times the median: somebody went for coffee. An hour of work has no gaps
of more than two minutes. Memory: the last thousand looks, and a few numbers a person.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean, median

from cccount_dist.campaign.costs import Costs, PageLook, learn_costs
from cccount_dist.sampling.ledger import OUTSIDE, LoggedAnswer, is_check
from cccount_dist.sampling.values import DIFFERENT
from storage.settings import Goal

_LOOKS = 1000  # newest looks of each kind that the seconds are learnt from
_GAP_SECONDS = 120.0
_CUT = 5.0
ENOUGH_ANSWERS, ENOUGH_SECONDS = 20, 120.0  # of work, from which on answers in an hour are told
_BUSY_MINUTES, _MINUTES_AHEAD = 15, 5
MOST_AHEAD = 4096
SHEETS_AHEAD, FEW_SHEETS = 8, 3  # that a person's page holds, and with which they do not wait: one is looked at, others load
ONE_OF = 10  # of so many answers one question may lie ready that would be a better one with all answers before it
_QUICK_SECONDS = 2.0  # for an answer of a quick person
LEAST, AT_FIRST = 4, 16  # questions that lie ready whoever is there; at first more, because nobody knows who will come


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
        self._pages: deque[PageLook] = deque(maxlen=_LOOKS)
        self._last: tuple[str, int] | None = None  # whose page was read last: it may go on

    def take(self, rows: Iterable[LoggedAnswer]) -> None:
        given = [row for row in rows if row.undoes is None and _is_work(row) and row.annotator and row.at is not None]
        for (name, page), look in groupby(given, key=lambda row: (row.annotator, row.page)):
            answers = list(look)
            goes_on = page is not None and self._last == (name, page)
            self._worked(name, answers, looks=len(answers) if page is None else int(not goes_on))
            took = [row.seconds for row in answers if row.seconds > 0.0]
            self._last = (name, page) if page is not None and took else None
            if page is None:
                self._pairs.extend(took)
            elif took:
                seconds, cells, clicks = self._pages.pop() if goes_on else PageLook(0.0, 0, 0)
                self._pages.append(PageLook(seconds + sum(took), cells + len(answers), clicks + sum(map(_clicks, answers))))

    def _worked(self, name: str, rows: Sequence[LoggedAnswer], looks: int) -> None:
        person = self._people.setdefault(name, _Person())
        person.answers += looks
        for row in rows:
            gap = row.seconds if person.last is None else ((row.at or 0) - person.last) / 1e6
            person.seconds += min(max(gap, 0.0), _GAP_SECONDS)
            person.last = row.at

    def answers_per_hour(self, name: str) -> float | None:
        """Somebody's answers in an hour of work; None while there are too few to say."""
        person = self._people.get(name)
        if person is None or person.answers < ENOUGH_ANSWERS or person.seconds < ENOUGH_SECONDS:
            return None
        return 3600.0 * person.answers / person.seconds

    @property
    def seconds_per_pair(self) -> float | None:
        return _mean(self._pairs)

    @property
    def seconds_per_page(self) -> float | None:
        return _mean([look.seconds for look in self._pages])

    def costs(self, goal: Goal) -> Costs:
        """What answers take, learnt from these; the goal's numbers while there are none."""
        return learn_costs(self._pairs, self._pages, pair_seconds=goal.pair_seconds, page_seconds=goal.page_seconds)


def _clicks(row: LoggedAnswer) -> int:
    """What was clicked for one cell; where nobody counted, once if it was marked."""
    return int(row.value != DIFFERENT) if row.clicks is None else row.clicks


def costs_of(rows: Iterable[LoggedAnswer], goal: Goal) -> Costs:
    """What answers take, learnt from rows of the log."""
    activity = Activity()
    activity.take(rows)
    return activity.costs(goal)


def _is_work(row: LoggedAnswer) -> bool:
    """Whether somebody answered it at the page, here."""
    return row.is_vote and row.source != "file" and (row.question_id != OUTSIDE or is_check(row.source))


@dataclass(frozen=True, slots=True)
class AtTheDesk:
    """Who is answering at this moment: so many people, who lack so many sheets to the fewest with which nobody waits."""

    people: int = 0
    missing: int = 0
    pause: float = 0.0  # seconds for which no question may come, because results are being written


def for_the_desk(desk: AtTheDesk, waiting: int, answered: int, left: int, *, independent: bool) -> int:
    """Return how many questions should lie ready where the next step is a moment away: eight sheets for each person.

    Questions that follow from answers are worth less the more of those are awaited. So of these no more than a tenth of what was
    answered, and of what is left to answer, lies ready, but always enough that nobody waits; and at the end only half of what is
    left, so that what was begun is finished and nothing new is begun. `waiting` are ready now.
    """
    few = (FEW_SHEETS + math.ceil(desk.pause / _QUICK_SECONDS)) * desk.people
    enough = max(few, (SHEETS_AHEAD + 1) * desk.people)
    if not independent:
        enough = max(few, min(enough, answered // ONE_OF, left // ONE_OF))
    least = LEAST if answered >= AT_FIRST or desk.people else AT_FIRST
    wanted = max(least, enough, waiting + desk.missing if desk.missing else 0)
    return wanted if independent or not desk.people else min(wanted, max(2 * desk.people, left // 2))


def questions_ahead(rows: Iterable[LoggedAnswer], now: int, *, least: int, overlap: int, most: int = MOST_AHEAD) -> int:
    """Return how many questions should lie ready so that nobody waits for the next step, which may be five minutes away.

    What people, not files, answered in the last quarter of an hour before `now` (microseconds since 1970), in that time, and the
    sheets that the page of each of them has fetched already; `most` at most.
    """
    late = [row for row in rows if row.source == "people" and now - (row.at or 0) < _BUSY_MINUTES * 60_000_000]
    busy = math.ceil(len(late) / _BUSY_MINUTES / overlap * _MINUTES_AHEAD) + SHEETS_AHEAD * len({row.annotator for row in late})
    return max(least, min(busy, most))


def _mean(seconds: Sequence[float]) -> float | None:
    if not seconds:
        return None
    most = _CUT * median(seconds)
    return fmean(min(value, most) for value in seconds)
