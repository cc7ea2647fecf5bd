"""A sampler made of a program: an algorithm as it is printed, which stops at each question and goes on with its answer.

One question is open at a time. What follows from earlier answers is not asked, and unsure is told to the program as None. A
changed answer makes the program run anew with all that is known. A snapshot keeps what was asked and answered; the program is
then led to where it was. Time and memory: those of the program, and O(questions).
"""

from collections.abc import Generator, Sequence
from typing import ClassVar, Generic, Protocol, TypeVar

from cccount_dist.sampling.constraints import Conflict, Constraints
from cccount_dist.sampling.types import DIFFERENT, SAME, Answer, Question
from storage.errors import InputError

Asking = tuple[int, int, str]  # u, v, purpose
Program = Generator[Asking, float | None, None]
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Running(Protocol[R_co]):
    """An algorithm at work. What it knows are the answers that it was told: 1 same, 0 different, None unsure."""

    def program(self) -> Program:
        """Yield questions, and be told their answers."""

    def result(self) -> R_co:
        """Return what was found so far."""


class Printed(Protocol[R_co]):
    """An algorithm and what it works on."""

    def begin(self) -> Running[R_co]:
        """Start from nothing. It may be called again: the same answers give the same questions."""


class ProgramSampler(Generic[R]):
    """Ask, tell, result, done: see `cccount_dist.sampling.types.Sampler`."""

    __unsaved__: ClassVar = ("_running", "_program")

    def __init__(self, printed: Printed[R]) -> None:
        self._printed = printed
        self._asked: list[Asking] = []
        self._values: dict[int, float | None] = {}
        self._open: dict[tuple[int, int], int] = {}
        self._known = Constraints()
        self._running: Running[R] | None = None
        self._program: Program | None = None
        self._wants: Asking | None = None
        self._finished = False

    def ask(self, limit: int) -> list[Question]:
        wanted = self._reached()._wants
        if limit < 1 or wanted is None or _pair(wanted) in self._open:
            return []
        number = len(self._asked)
        self._asked.append(wanted)
        self._open[_pair(wanted)] = number
        return [Question(number, wanted[0], wanted[1], purpose=wanted[2])]

    def tell(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            if not 0 <= answer.question_id < len(self._asked):
                raise InputError(f"question {answer.question_id} was answered, but only {len(self._asked)} were asked")
            if answer.value not in (None, SAME, DIFFERENT):
                raise InputError(f"question {answer.question_id} was answered with {answer.value}: an answer is 1, 0 or unsure")
        for answer in answers:
            self._learn(answer.question_id, answer.value)

    def result(self) -> R:
        running = self._reached()._running
        if running is None:
            raise AssertionError("a program that was reached is there")
        return running.result()

    @property
    def done(self) -> bool:
        return not self._open and self._reached()._finished

    @property
    def conflicts(self) -> list[Conflict]:
        """Answers that contradict earlier ones: kept, and not applied."""
        return self._known.conflicts

    def _learn(self, number: int, value: float | None) -> None:
        asked = self._asked[number]
        if number in self._values:
            if self._values[number] == value:
                return
            if self._values[number] is not None:
                self._known.remove(str(number))
            self._running = self._program = None  # what rested on the old answer is forgotten
        elif self._wants is None or _pair(asked) != _pair(self._wants):
            # It was asked before an answer changed, and the program may have been told something else about this pair since.
            self._running = self._program = None
        self._open.pop(_pair(asked), None)
        self._values[number] = value
        if value is not None:
            self._known.add(asked[0], asked[1], value, str(number))

    def _reached(self) -> "ProgramSampler[R]":
        """Lead the program to the first question whose answer is not known, or to its end."""
        if self._program is None or self._running is None:
            self._running = self._printed.begin()
            self._program = self._running.program()
            self._wants = next(self._program, None)
            self._finished = self._wants is None
        while self._wants is not None:
            # A pair that nobody could tell stays so, also when it follows from later answers: a program that is run anew is told
            # what it was told.
            unsure = self._was_unsure(self._wants)
            known = None if unsure else self._known.known(self._wants[0], self._wants[1])
            if known is None and not unsure:
                break
            try:
                self._wants = self._program.send(known)
            except StopIteration:
                self._wants, self._finished = None, True
        return self

    def _was_unsure(self, asking: Asking) -> bool:
        return any(value is None and _pair(self._asked[number]) == _pair(asking) for number, value in self._values.items())


def _pair(asking: Asking) -> tuple[int, int]:
    return min(asking[0], asking[1]), max(asking[0], asking[1])
