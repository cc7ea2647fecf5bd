"""Answers to pairs whose answer was known (gold), as a sampler is told them: from the row of the log on at which they came."""

from collections.abc import Sequence
from dataclasses import replace

from cccount_dist.sampling.ledger import GOLD, LoggedAnswer
from cccount_dist.sampling.types import KnownAnswer


class GoldAnswers:
    """Reads the log row by row. Memory: one entry for each gold answer that was not taken back."""

    def __init__(self) -> None:
        self._told: dict[str, KnownAnswer] = {}  # by the id of the answer

    def take(self, row: LoggedAnswer) -> Sequence[KnownAnswer]:
        """Return what the row says about people; nothing, unless it is a gold answer or takes one back."""
        if row.undoes is not None:
            taken_back = self._told.pop(row.undoes, None)
            return () if taken_back is None else (replace(taken_back, times=-1),)
        truth = next((value for value, source in GOLD.items() if source == row.source), None)
        if truth is None or row.value is None:
            return ()
        known = KnownAnswer(row.question_id, row.u, row.v, row.value, truth, paged=row.page is not None)
        self._told[row.id] = known
        return (known,)
