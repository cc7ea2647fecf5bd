"""What each person did last: for the strip of recent answers, and for taking them back. Memory: some answers a person."""

from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cccount_dist.review.sheets import Answered
from cccount_dist.sampling.ledger import Ledger, LoggedAnswer, is_firm, is_flag
from cccount_dist.sampling.questions.same import SAME_QUESTION

DEEP = 10  # looks that can be undone: a look is a pair, a page, or a flag with what it answered
_KEPT = 4 * DEEP  # looks that are remembered: those that were taken back must not use up the ten
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class History:
    """The last looks of everybody."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._looks: dict[str, deque[list[str]]] = {}

    def take(self, rows: Iterable[LoggedAnswer]) -> None:
        """Read on. Answers to one page, and a flag with what it answered, are one look."""
        for row in rows:
            if row.undoes is not None or not row.annotator or is_firm(row.source):
                continue
            looks = self._looks.setdefault(row.annotator, deque(maxlen=_KEPT))
            if looks and self._belongs(row, looks[-1]):
                looks[-1].append(row.id)
            else:
                looks.append([row.id])

    def recent(self, annotator: str, count: int) -> list[Answered]:
        """The last answers that were not taken back, the newest first."""
        rows = [row for look in reversed(self._live(annotator)) for row in reversed(look)]
        return [_answered(row) for row in rows if not (is_flag(row.source) and "/" in row.id)][:count]

    def may_be_undone(self, annotator: str) -> set[str]:
        return {row.id for look in self._live(annotator)[-DEEP:] for row in look}

    def _live(self, annotator: str) -> list[list[LoggedAnswer]]:
        looks = [[row for i in look if (row := self._ledger.row(i)) is not None] for look in self._looks.get(annotator, ())]
        return [look for look in looks if look]

    def _belongs(self, row: LoggedAnswer, look: list[str]) -> bool:
        last = self._ledger.row(look[-1])
        if last is None:
            return False
        if is_flag(row.source):
            return row.id.startswith(f"{look[0]}/")
        return row.page is not None and row.page == last.page


def _answered(row: LoggedAnswer) -> Answered:
    moment = _EPOCH + timedelta(microseconds=row.at or 0)
    kind = SAME_QUESTION.sheet_of(row.page)  # a check's; the desk knows better for questions of another kind
    return Answered(row.id, row.question_id, row.u, row.v, row.value, moment, row.page, kind)
