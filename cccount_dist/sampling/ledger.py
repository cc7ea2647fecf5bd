"""What the answer log says now: the settled answer to each question, the constraint closure, contradictions, effort.

The log is a sequence of events. The ledger reads it in order and turns it into what a sampler is told, so the same log always
gives the same events, votes of several people included (`settling.py`). A person has one standing vote on a question: the first
that was not taken back. Whoever changes their mind takes the earlier one back (`responses.py` does it for them); what a log of
before that holds besides waits behind the standing vote. Memory and time grow with the number of answers, however many of them
are about one question, and not with the collection; only an undo, or votes that turn a settled answer round, which are rare, look
at all inferred answers again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from cccount_dist.sampling.constraints import Conflict, Constraints
from cccount_dist.sampling.questions.kind import QuestionKind
from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.questions.same import SAME_QUESTION
from cccount_dist.sampling.settling import Reliability, Verdict, check_overlap, first_votes, most_votes
from cccount_dist.sampling.types import DIFFERENT, SAME, Answer, Question, WithdrawnAnswer

INFERRED = "inferred"
FLAG = "flag"  # somebody found the picture of an item useless: what is asked about it is answered unsure, by nobody
NO_ANIMAL = f"{FLAG}: not an animal"  # a flag that holds in every campaign of the workspace
REPEAT = "repeat"  # an answer to a pair that the same person had answered before: it says how steady a person is
GOLD = {SAME: "gold same", DIFFERENT: "gold different"}  # an answer to a pair whose answer was known: the source says which
EPOCH = "epoch"  # what was answered before another sampler took over, said again to it: "epoch ID", by nobody (`epochs.py`)
CLOSED = EPOCH  # without an ID: nobody waits for the question any more; whoever answers it all the same is heard
CORRECTION = "correction"  # what a person said of their own accord about two pictures: "correction: merge"; stands above answers
KNOWN = "known"  # what a catalogue or a table of pairs says that was brought in: "known: FILE"; the oldest of the corrections
FACT = "fact"  # what time, place or a table says, and may be wrong: "fact 0.02: REASON"; every answer stands above it
OUTSIDE = -1  # question_id of an answer that was not given to a question of this campaign
MOST_WEIGHED = 100  # people whose votes on one question are weighed; further ones are kept and shown, and change nothing


def is_check(source: str) -> bool:
    """Whether the answer tells about the annotator and nothing about the items."""
    return source == REPEAT or source in GOLD.values()


def is_flag(source: str) -> bool:
    return source.startswith(FLAG)


def is_correction(source: str) -> bool:
    """Whether a person said it by hand in this campaign: no machine, and no earlier answer, takes it back."""
    return source.startswith(CORRECTION)


def fact_source(error: float, reason: str) -> str:
    """What the log says of a fact that is wrong so often.

    >>> fact_source(0.02, "cameras.csv"), fact_error("fact 0.02: cameras.csv"), fact_error("people")
    ('fact 0.02: cameras.csv', 0.02, None)
    """
    return f"{FACT} {error:g}: {reason}"


@lru_cache(maxsize=1024)
def fact_error(source: str) -> float | None:
    """How often a fact is wrong; None for what is no fact."""
    said = source.removeprefix(f"{FACT} ").partition(":")[0]
    return float(said) if source.startswith(f"{FACT} ") else None


@lru_cache(maxsize=1024)
def is_firm(source: str) -> bool:
    """Whether it stands above answers to questions: a correction, here or in another campaign, or what was brought in."""
    elsewhere = source.startswith("campaign ") and f": {CORRECTION}" in source
    return elsewhere or is_correction(source) or source.startswith(KNOWN)


def adopted_source(campaign: str, source: str) -> str:
    """The source of a row that was taken over from another campaign: a correction stays one.

    >>> adopted_source("census", "people"), adopted_source("census", "correction: merge")
    ('campaign census', 'campaign census: correction: merge')
    """
    return f"campaign {campaign}: {source}" if is_correction(source) else f"campaign {campaign}"


def is_carried(row: "LoggedAnswer") -> bool:
    """Whether it was said in another campaign of the workspace."""
    return row.question_id == OUTSIDE and row.source.startswith("campaign ")


def is_recalled(source: str) -> bool:
    """Whether it repeats an answer of an earlier epoch, or closes a question that nobody waits for."""
    return source.startswith(EPOCH)


@lru_cache(maxsize=1024)  # looked at several times for every row, and there are few sources
def _is_vote(source: str) -> bool:
    return source != INFERRED and not is_flag(source) and not is_recalled(source)


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
    clicks: int | None = None  # that the cell of a sheet took; None: nobody counted

    @property
    def is_vote(self) -> bool:
        """Whether a person, or who stands for one, was asked."""
        return _is_vote(self.source)


class Ledger:
    """Settles answers. `overlap` people have to answer a question; where they differ, more votes decide (`settling.settle`)."""

    def __init__(self, overlap: int = 1) -> None:
        self.overlap = check_overlap(overlap)
        self.constraints = Constraints()
        self.position = 0  # rows of the log that were read
        self.reliability = Reliability()
        self._rows: dict[str, LoggedAnswer] = {}
        self._votes: dict[int, dict[str, None]] = {}  # ids that were given to a question and not taken back, in log order
        self._voters: dict[int, dict[str, str]] = {}  # question with several votes -> person -> their standing vote
        self._behind: dict[int, dict[str, dict[str, None]]] = {}  # question -> person -> votes behind the standing one
        self._front: dict[int, dict[str, None]] = {}  # question with votes behind others -> the ids that count
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
        self._carried = 0
        self._recalls: dict[str, list[str]] = {}  # answer of an earlier epoch -> rows that say it again
        self._recalled: set[int] = set()
        self._votes_only: set[int] = set()  # questions whose answers stay out of the closure
        self._kinds: dict[int, QuestionKind] = {}  # of the questions that are not plain `same` ones

    def know(self, questions: Iterable[Question]) -> None:
        """Learn which questions are votes and which are on a page. To be told before their answers are taken."""
        for question in questions:
            if question.page is not None:
                self._pages[question.id] = question.page
            if question.is_vote:
                self._votes_only.add(question.id)
            if (kind := question_kind(question.kind)) is not SAME_QUESTION:
                self._kinds[question.id] = kind

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
        """Questions that were answered for free: by the closure, or by what was said in an earlier epoch."""
        return len(self._inferred) + len(self._recalled)

    @property
    def carried(self) -> int:
        """What people said in other campaigns and did not take back."""
        return self._carried

    @property
    def contradictions(self) -> int:
        """Questions on which people differ, and answers that disagree with what others imply: kept, for votes to settle."""
        return len(self.disputed) + len(self.conflicts)

    @property
    def disputed(self) -> list[int]:
        """Questions on which people differ and nothing is decided."""
        return [question_id for question_id in self._disputed if self._is_disputed(question_id)]

    @property
    def conflicts(self) -> list[Conflict]:
        """Answers that disagree with what others imply, but for those about which somebody decided by hand."""
        return [one for one in self.constraints.conflicts if not self.constraints.is_decided(one.u, one.v)]

    def _is_disputed(self, question_id: int) -> bool:
        if question_id not in self._disputed:
            return False
        if not self.constraints.corrected:
            return True
        row = self._rows[next(iter(self._votes[question_id]))]
        return not self.constraints.is_decided(row.u, row.v)

    @property
    def shared(self) -> list[int]:
        """Questions that more than one person has answered, of kinds that tell about people."""
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

    def is_recalled_again(self, answer_id: str, first: int) -> bool:
        """Whether an answer of an earlier epoch was said again to a question of this one, whose first question is `first`."""
        again = self._recalls.get(answer_id, ())
        return any(row not in self._undone and self._rows[row].question_id >= first for row in again)

    def answers(self, question_id: int) -> list[LoggedAnswer]:
        """Everything that was said to a question and not taken back, inferred answers included."""
        return [self._rows[i] for i in self._votes.get(question_id, ())]

    def votes(self, question_id: int) -> list[LoggedAnswer]:
        """What people say to a question: the standing vote of each of them."""
        return [row for i in self._counting(question_id) if (row := self._rows[i]).is_vote]

    def people(self, question_id: int) -> int:
        """How many people have a vote on a question."""
        return len(self._voters_of(question_id))

    def standing(self, question_id: int, annotator: str) -> LoggedAnswer | None:
        """What this person says to a question; None if they said nothing, or took it back."""
        found = self._voters_of(question_id).get(annotator)
        return None if found is None else self._rows[found]

    def wanted(self, question_id: int) -> int:
        """How many more people should be asked; 0 for a question that is settled and undisputed."""
        disputed = self._is_disputed(question_id)
        if question_id in self._told and not disputed:
            return 0
        given = self.people(question_id)
        if disputed and given >= most_votes(self.overlap):
            return 0
        return max(1, self.overlap - given)

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
        if is_recalled(row.source):
            self._recalls.setdefault(row.source.removeprefix(EPOCH).strip(), []).append(row.id)
        self._carried += is_carried(row)
        if row.question_id != OUTSIDE:
            is_first = row.question_id not in self._votes
            counts = self._put(row)
            if row.is_vote and not counts and self.overlap == 1:
                self._people.add(row.annotator)  # what is settled rests on the votes alone, and those are the same
                return []
            if row.is_vote:
                if is_first and self.overlap == 1 and row.question_id not in self._kinds:
                    return self._settle_first(row)
                self._people.add(row.annotator)
            return self._settle(row.question_id)
        if is_flag(row.source):
            self._flags[row.u] += 1
        elif is_check(row.source):
            self._learn_gold(row, 1)
        elif row.value in (SAME, DIFFERENT) and (error := fact_error(row.source)) is not None:
            if self.overlap == 1:  # where several people settle each answer, a fact alone settles none
                self.constraints.suppose(row.u, row.v, float(row.value or 0.0), row.id, error)
        elif row.value in (SAME, DIFFERENT):
            firm = is_firm(row.source)
            self.constraints.note(row.u, row.v, float(row.value or 0.0), row.id, firm=firm)
            return self._drop_unfounded() if firm else []
        return []

    def _take_back(self, answer_id: str) -> list[Answer]:
        row = self._rows.get(answer_id)
        if row is None or row.undoes is not None or answer_id in self._undone:
            return []
        self._undone.add(answer_id)
        self._carried -= is_carried(row)
        if row.question_id != OUTSIDE:
            self._remove(row)
            again = [event for recalled in self._recalls.get(answer_id, ()) for event in self._take_back(recalled)]
            return self._settle(row.question_id) + again
        if is_flag(row.source):
            self._flags[row.u] -= 1
        elif is_check(row.source):
            self._learn_gold(row, -1)
        elif row.value in (SAME, DIFFERENT):
            self.constraints.remove(answer_id)
            return self._drop_unfounded()
        return []

    def _settle_first(self, row: LoggedAnswer) -> list[Answer]:
        """What `_settle` comes to for nearly all answers: the first one to a plain question that one person has to answer."""
        self._people.add(row.annotator)
        self._count_asked(row.question_id, asked=True)
        self._link(row.question_id, row)
        return self._tell(row.question_id, row)

    def _settle(self, question_id: int) -> list[Answer]:
        """Look at a question again whose votes have changed."""
        votes = list(self._weighed(question_id))
        people = [vote for vote in votes if vote.is_vote]
        self._forget(question_id)
        kind = self._kind(question_id)
        verdict = kind.settle(people, self.overlap, self.reliability, people=len(self._people))
        _mark(self._disputed, question_id, on=verdict.disputed)
        several = len(people) > 1 and kind.tells_about_people and len({vote.annotator for vote in people}) > 1
        _mark(self._shared, question_id, on=several)
        settled = _row_of(verdict, people)
        self._learn(question_id, verdict, people)
        self._count_asked(question_id, asked=settled is not None)
        free = next((vote for vote in votes if not vote.is_vote), None)
        (self._inferred.add if free and free.source == INFERRED else self._inferred.discard)(question_id)
        recalled = free is not None and is_recalled(free.source) and free.source != CLOSED
        (self._recalled.add if recalled else self._recalled.discard)(question_id)
        if free is not None and (settled is None or (votes[0] == free and free.source != CLOSED)):
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
            link = None if question_id in self._votes_only else settled
        before = self._links.get(question_id)
        if link is not None and before == link.id:
            return False
        if before is not None:
            self.constraints.remove(before)
            del self._links[question_id]
        if link is not None:
            self.constraints.note(link.u, link.v, float(link.value or 0.0), link.id)
            self._links[question_id] = link.id
        return before is not None

    def _drop_unfounded(self) -> list[Answer]:
        """Withdraw what was inferred from an answer that no longer holds, unless other answers still imply the same."""
        events = []
        for question_id in sorted(self._inferred):
            inferred = [row for i in self._votes[question_id] if (row := self._rows[i]).source == INFERRED]
            unfounded = [row for row in inferred if not self._implied(row)]
            for row in unfounded:
                self._remove(row)
            if unfounded:
                events += self._settle(question_id)
        return events

    # -- the votes on a question ------------------------------------------------------------------------------------------

    def _put(self, row: LoggedAnswer) -> bool:
        """Note what was given to a question, and return whether it is weighed: a person's second vote waits behind the first."""
        question_id = row.question_id
        there = self._votes.setdefault(question_id, {})
        voters = self._voters_of(question_id)  # before this one
        there[row.id] = None
        if row.is_vote and voters:
            self._voters[question_id] = voters
        if row.is_vote and row.annotator in voters:
            self._behind.setdefault(question_id, {}).setdefault(row.annotator, {})[row.id] = None
            if question_id not in self._front:
                self._front[question_id] = self._without_those_behind(question_id)
            return False
        if row.is_vote:
            voters[row.annotator] = row.id
        if question_id in self._front:
            self._front[question_id][row.id] = None
        return len(voters) <= MOST_WEIGHED

    def _remove(self, row: LoggedAnswer) -> None:
        """Take a row off its question; the person's next vote, if one waits, stands instead, at its own place in the log."""
        question_id = row.question_id
        del self._votes[question_id][row.id]
        voters = self._voters.get(question_id, {})
        waiting = self._behind.get(question_id, {}).get(row.annotator, {}) if row.is_vote else {}
        if row.id in waiting:
            del waiting[row.id]
        elif waiting:
            voters[row.annotator] = next(iter(waiting))
            del waiting[voters[row.annotator]]
            self._front[question_id] = self._without_those_behind(question_id)
        else:
            if row.is_vote:
                voters.pop(row.annotator, None)
            self._front.get(question_id, {}).pop(row.id, None)

    def _voters_of(self, question_id: int) -> dict[str, str]:
        """Everybody's standing vote. Nearly all questions have one vote, and nothing is kept for those."""
        if question_id in self._voters:
            return self._voters[question_id]
        rows = (self._rows[i] for i in self._votes.get(question_id, ()))
        return {row.annotator: row.id for row in rows if row.is_vote}

    def _without_those_behind(self, question_id: int) -> dict[str, None]:
        behind = {i for waiting in self._behind[question_id].values() for i in waiting}
        return {i: None for i in self._votes[question_id] if i not in behind}

    def _counting(self, question_id: int) -> Iterable[str]:
        """What counts for a question, in log order: standing votes, and what was inferred."""
        return self._front[question_id] if question_id in self._front else self._votes.get(question_id, ())

    def _weighed(self, question_id: int) -> Iterator[LoggedAnswer]:
        """What counts, of at most `MOST_WEIGHED` people: so the time of a vote does not grow with those before it."""
        left = MOST_WEIGHED
        for answer_id in self._counting(question_id):
            row = self._rows[answer_id]
            left -= row.is_vote
            if left < 0:
                return
            yield row

    def _kind(self, question_id: int) -> QuestionKind:
        return self._kinds.get(question_id, SAME_QUESTION)

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
        if self.overlap > 1 and self._kind(question_id).tells_about_people and verdict.value is not None:
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
    kind = WithdrawnAnswer if row.source == CLOSED else Answer
    return kind(row.question_id, row.u, row.v, row.value)
