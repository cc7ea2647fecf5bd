"""What the answer log says now: the settled answer to each question, the constraint closure, contradictions, effort.

The log is a sequence of events. The ledger reads it in order and turns it into what a sampler is told, so the same log always
gives the same events, votes of several people included (`settling.py`). Memory and time grow with the number of answers, not with
the collection; only an undo, or votes that turn a settled answer round, which are rare, look at all inferred answers again.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.settling import Reliability, Verdict, check_overlap, first_votes, most_votes, settle
from cccount_dist.sampling.types import DIFFERENT, SAME, Answer, Question

INFERRED = "inferred"
FLAG = "flag"  # somebody found the picture of an item useless: what is asked about it is answered unsure, by nobody
REPEAT = "repeat"  # an answer to a pair that the same person had answered before: it says how steady a person is
GOLD = {SAME: "gold same", DIFFERENT: "gold different"}  # an answer to a pair whose answer was known: the source says which
OUTSIDE = -1  # question_id of an answer that was not given to a question of this campaign


def is_check(source: str) -> bool:
    """Whether the answer tells about the annotator and nothing about the items."""
    return source == REPEAT or source in GOLD.values()


def is_flag(source: str) -> bool:
    return source.startswith(FLAG)


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
    page: int | None = None
    seconds: float = 0.0
    at: int | None = None  # microseconds since 1970; None: when it is written

    @property
    def is_vote(self) -> bool:
        """Whether a person, or who stands for one, was asked."""
        return self.source != INFERRED and not is_flag(self.source)


class Ledger:
    """Settles answers. `overlap` people have to answer a question; where they differ, more votes decide (`settling.settle`)."""

    def __init__(self, overlap: int = 1) -> None:
        self.overlap = check_overlap(overlap)
        self.constraints = Constraints()
        self.position = 0  # rows of the log that were read
        self.reliability = Reliability()
        self._rows: dict[str, LoggedAnswer] = {}
        self._votes: dict[int, list[str]] = {}  # ids that count for a question, in log order
        self._told: dict[int, LoggedAnswer] = {}  # what the sampler was told
        self._links: dict[int, str] = {}  # question -> the answer for which it is in the closure
        self._learnt: dict[int, tuple[float, dict[str, float]]] = {}  # question -> what it taught about people
        self._undone: set[str] = set()
        self._people: set[str] = set()
        self._asked: set[int] = set()
        self._inferred: set[int] = set()
        self._disputed: dict[int, None] = {}
        self._shared: dict[int, None] = {}
        self._flags: Counter[int] = Counter()
        self._pages: dict[int, int] = {}  # question that is on a page -> the page
        self._on_pages: dict[int, int] = {}  # page -> questions on it that somebody was asked
        self._paged = 0  # their sum
        self._votes_only: set[int] = set()  # questions whose answers stay out of the closure
        self._ratings: set[int] = set()

    def know(self, questions: Iterable[Question]) -> None:
        """Learn which questions are votes and which are on a page. To be told before their answers are taken."""
        for question in questions:
            if question.page is not None:
                self._pages[question.id] = question.page
            if question.is_vote:
                self._votes_only.add(question.id)
            if question.kind == "rating":
                self._ratings.add(question.id)

    # -- what it says ---------------------------------------------------------------------------------------------------

    @property
    def questions(self) -> int:
        """Questions that somebody was asked one by one and that are settled."""
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
        """Questions on which people differ, and answers that disagree with what others imply: kept, for votes to settle."""
        return len(self._disputed) + len(self.constraints.conflicts)

    @property
    def disputed(self) -> list[int]:
        """Questions on which people differ and nothing is decided."""
        return list(self._disputed)

    @property
    def shared(self) -> list[int]:
        """Questions of kind `same` that more than one person has answered."""
        return list(self._shared)

    @property
    def flagged(self) -> set[int]:
        """Items whose picture somebody found useless."""
        return {item for item, flags in self._flags.items() if flags > 0}

    def knows(self, answer_id: str) -> bool:
        return answer_id in self._rows

    def row(self, answer_id: str) -> LoggedAnswer | None:
        """The row with this id, unless it was taken back."""
        return None if answer_id in self._undone else self._rows.get(answer_id)

    def rows(self) -> list[LoggedAnswer]:
        """Every row that was not taken back and takes nothing back, in order."""
        return [row for row in self._rows.values() if row.undoes is None and row.id not in self._undone]

    def answers(self, question_id: int) -> list[LoggedAnswer]:
        """Everything that was said to a question and not taken back, inferred answers included."""
        return [self._rows[i] for i in self._votes.get(question_id, ())]

    def votes(self, question_id: int) -> list[LoggedAnswer]:
        """What people said to a question and did not take back."""
        return [row for i in self._votes.get(question_id, ()) if (row := self._rows[i]).is_vote]

    def wanted(self, question_id: int) -> int:
        """How many more people should be asked; 0 for a question that is settled and undisputed."""
        given = len({vote.annotator for vote in self.votes(question_id)})
        if question_id in self._disputed:
            return max(1, self.overlap - given) if given < most_votes(self.overlap) else 0
        return 0 if question_id in self._told else max(1, self.overlap - given)

    def is_answered(self, question_id: int) -> bool:
        return question_id in self._told

    def pending(self, questions: Iterable[Question]) -> list[Question]:
        """The questions that are not settled yet, in order."""
        return [question for question in questions if question.id not in self._told]

    def settled(self, question_id: int) -> LoggedAnswer | None:
        return self._told.get(question_id)

    # -- reading the log --------------------------------------------------------------------------------------------------

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
        if row.question_id != OUTSIDE:
            self._votes.setdefault(row.question_id, []).append(row.id)
            if row.is_vote:
                self._people.add(row.annotator)
            return self._settle(row.question_id)
        if is_flag(row.source):
            self._flags[row.u] += 1
        elif is_check(row.source):
            self._learn_gold(row, 1)
        elif row.value in (SAME, DIFFERENT):
            self.constraints.add(row.u, row.v, float(row.value or 0.0), row.id)
        return []

    def _take_back(self, answer_id: str) -> list[Answer]:
        row = self._rows.get(answer_id)
        if row is None or row.undoes is not None or answer_id in self._undone:
            return []
        self._undone.add(answer_id)
        if row.question_id != OUTSIDE:
            self._votes[row.question_id].remove(answer_id)
            return self._settle(row.question_id)
        if is_flag(row.source):
            self._flags[row.u] -= 1
        elif is_check(row.source):
            self._learn_gold(row, -1)
        elif row.value in (SAME, DIFFERENT):
            self.constraints.remove(answer_id)
            return self._drop_unfounded()
        return []

    def _settle(self, question_id: int) -> list[Answer]:
        """Look at a question again whose votes have changed."""
        votes = [self._rows[i] for i in self._votes[question_id]]
        people = [vote for vote in votes if vote.is_vote]
        self._forget(question_id)
        verdict = settle(people, self.overlap, self.reliability, people=len(self._people), rating=question_id in self._ratings)
        _mark(self._disputed, question_id, on=verdict.disputed)
        several = len(people) > 1 and question_id not in self._ratings and len({vote.annotator for vote in people}) > 1
        _mark(self._shared, question_id, on=several)
        settled = _row_of(verdict, people)
        self._learn(question_id, verdict, people)
        self._count_asked(question_id, asked=settled is not None)
        free = next((vote for vote in votes if not vote.is_vote), None)
        (self._inferred.add if free and free.source == INFERRED else self._inferred.discard)(question_id)
        if free is not None and (settled is None or votes[0] == free):
            told: LoggedAnswer | None = free
        else:
            told = settled
        removed = self._link(question_id, settled)
        events = self._tell(question_id, told)
        return events + self._drop_unfounded() if removed else events

    def _tell(self, question_id: int, told: LoggedAnswer | None) -> list[Answer]:
        before = self._told.pop(question_id, None)
        if told is None:
            return [] if before is None else [Answer(question_id, before.u, before.v, None)]
        self._told[question_id] = told
        return [] if before is not None and (before.id, before.value) == (told.id, told.value) else [_event(told)]

    def _link(self, question_id: int, settled: LoggedAnswer | None) -> bool:
        """Let the closure rest on the settled answer, and return whether it lost one: an unsure one or a rating says nothing
        about the items, and a vote is weighed by the sampler."""
        link = None
        if settled is not None and settled.value in (SAME, DIFFERENT):
            kept_out = question_id in self._votes_only or question_id in self._ratings
            link = None if kept_out else settled
        before = self._links.get(question_id)
        if link is not None and before == link.id:
            return False
        if before is not None:
            self.constraints.remove(before)
            del self._links[question_id]
        if link is not None:
            self.constraints.add(link.u, link.v, float(link.value or 0.0), link.id)
            self._links[question_id] = link.id
        return before is not None

    def _drop_unfounded(self) -> list[Answer]:
        """Withdraw what was inferred from an answer that no longer holds, unless other answers still imply the same."""
        events = []
        for question_id in sorted(self._inferred):
            votes = self._votes[question_id]
            unfounded = [i for i in votes if self._rows[i].source == INFERRED and not self._implied(self._rows[i])]
            if unfounded:
                self._votes[question_id] = [i for i in votes if i not in unfounded]
                events += self._settle(question_id)
        return events

    def _implied(self, row: LoggedAnswer) -> bool:
        return self.constraints.known(row.u, row.v) == row.value

    def _count_asked(self, question_id: int, *, asked: bool) -> None:
        if (question_id in self._asked) == asked:
            return
        (self._asked.add if asked else self._asked.discard)(question_id)
        if (page := self._pages.get(question_id)) is not None:
            change = 1 if asked else -1
            self._paged += change
            self._on_pages[page] = self._on_pages.get(page, 0) + change
            if not self._on_pages[page]:
                del self._on_pages[page]

    # -- what is learnt about people (only where several answer one question is it made use of) ---------------------------

    def _forget(self, question_id: int) -> None:
        if question_id in self._learnt:
            truth, said = self._learnt.pop(question_id)
            self.reliability.learn(truth, said, times=-1)

    def _learn(self, question_id: int, verdict: Verdict, votes: list[LoggedAnswer]) -> None:
        if self.overlap > 1 and question_id not in self._ratings and verdict.value is not None:
            said = {annotator: value for annotator, value in first_votes(votes).items() if value is not None}
            self._learnt[question_id] = verdict.value, said
            self.reliability.learn(verdict.value, said)

    def _learn_gold(self, row: LoggedAnswer, times: int) -> None:
        truth = next((value for value, source in GOLD.items() if source == row.source), None)
        if truth is not None and row.value is not None:
            self.reliability.learn(truth, {row.annotator: row.value}, times=times, asked=False)


def _row_of(verdict: Verdict, votes: list[LoggedAnswer]) -> LoggedAnswer | None:
    """The answer that stands for the verdict: the first vote that says so, or for a mean of ratings the first with that value."""
    if not verdict.settled:
        return None
    found = next((vote for vote in votes if vote.value == verdict.value), None)
    return found if found is not None else replace(votes[0], value=verdict.value)


def _mark(marked: dict[int, None], question_id: int, *, on: bool) -> None:
    """Put into an ordered set, or take out of it."""
    if on:
        marked[question_id] = None
    else:
        marked.pop(question_id, None)


def _event(row: LoggedAnswer) -> Answer:
    return Answer(row.question_id, row.u, row.v, row.value)
