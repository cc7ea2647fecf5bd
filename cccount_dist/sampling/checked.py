"""Answers that tell about people: to pairs whose answer was known (gold), and to pairs that the same person had answered before.

A sampler is told them from the row of the log on at which they came. Memory: an entry for each of them, and for each pair that
somebody was shown alone.
"""

from collections.abc import Sequence
from dataclasses import replace

from cccount_dist.sampling.ledger import GOLD, REPEAT, LoggedAnswer
from cccount_dist.sampling.types import KnownAnswer, RepeatedAnswer


class CheckedAnswers:
    """Reads the log row by row."""

    def __init__(self) -> None:
        self._told: dict[str, KnownAnswer | RepeatedAnswer] = {}  # by the id of the answer
        self._said: dict[tuple[str, int, int], float | None] = {}  # what a person said last to a pair that was shown alone

    def take(self, row: LoggedAnswer) -> Sequence[KnownAnswer | RepeatedAnswer]:
        """Return what the row says about people; nothing, unless it is such an answer or takes one back."""
        if row.undoes is not None:
            taken_back = self._told.pop(row.undoes, None)
            return () if taken_back is None else (replace(taken_back, times=-1),)
        check = self._check(row)
        if check is None:
            return ()
        self._told[row.id] = check
        return (check,)

    def _check(self, row: LoggedAnswer) -> KnownAnswer | RepeatedAnswer | None:
        """What a row says about people. A repeat counts if the person's answer before it was to the pair alone, not on a page."""
        pair = row.annotator, min(row.u, row.v), max(row.u, row.v)
        if row.source == REPEAT:
            before = self._said.get(pair)
            if before is None or row.value is None:
                return None
            return RepeatedAnswer(row.question_id, row.u, row.v, row.value, before)
        truth = next((value for value, source in GOLD.items() if source == row.source), None)
        if truth is None:
            if row.is_vote and row.page is None:
                self._said[pair] = row.value
            return None
        if row.value is None:
            return None
        return KnownAnswer(row.question_id, row.u, row.v, row.value, truth, paged=row.page is not None)
