"""What the answer log says now: the settled answer to each question, the constraint closure, contradictions, effort.

The log is a sequence of events. The ledger reads it in order and turns it into what a sampler is told, so the same log always
gives the same events. Memory and time grow with the number of answers, not with the collection; only an undo, which is rare,
looks at all answers again.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.types import Answer, Question

INFERRED = "inferred"
OUTSIDE = -1  # question_id of an answer that was not given to a question of this campaign


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    """One row of the answer log."""

    id: str
    question_id: int
    u: int
    v: int
    value: float | None
    source: str
    annotator: str = ""
    undoes: str | None = None


class Ledger:
    """Settles answers: the first one that was not taken back counts, and later ones that differ are contradictions."""

    def __init__(self) -> None:
        self.constraints = Constraints()
        self.position = 0  # rows of the log that were read
        self._rows: dict[str, LoggedAnswer] = {}
        self._votes: dict[int, list[str]] = {}  # ids that count for a question, in log order
        self._undone: set[str] = set()
        self._asked: set[int] = set()
        self._inferred: set[int] = set()
        self._pages: dict[int, int] = {}  # question that is on a page -> the page
        self._on_pages: dict[int, int] = {}  # page -> questions on it that somebody was asked
        self._paged = 0  # their sum
        self._votes_only: set[int] = set()  # questions whose answers stay out of the closure

    def know(self, questions: Iterable[Question]) -> None:
        """Learn which questions are votes and which are on a page. To be told before their answers are taken."""
        for question in questions:
            if question.page is not None:
                self._pages[question.id] = question.page
            if question.is_vote:
                self._votes_only.add(question.id)

    @property
    def questions(self) -> int:
        """Questions that somebody was asked one by one and that are answered."""
        return len(self._asked) - self._paged

    @property
    def glances(self) -> int:
        """Pages that somebody was shown and that are answered, if only in part."""
        return len(self._on_pages)

    @property
    def inferred(self) -> int:
        """Questions that the closure answered for free."""
        return len(self._inferred)

    @property
    def contradictions(self) -> int:
        """Answers that disagree with an earlier one, or with what earlier ones imply. They are kept, for votes to settle."""
        return len(self.constraints.conflicts)

    def is_answered(self, question_id: int) -> bool:
        return question_id in self._votes

    def pending(self, questions: Iterable[Question]) -> list[Question]:
        """The questions that nobody has answered yet, in order."""
        return [question for question in questions if question.id not in self._votes]

    def settled(self, question_id: int) -> LoggedAnswer | None:
        votes = self._votes.get(question_id)
        return self._rows[votes[0]] if votes else None

    def take(self, rows: Iterable[LoggedAnswer]) -> list[Answer]:
        """Read rows of the log in order and return what the sampler must be told, in order."""
        events: list[Answer] = []
        for row in rows:
            self.position += 1
            self._rows[row.id] = row
            if row.undoes is not None:
                events += self._take_back(row.undoes)
            else:
                events += self._count(row)
        return events

    def _count(self, row: LoggedAnswer) -> list[Answer]:
        if self._is_link(row):
            self.constraints.add(row.u, row.v, float(row.value or 0.0), row.id)
        if row.question_id == OUTSIDE:
            return []
        votes = self._votes.setdefault(row.question_id, [])
        votes.append(row.id)
        if row.source == INFERRED:
            self._inferred.add(row.question_id)
        else:
            self._count_asked(row.question_id)
        return [_event(row)] if len(votes) == 1 else []

    def _count_asked(self, question_id: int, change: int = 1) -> None:
        if (question_id in self._asked) == (change > 0):
            return
        (self._asked.add if change > 0 else self._asked.discard)(question_id)
        if (page := self._pages.get(question_id)) is not None:
            self._paged += change
            self._on_pages[page] = self._on_pages.get(page, 0) + change
            if not self._on_pages[page]:
                del self._on_pages[page]

    def _take_back(self, answer_id: str) -> list[Answer]:
        row = self._rows.get(answer_id)
        if row is None or row.undoes is not None or answer_id in self._undone:
            return []
        self._undone.add(answer_id)
        if self._is_link(row):
            self.constraints.remove(answer_id)
        events = self._withdraw(row)
        # What was inferred from the answer falls with it, unless other answers still imply the same.
        for question_id in sorted(self._inferred):
            for vote in [self._rows[i] for i in self._votes.get(question_id, ()) if self._rows[i].source == INFERRED]:
                if self.constraints.known(vote.u, vote.v) != vote.value:
                    events += self._withdraw(vote)
        return events

    def _withdraw(self, row: LoggedAnswer) -> list[Answer]:
        votes = self._votes.get(row.question_id, [])
        if row.id not in votes:
            return []
        was_settled = votes[0] == row.id
        votes.remove(row.id)
        kinds = {self._rows[i].source == INFERRED for i in votes}
        if True not in kinds:
            self._inferred.discard(row.question_id)
        if False not in kinds:
            self._count_asked(row.question_id, -1)
        if not votes:
            del self._votes[row.question_id]
            return [Answer(row.question_id, row.u, row.v, None)]
        return [_event(self._rows[votes[0]])] if was_settled else []

    def _is_link(self, row: LoggedAnswer) -> bool:
        """Whether the closure rests on this answer: an inferred one follows from others, an unsure one or a rating says neither,
        and a vote is weighed by the sampler."""
        return row.source != INFERRED and row.value in (0.0, 1.0) and row.question_id not in self._votes_only


def _event(row: LoggedAnswer) -> Answer:
    return Answer(row.question_id, row.u, row.v, row.value)
