"""Questions, answers, and the protocol of every algorithm that asks people: ask, tell, result.

A sampler is deterministic: the same inputs, parameters and seed, and the same sequence of `ask` and `tell` calls, give the
same questions and the same result, bit for bit. So a campaign is its log, and to resume is to replay it (`replay.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

SAME = 1.0
DIFFERENT = 0.0
UNSURE = None

Kind = Literal["same", "rating"]


@dataclass(frozen=True, slots=True)
class Question:
    """Are items `u` and `v` the same (kind `same`), or how similar are they (kind `rating`)?

    A sampler numbers its questions 0, 1, 2, … in the order in which it asks them.
    """

    id: int
    u: int
    v: int
    kind: Kind = "same"
    purpose: str = ""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known about one question: 1 same, 0 different, a rating in [0, 1], or None for unsure."""

    question_id: int
    u: int
    v: int
    value: float | None


ResultT_co = TypeVar("ResultT_co", covariant=True)


class Sampler(Protocol[ResultT_co]):
    """An algorithm that asks questions about pairs of items.

    `ask(a)` and then `ask(b)`, without a `tell` in between, give the same questions as `ask(a + b)`: how a campaign is cut into
    batches never changes what is asked.
    """

    def ask(self, limit: int) -> Sequence[Question]:
        """Return up to `limit` new questions that the sampler wants answered now; fewer, or none, if it must wait for answers."""

    def tell(self, answers: Sequence[Answer]) -> None:
        """Take answers in, in any order. A second answer to a question replaces the first: people undo, and votes settle."""

    def result(self) -> ResultT_co:
        """Return the best result so far; may be called at any time."""

    @property
    def done(self) -> bool:
        """True if no further question would improve the result."""
