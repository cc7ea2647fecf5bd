"""Pairs that people have before them, or may look at though they are on none of their sheets any more.

A question that became needless is taken off a sheet while somebody looks at it, and an answer that is taken back brings its pair
back to the screen. What they say to those is heard; so the same pair, asked by another number, goes to somebody else first. What
was taken off is kept in memory for as long as a lease lasts: a few pairs for each person.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from cccount_dist.review.checkquestions import CHECKS_FROM
from storage.handouts import Handout

Pair = tuple[int, int]  # two items, the smaller number first


class OnScreen:
    """`seconds`: how long somebody may still look at what was taken off their sheets."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._off: dict[str, dict[Pair, tuple[int, datetime]]] = {}  # person -> pair -> number of the question, and since when

    def pairs(self, annotator: str, had: Iterable[Handout], left: Iterable[Handout], now: datetime) -> dict[Pair, int]:
        """The pairs that somebody may have before them, and by which numbers; `left` of what they `had` is still open."""
        before, have = pairs_of(had), pairs_of(left)
        for pair in before.keys() - have.keys():
            self.may_see(annotator, pair, before[pair], now)
        return {**{pair: number for pair, (number, _) in self._off.get(annotator, {}).items()}, **have}

    def may_see(self, annotator: str, pair: Pair, question_id: int, now: datetime) -> None:
        """Note that somebody may look at a question which is on none of their sheets."""
        since = now - timedelta(seconds=self._seconds)
        known = self._off.get(annotator, {}).items()
        self._off[annotator] = {one: found for one, found in known if found[1] > since} | {pair: (question_id, now)}


def pairs_of(sheets: Iterable[Handout]) -> dict[Pair, int]:
    """The pairs that sheets ask about, and by which numbers; checks are no questions of the campaign."""
    shown = ((sheet.anchor, item, number) for sheet in sheets for number, item in sheet.candidates if number < CHECKS_FROM)
    return {pair_of(u, v): number for u, v, number in shown}


def pair_of(u: int, v: int) -> Pair:
    return min(u, v), max(u, v)
