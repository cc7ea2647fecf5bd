"""Questions, answers, and the protocol of every algorithm that asks people: ask, tell, result.

A sampler is deterministic: the same inputs, parameters and seed, and the same sequence of `ask` and `tell` calls, give the
same questions and the same result, bit for bit. So a campaign is its log, and to resume is to replay it (`replay.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol, TypeVar, runtime_checkable

from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.questions.same import SAME_QUESTION
from cccount_dist.sampling.values import DIFFERENT, SAME, UNSURE

# A question whose purpose begins so is a vote: one of several answers that the sampler weighs itself, because answers may be
# wrong. Votes never enter the closure, so several answers to one pair are no contradiction. What the closure knows from
# elsewhere may stand for a vote; but not for a confirmation, which is asked to hear the same thing again.
VOTE, CONFIRM = "vote", "confirm"


@dataclass(frozen=True, slots=True)
class Question:
    """A question about items `u` and `v`: what is asked is its kind's to say (`questions/registry.py`).

    A sampler numbers its questions 0, 1, 2, … in the order in which it asks them.
    """

    id: int
    u: int
    v: int
    kind: str = SAME_QUESTION.name
    purpose: str = ""
    page: int | None = None  # questions of one page are about one item u, shown together and answered at one glance

    @property
    def is_vote(self) -> bool:
        """Whether its answer stays out of the closure: votes, and kinds that are no links, are weighed by the sampler."""
        return not question_kind(self.kind).links or self.purpose.startswith((VOTE, CONFIRM))

    @property
    def may_be_inferred(self) -> bool:
        """Whether the closure may answer it."""
        return question_kind(self.kind).may_be_inferred and not self.purpose.startswith(CONFIRM)


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known about one question: 1 same, 0 different, another kind's number in [0, 1], or None for unsure."""

    question_id: int
    u: int
    v: int
    value: float | None


@dataclass(frozen=True, slots=True)
class KnownAnswer(Answer):
    """What somebody said to a pair whose answer was known before (gold): it tells how often people are wrong."""

    truth: float = SAME
    paged: bool = False
    times: int = 1  # -1: an earlier one was taken back


@dataclass(frozen=True, slots=True)
class RepeatedAnswer(Answer):
    """What somebody said to a pair that they had answered before: where the two differ, one of them is wrong."""

    before: float = SAME
    times: int = 1  # -1: an earlier one was taken back


@dataclass(frozen=True, slots=True)
class WithdrawnAnswer(Answer):
    """Nobody waits for the answer any more, because the question was needless (`Withdrawing`). Nobody said anything."""


@dataclass(frozen=True, slots=True)
class OutsideAnswer(Answer):
    """What is known about two items from elsewhere: another campaign, or an earlier epoch. None: it was taken back."""


def asked_at_once(questions: Sequence[Question]) -> int:
    """Return how many times somebody is asked: questions one by one, and pages.

    >>> asked_at_once([Question(0, 1, 2), Question(1, 3, 4, page=1), Question(2, 3, 5, page=1)])
    2
    """
    pages = [question.page for question in questions if question.page is not None]
    return len(questions) - len(pages) + len(set(pages))


ResultT_co = TypeVar("ResultT_co", covariant=True)


class Sampler(Protocol[ResultT_co]):
    """An algorithm that asks questions about pairs of items.

    `ask(a)` and then `ask(b)`, without a `tell` in between, give the same questions as `ask(a + b)`: how a campaign is cut into
    batches never changes what is asked.
    """

    def ask(self, limit: int) -> Sequence[Question]:
        """Return up to `limit` new questions that the sampler wants answered now; fewer, or none, if it must wait for answers.

        A page counts as one question here (`asked_at_once`): it is never cut in two.
        """

    def tell(self, answers: Sequence[Answer]) -> None:
        """Take answers in, in any order. A second answer to a question replaces the first: people undo, and votes settle."""

    def result(self) -> ResultT_co:
        """Return the best result so far; may be called at any time."""

    @property
    def done(self) -> bool:
        """True if no further question would improve the result."""


@runtime_checkable
class Knowing(Protocol):
    """A sampler that makes use of what is known before it asks: answers of other campaigns and of earlier epochs.

    Optional: what a sampler without it asks is answered for free where it is known, and the groups of every method keep to what
    people said. A count that draws at random should not have it: pairs that others chose are no random ones.
    """

    def know(self, answers: Sequence[OutsideAnswer]) -> None:
        """Take in what is known about pairs of items; the newest about a pair holds, None takes it back."""


@runtime_checkable
class Withdrawing(Protocol):
    """A sampler that asks ahead, and knows which of its questions have become needless meanwhile. Optional.

    The campaign takes them back (`WithdrawnAnswer`). If one of them is needed after all, it is asked again, by another number;
    who had it on the screen and answers it all the same is heard.
    """

    def needless(self) -> Sequence[int]:
        """Numbers of questions that were asked, were not answered, and help no more."""


def tell_all(sampler: Sampler[object], events: Sequence[Answer]) -> None:
    """Tell a sampler answers to its questions and what is known from elsewhere, in their order."""
    for outside, group in groupby(events, key=lambda event: isinstance(event, OutsideAnswer)):
        if not outside:
            sampler.tell(list(group))
        elif isinstance(sampler, Knowing):
            sampler.know([event for event in group if isinstance(event, OutsideAnswer)])


__all__ = [
    "CONFIRM",
    "DIFFERENT",
    "SAME",
    "UNSURE",
    "VOTE",
    "Answer",
    "Knowing",
    "KnownAnswer",
    "OutsideAnswer",
    "Question",
    "RepeatedAnswer",
    "ResultT_co",
    "Sampler",
    "Withdrawing",
    "WithdrawnAnswer",
    "asked_at_once",
    "tell_all",
]
