"""Who answers: known labels (which may be made to lie), or a function of the caller. People answer through the query log."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.types import DIFFERENT, SAME, Question
from storage.errors import InputError


class Oracle(Protocol):
    """Whatever can answer a question."""

    def answer(self, question: Question) -> float | None:
        """Return 1 for same, 0 for different, a rating in [0, 1], or None for unsure."""


class LabelOracle:
    """Two items are the same if their labels are; with probability `error_rate` the answer is the wrong one.

    Whether an answer is wrong depends on the seed and the question's number only, so that neither batches nor a
    restart change it. A negative whole number or NaN is a missing label: the answer is unsure.

    >>> oracle = LabelOracle(np.array([0, 0, 1, -1]))
    >>> [oracle.answer(Question(0, 0, v)) for v in (1, 2, 3)]
    [1.0, 0.0, None]
    """

    def __init__(self, labels: NDArray[np.generic], *, error_rate: float = 0.0, seed: int = 0) -> None:
        if labels.ndim != 1:
            raise InputError(f"labels must be one value for each item, not an array of shape {labels.shape}")
        if not 0.0 <= error_rate <= 1.0:
            raise InputError(f"the error rate must lie between 0 and 1, not at {error_rate}")
        if seed < 0:
            raise InputError(f"seed must not be negative, and is {seed}")
        self._labels = labels
        self._error_rate = error_rate
        self._seed = seed

    def answer(self, question: Question) -> float | None:
        first, second = self._labels[question.u], self._labels[question.v]
        if _missing(first) or _missing(second):
            return None
        same = bool(first == second)
        return SAME if same != self._lies(question.id) else DIFFERENT

    def _lies(self, number: int) -> bool:
        if self._error_rate == 0.0:
            return False
        bits = int(np.random.Philox(key=self._seed, counter=number).random_raw())
        return bits < self._error_rate * 2**64


def _missing(label: np.generic) -> bool:
    return (isinstance(label, np.integer) and bool(label < 0)) or (isinstance(label, np.floating) and bool(np.isnan(label)))


class FunctionOracle:
    """Calls `function(u, v)` once for each question; it returns True, False, None (unsure), or a rating in [0, 1].

    >>> FunctionOracle(lambda u, v: u % 2 == v % 2).answer(Question(0, 3, 5))
    1.0
    """

    def __init__(self, function: Callable[[int, int], object]) -> None:
        self._function = function

    def answer(self, question: Question) -> float | None:
        returned = self._function(question.u, question.v)
        if returned is None:
            return None
        if isinstance(returned, bool | np.bool_ | int | float | np.integer | np.floating):
            value = float(returned)
            if value in (SAME, DIFFERENT) or (question.kind == "rating" and 0.0 <= value <= 1.0):
                return value
        allowed = "a number in [0, 1] or None" if question.kind == "rating" else "True, False or None"
        raise InputError(f"the oracle returned {returned!r} for items {question.u} and {question.v}: it must return {allowed}")
