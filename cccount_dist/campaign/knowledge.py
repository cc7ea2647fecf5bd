"""What is known from elsewhere: answers of other campaigns and of earlier epochs, as a sampler is told them.

A sampler that can make use of it has a method `know` (`Knowing` in `sampling/types.py`) and hears it from the first step on; for
every other one it is an answer that costs nothing as soon as it asks. Votes of earlier epochs, of which each may be wrong, are
weighed here into what they say together, before they become knowledge. Memory and time: the rows that are read.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from cccount_dist.sampling.constraints import Constraints, Link
from cccount_dist.sampling.ledger import EPOCH, OUTSIDE, Ledger, LoggedAnswer, fact_error, is_check, is_flag, is_recalled
from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.types import DIFFERENT, SAME, Answer, OutsideAnswer, Question
from storage.epochs import Epoch

_SURE = 2  # votes more for "same" than against it, from which an item of this epoch belongs to a set
_SPLIT = "split"  # a question whether two clusters are one after all is asked because what is known may be wrong


class Knowledge:
    """Turns rows of the log into what a sampler is told beside the answers to its own questions."""

    def __init__(self, epoch: Epoch, questions: Sequence[Question], ledger: Ledger) -> None:
        self._on = bool(epoch.knowledge)
        self._ledger = ledger
        self._links = {q.id for q in questions[: epoch.questions] if not q.is_vote}  # of earlier epochs

    def take(self, row: LoggedAnswer, events: Iterable[Answer]) -> list[OutsideAnswer]:
        """Return what a row says that came from outside, or was settled by it in an earlier epoch; `events`: the ledger's."""
        if not self._on:
            return []
        found = [OutsideAnswer(OUTSIDE, e.u, e.v, e.value) for e in events if e.question_id in self._links]
        if row.question_id != OUTSIDE or is_flag(row.source) or is_check(row.source) or fact_error(row.source) is not None:
            return found
        return [*found, OutsideAnswer(OUTSIDE, row.u, row.v, None if row.undoes is not None else row.value)]


def carried_votes(epoch: Epoch, questions: Sequence[Question], ledger: Ledger) -> list[LoggedAnswer]:
    """Return the rows by which votes of earlier epochs enter the closure, as far as they agree; none if they have.

    A sampler weighs votes itself, so they are no links. The next one asks about other pairs of the same items, and what the
    votes came to must not be asked again.
    """
    prefix = f"{EPOCH}-{epoch.number}/"
    votes = [
        vote
        for question in questions[: epoch.questions]
        if question.is_vote and question_kind(question.kind).links
        for vote in ledger.votes(question.id)
        if vote.value in (SAME, DIFFERENT)
    ]
    if not epoch.knowledge or any(ledger.knows(f"{prefix}{vote.id}") for vote in votes):
        return []
    people = {vote.id: vote.annotator for vote in votes}
    links = weighed([(vote.u, vote.v, float(vote.value or 0.0), vote.id) for vote in votes])
    return [LoggedAnswer(f"{prefix}{name}", OUTSIDE, u, v, value, f"{EPOCH} {name}", people[name]) for u, v, value, name in links]


class Carried:
    """What votes of earlier epochs came to together, joined with what those of this one come to.

    An item that was placed in an earlier epoch is not placed again by people: what it is beside a new item follows from where
    both of them belong. Only for questions about an item of an earlier epoch: votes about two new items are people's alone.
    """

    def __init__(self, epoch: Epoch, questions: Sequence[Question]) -> None:
        self._first = epoch.questions
        self._questions = questions  # the runner's list, which grows
        self._settled: set[int] = set()  # items about which earlier votes came to something
        self._links = Constraints()
        self._net: Counter[tuple[int, int]] = Counter()  # of an item and a set: votes "same" minus votes "different"

    def take(self, row: LoggedAnswer) -> None:
        """Learn from a row of the log: a link that was carried over, or a vote of this epoch."""
        if row.value not in (SAME, DIFFERENT) or row.undoes is not None:
            return
        value = float(row.value or 0.0)
        if row.question_id == OUTSIDE and is_recalled(row.source):
            self._links.add(row.u, row.v, value, row.id)
            self._settled |= {row.u, row.v}
        elif self._settled and row.question_id >= self._first and self._questions[row.question_id].is_vote:
            self._weigh(row, value)

    def _weigh(self, row: LoggedAnswer, value: float) -> None:
        at = row.u, self._links.together(row.v)[0]
        self._net[at] += 1 if value == SAME else -1
        enough = _SURE if value == SAME else -1  # an item is asked about every cluster once, and again where it may belong
        if self._net[at] == enough and self._links.known(row.u, row.v) is None:
            self._links.add(row.u, row.v, value, row.id)

    def answer(self, question: Question, ledger: Ledger) -> float | None:
        """Return what is known about the pair of a question for which one link alone would not do."""
        if not {question.u, question.v} & self._settled or not question.is_vote or question.purpose.endswith(_SPLIT):
            return None
        if not question_kind(question.kind).may_be_inferred:
            return None
        known, other = self._links.known(question.u, question.v), ledger.constraints.known(question.u, question.v)
        return known if other in (None, known) else None


def weighed(votes: Iterable[Link]) -> list[Link]:
    """Return what votes say together, an item after the other: it belongs where most of them put it, if more than half do.

    One wrong "same" must not make two clusters one: an item's votes about all members of a cluster are counted together.

    >>> weighed([(1, 0, 1.0, "a"), (2, 0, 1.0, "wrong"), (2, 1, 0.0, "b"), (2, 0, 0.0, "c")])
    [(1, 0, 1.0, 'a'), (2, 1, 0.0, 'b')]
    """
    by_item: dict[int, list[Link]] = {}
    for vote in votes:
        by_item.setdefault(vote[0], []).append(vote)
    known, links = Constraints(), []
    for item, said in by_item.items():
        clusters: dict[int, list[Link]] = {}
        for vote in said:
            clusters.setdefault(known.together(vote[1])[0], []).append(vote)
        ranked = sorted(clusters.values(), key=lambda some: -_net(some))  # stable: of equals the first
        for rank, some in enumerate(ranked):
            net = _net(some)
            if net < 0 or (net > 0 and rank == 0):
                value = SAME if net > 0 else DIFFERENT
                link = next(vote for vote in some if vote[2] == value)
                if known.known(item, link[1]) is None:
                    known.add(*link)
                    links.append(link)
    return links


def _net(votes: Iterable[Link]) -> int:
    """How many more say same than different."""
    return sum(1 if vote[2] == SAME else -1 for vote in votes)


__all__ = ["Carried", "Knowledge", "carried_votes", "weighed"]
