"""A campaign is its log: a new sampler that is led through the logged rounds stands where the old one stood, bit for bit.

Time and memory are those of the sampler itself; the log is read once, in order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cccount_dist.sampling.types import Answer, Question, Sampler, asked_at_once, tell_all
from storage.errors import CorruptionError

ResultT = TypeVar("ResultT")


class ReplayError(CorruptionError):
    """The sampler asks something else than the log says: other code, another processor, or other inputs."""


@dataclass(frozen=True, slots=True)
class Round:
    """One call of `ask`: what it returned, and how many answers of the log the sampler had been told before it."""

    number: int
    after: int
    questions: Sequence[Question]


def replay(sampler: Sampler[ResultT], rounds: Iterable[Round], answers: Sequence[Answer]) -> None:
    """Lead a new sampler through a log: answers up to each round, the round's questions, and at the end the remaining answers.

    Raises
    ------
    ReplayError
        If the sampler asks something else than the log says: it was made from other inputs, or is another sampler.
    CorruptionError
        If the log is damaged.
    """
    told = 0
    for one in rounds:
        if not told <= one.after <= len(answers):
            raise CorruptionError(
                f"round {one.number} was asked after {one.after} answers, but {told} came before and the log has {len(answers)}"
            )
        if one.after > told:
            tell_all(sampler, answers[told : one.after])
            told = one.after
        _check_same(one, sampler.ask(asked_at_once(one.questions)))
    if told < len(answers):
        tell_all(sampler, answers[told:])


def _check_same(logged: Round, asked: Sequence[Question]) -> None:
    for index, question in enumerate(logged.questions):
        if index >= len(asked):
            raise ReplayError(
                f"question {question.id} was {_pair(question)}, this sampler asks nothing more: the log belongs to other inputs"
            )
        if asked[index] != question:
            raise ReplayError(
                f"question {question.id} was {_difference(question, asked[index])}: the log belongs to other inputs"
            )


def _pair(question: Question) -> str:
    return f"({question.u}, {question.v})"


def _difference(logged: Question, asked: Question) -> str:
    if (logged.u, logged.v) != (asked.u, asked.v):
        return f"{_pair(logged)}, this sampler asks {_pair(asked)}"
    return f"{logged}, this sampler asks {asked}"
