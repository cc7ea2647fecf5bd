"""A sampler and an oracle in one process: ask, answer, tell, until the budget is used. No log; memory is the sampler's.

Before a question reaches the oracle the closure is asked; what it knows is `inferred`, and free.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.oracles import Oracle
from cccount_dist.sampling.types import Answer, Question, Sampler

ResultT = TypeVar("ResultT")
Stopped = Literal["budget", "done", "complete", "waiting", "inferred"]


@dataclass(frozen=True, slots=True)
class Reply:
    """A question with its answer, and whether the answer was inferred or given by the oracle."""

    question: Question
    value: float | None
    inferred: bool


@dataclass(frozen=True, slots=True)
class Tally:
    """What a run cost. `stopped` says why it ended: see `drive`."""

    questions: int
    inferred: int
    unsure: int
    conflicts: int
    stopped: Stopped


def _answer_id(question: Question) -> str:
    return f"question-{question.id}"


def answer_batch(
    questions: Sequence[Question],
    constraints: Constraints,
    oracle: Oracle,
    *,
    answer_id: Callable[[Question], str] = _answer_id,
) -> list[Reply]:
    """Answer questions in their order: by the closure if it knows, otherwise by the oracle, whose answer enters the closure.

    An unsure answer says nothing about the items and a rating is not a link: neither enters the closure. A question whose purpose
    begins with "confirm" repeats on purpose, because people err: it goes to the oracle whatever is known.
    """
    replies = []
    for question in questions:
        free = question.kind == "same" and not question.purpose.startswith("confirm")
        known = constraints.known(question.u, question.v) if free else None
        value = oracle.answer(question) if known is None else known
        if known is None and value is not None and question.kind == "same":
            constraints.add(question.u, question.v, value, answer_id(question))
        replies.append(Reply(question, value, inferred=known is not None))
    return replies


def most_answers(budget: int) -> int:
    """Return how many answers, free ones included, a run may take: a sampler that keeps asking what is known must end, too."""
    return 10 * budget + 1000


def drive(
    sampler: Sampler[ResultT],
    oracle: Oracle,
    *,
    budget: int,
    items: int | None = None,
    constraints: Constraints | None = None,
    batch: int = 256,
    progress: Callable[[int, int], None] | None = None,
    on_batch: Callable[[Sequence[Reply]], None] | None = None,
) -> Tally:
    """Run a sampler until one of these, which `Tally.stopped` names:

    `budget`: the oracle was asked `budget` questions; `done`: the sampler is; `waiting`: all is answered and it asks nothing;
    `complete`: the closure knows every pair of the `items` items; `inferred`: 10 · budget + 1000 answers, free ones included:
    a sampler that keeps asking what is known would otherwise never come to the end of its budget.
    """
    constraints = Constraints() if constraints is None else constraints
    asked = inferred = unsure = 0
    most = most_answers(budget)
    stopped: Stopped | None = None
    while stopped is None:
        if asked >= budget:
            stopped = "budget"
        elif sampler.done:
            stopped = "done"
        elif items is not None and constraints.complete(items):
            stopped = "complete"
        elif asked + inferred >= most:
            stopped = "inferred"
        else:
            # Never more than the budget still allows: so the questions do not depend on the size of a batch.
            questions = sampler.ask(min(batch, budget - asked, most - asked - inferred))
            replies = answer_batch(questions, constraints, oracle)
            sampler.tell([Answer(reply.question.id, reply.question.u, reply.question.v, reply.value) for reply in replies])
            free = sum(reply.inferred for reply in replies)
            asked, inferred = asked + len(replies) - free, inferred + free
            unsure += sum(reply.value is None for reply in replies)
            if on_batch is not None:
                on_batch(replies)
            if progress is not None:
                progress(asked, budget)
            if not questions:
                stopped = "waiting"
    return Tally(asked, inferred, unsure, len(constraints.conflicts), stopped)
