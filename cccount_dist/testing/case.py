"""A sampler under test: how to make it, who answers, and a recorded campaign that other copies of it follow.

Time and memory are those of the sampler, times the number of copies that a check makes.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.replay import Round
from cccount_dist.sampling.types import DIFFERENT, SAME, Answer, Question, Sampler
from cccount_dist.testing.difference import SamplerError, differ, first_difference
from cccount_dist.testing.validity import check_result

Make = Callable[[], Sampler[object]]
Ask = Callable[[Sampler[object], int], Sequence[Question]]
Tell = Callable[[Sampler[object], Sequence[Answer]], None]
UNSURE_SHARE, WRONG_SHARE, CHANGED_SHARE = 0.2, 0.1, 0.15
LIMITS = (1, 2, 3, 5, 8)


@dataclass(frozen=True)
class SamplerCase:
    """What the checks look at: see `check_sampler` for the fields."""

    make: Make
    labels: NDArray[np.generic]
    items: Sequence[int] | None = None
    rating: bool = False
    questions: int = 60
    own_closure: bool = False
    replaces: bool = True
    seed: int = 0
    _recorded: "dict[tuple[int, bool], Recording]" = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def askable(self) -> frozenset[int]:
        """The items that may be asked about."""
        return frozenset(range(len(self.labels)) if self.items is None else self.items)

    def chance(self, stream: int = 0) -> random.Random:
        """Return random numbers that are the same in every run."""
        return random.Random(1000 * self.seed + stream)  # noqa: S311 (no secret: it must be the same every time)

    def truth(self, question: Question) -> float:
        """Return the right answer."""
        if self.labels.ndim == 2:
            return float(self.labels[question.u, question.v])
        same = bool(self.labels[question.u] == self.labels[question.v])
        if self.rating:
            return 0.9 if same else 0.1
        return SAME if same else DIFFERENT

    def right(self, question: Question) -> Answer:
        return said(question, self.truth(question))

    def mixed(self, question: Question, chance: random.Random) -> Answer:
        """What somebody says who is unsure now and then, and wrong now and then."""
        luck = chance.random()
        if luck < UNSURE_SHARE:
            return said(question, None)
        return said(question, 1.0 - self.truth(question)) if luck < UNSURE_SHARE + WRONG_SHARE else self.right(question)


def said(question: Question, value: float | None) -> Answer:
    return Answer(question.id, question.u, question.v, value)


@dataclass
class Step:
    """One call of `ask`, and what was told after it."""

    limit: int
    questions: list[Question]
    answers: list[Answer] = field(default_factory=list)


@dataclass
class Recording:
    """A campaign: what a sampler asked and was told, and where that led."""

    steps: list[Step]
    result: object
    done: bool

    @property
    def questions(self) -> list[Question]:
        return [question for step in self.steps for question in step.questions]

    def log(self) -> tuple[list[Round], list[Answer]]:
        """Return it as a campaign keeps it: without calls of `ask` in vain, and without how answers came together."""
        rounds: list[Round] = []
        answers: list[Answer] = []
        for step in self.steps:
            if step.questions:
                rounds.append(Round(len(rounds), len(answers), step.questions))
            answers += step.answers
        return rounds, answers


def record(case: SamplerCase, stream: int = 0, *, fresh_only: bool = False) -> Recording:
    """Ask and answer by turns as people do: late, in any order, unsure, wrong; unless `fresh_only` they change their minds.

    A case remembers it: most checks follow the same one. That it does not change by itself is what determinism is checked for.
    """
    if (stream, fresh_only) not in case._recorded:
        case._recorded[stream, fresh_only] = _record(case, stream, fresh_only=fresh_only)
    return case._recorded[stream, fresh_only]


def _record(case: SamplerCase, stream: int, *, fresh_only: bool) -> Recording:
    chance = case.chance(stream)
    sampler = case.make()
    steps: list[Step] = []
    unanswered: list[Question] = []
    answered: list[Question] = []
    while len(answered) + len(unanswered) < case.questions:
        limit = chance.choice(LIMITS)
        step = Step(limit, list(sampler.ask(limit)))
        steps.append(step)
        if not step.questions and not unanswered:
            break
        unanswered += step.questions
        chance.shuffle(unanswered)
        count = chance.randint(0 if step.questions else 1, len(unanswered))
        now, unanswered = unanswered[:count], unanswered[count:]
        answered += now
        step.answers = [case.mixed(question, chance) for question in now]
        if not fresh_only and answered and chance.random() < 4 * CHANGED_SHARE:
            again = [question for question in answered if chance.random() < CHANGED_SHARE]
            step.answers += [case.mixed(question, chance) for question in again]
        sampler.tell(step.answers)
    result = sampler.result()
    check_result(result, len(case.labels), case.askable)
    return Recording(steps, result, sampler.done)


def plain_ask(sampler: Sampler[object], limit: int) -> Sequence[Question]:
    return sampler.ask(limit)


def plain_tell(sampler: Sampler[object], answers: Sequence[Answer]) -> None:
    sampler.tell(answers)


def follow(case: SamplerCase, recording: Recording, what: str, *, ask: Ask = plain_ask, tell: Tell = plain_tell) -> None:
    """Lead a new sampler the same way, with other calls that must not matter, and require the same questions and result."""
    sampler = case.make()
    for step in recording.steps:
        require_same(step.questions, ask(sampler, step.limit), what)
        tell(sampler, step.answers)
    if (found := first_difference(recording.result, sampler.result())) is not None:
        raise SamplerError(f"{what}, the result is another one: {found}")
    if sampler.done != recording.done:
        raise SamplerError(f"{what}, done is {sampler.done} and was {recording.done}")


def require_same(expected: Sequence[Question], asked: Sequence[Question], what: str) -> None:
    if (found := differ(expected, asked)) is not None:
        raise SamplerError(f"{what}, other questions are asked: {found}")
