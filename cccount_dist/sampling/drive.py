"""A sampler and an oracle in one process: ask, answer, tell, until the budget is used. No log; memory is the sampler's.

Before a question reaches the oracle the closure is asked; what it knows is `inferred`, and free.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeVar

from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.oracles import Oracle, PageOracle
from cccount_dist.sampling.types import Answer, Question, Sampler, asked_at_once

PAIR_SECONDS, PAGE_SECONDS = 9.0, 30.0  # what a pair and a page take a person
PAGE_COST = PAGE_SECONDS / PAIR_SECONDS  # of a page in pairs

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
    """What a run cost. `questions` are pairs asked one by one, `glances` pages. `stopped` says why it ended: see `drive`."""

    questions: int
    glances: int
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

    An unsure answer says nothing about the items, a rating is not a link, a vote is weighed by the sampler: none enters the
    closure. What the closure does not know of a page is answered at one glance.
    """
    replies = []
    for page, group in groupby(questions, key=lambda question: question.page):
        if page is None:
            for question in group:
                replies += _answer_group([question], constraints, oracle, answer_id)
        else:
            replies += _answer_group(list(group), constraints, oracle, answer_id)
    return replies


def _answer_group(
    questions: Sequence[Question],
    constraints: Constraints,
    oracle: Oracle,
    answer_id: Callable[[Question], str],
) -> list[Reply]:
    """Answer one question, or one page."""
    known = [constraints.known(question.u, question.v) if question.may_be_inferred else None for question in questions]
    open_ = [question for question, value in zip(questions, known, strict=True) if value is None]
    if open_ and open_[0].page is not None and isinstance(oracle, PageOracle):
        answers = oracle.answer_page(open_)
    else:
        answers = [oracle.answer(question) for question in open_]
    given = dict(zip([question.id for question in open_], answers, strict=True))
    replies = []
    for question, value in zip(questions, known, strict=True):
        if value is not None:
            replies.append(Reply(question, value, inferred=True))
            continue
        said = given[question.id]
        if said is not None and not question.is_vote:
            constraints.add(question.u, question.v, said, answer_id(question))
        replies.append(Reply(question, said, inferred=False))
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
    page_cost: float = PAGE_COST,
    progress: Callable[[int, int], None] | None = None,
    on_batch: Callable[[Sequence[Reply]], None] | None = None,
) -> Tally:
    """Run a sampler until one of these, which `Tally.stopped` names:

    `budget`: the oracle was asked `budget` questions, a page counted as `page_cost` of them; `done`: the sampler is; `waiting`:
    all is answered and it asks nothing; `complete`: the closure knows every pair of the `items` items; `inferred`: 10 · budget +
    1000 answers, free ones included: a sampler that keeps asking what is known would otherwise never end.
    """
    constraints = Constraints() if constraints is None else constraints
    asked = glances = inferred = unsure = 0
    most = most_answers(budget)
    stopped: Stopped | None = None
    while stopped is None:
        spent = asked + page_cost * glances
        if spent >= budget:
            stopped = "budget"
        elif sampler.done:
            stopped = "done"
        elif items is not None and constraints.complete(items):
            stopped = "complete"
        elif asked + glances + inferred >= most:
            stopped = "inferred"
        else:
            # Never more than the budget still allows: so the questions do not depend on the size of a batch.
            questions = sampler.ask(min(batch, math.ceil(budget - spent), most - asked - inferred))
            replies = answer_batch(questions, constraints, oracle)
            sampler.tell([Answer(reply.question.id, reply.question.u, reply.question.v, reply.value) for reply in replies])
            inferred += sum(reply.inferred for reply in replies)
            said = [reply.question for reply in replies if not reply.inferred]
            pairs = sum(question.page is None for question in said)
            asked, glances = asked + pairs, glances + asked_at_once(said) - pairs
            unsure += sum(reply.value is None for reply in replies)
            if on_batch is not None:
                on_batch(replies)
            if progress is not None:
                progress(asked, budget)
            if not questions:
                stopped = "waiting"
    return Tally(asked, glances, inferred, unsure, len(constraints.conflicts), stopped)
