"""PCK-means as a counting method (section 4, "Active clustering"): ask pairs, then take k at the elbow of its objective.

It has no interval: the certain one is given. A fit for every k costs 16 times what `pckmeans.py` says, so the estimate is only
renewed when the answers have grown by a quarter: it is that of the first 16, 20, 25, 31, … answers. Memory O(n + questions).
The time of a fit is about a minute for 10,000 items, and many for 100,000: this is a method to compare with.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.elbow import cluster_grid, knee
from cccount_dist.clustering.pckmeans import pckmeans
from cccount_dist.counting.intervals import check_level
from cccount_dist.counting.population import Population
from cccount_dist.counting.result import CountResult
from cccount_dist.sampling.types import DIFFERENT, SAME, Answer, Question
from storage.errors import InputError

_FIRST = 16
_GROWTH = 1.25


class PairChooser(Protocol):
    """Decides which pairs are asked about, by the places of items among those that have a vector."""

    name: str

    @property
    def different(self) -> int:
        """How many clusters are known to be different from each other."""

    def next(self) -> tuple[int, int] | None:
        """Return the next pair, or None if it must wait for answers or has no more."""

    def told(self, number: int, value: float | None) -> None:
        """Take in the answer to the question of this number; a later one replaces it."""

    @property
    def done(self) -> bool:
        """True if there is no further pair."""


class PCKMeansSampler:
    """The sampler: a chooser asks, PCK-means counts."""

    def __init__(
        self,
        vectors: NDArray[np.float32],
        degree: NDArray[np.float64],
        chooser: PairChooser,
        *,
        seed: int = 0,
        level: float = 0.95,
        alpha: float = 1.0,
        beta: float = 1.0,
    ) -> None:
        self._population = Population(degree)
        counted = self._population.items == len(vectors)
        self._vectors = vectors if counted else vectors[~np.isnan(degree)]
        self._chooser = chooser
        self._seed = seed
        self._level = check_level(level)
        self._weights = alpha, beta
        self._pairs: list[tuple[int, int]] = []
        self._values: dict[int, float | None] = {}
        self._fitted: tuple[tuple[tuple[int, float], ...], int] | None = None  # answers, and the count that they gave

    @property
    def done(self) -> bool:
        return self._chooser.done

    def ask(self, limit: int) -> Sequence[Question]:
        questions: list[Question] = []
        while len(questions) < limit and (pair := self._chooser.next()) is not None:
            u, v = (self._population.item(place) for place in pair)
            questions.append(Question(len(self._pairs), u, v, "same", self._chooser.name))
            self._pairs.append(pair)
        return questions

    def tell(self, answers: Sequence[Answer]) -> None:
        """Take answers in. All are checked before the first one counts."""
        for answer in answers:
            self._check(answer)
        for answer in answers:
            self._values[answer.question_id] = answer.value
            self._chooser.told(answer.question_id, answer.value)

    def result(self) -> CountResult:
        known = tuple(sorted((number, value) for number, value in self._values.items() if value is not None))
        used = known[: _checkpoint(len(known))]
        certain = float(self._chooser.different), float(self._population.items)
        if not used:
            return CountResult(None, *certain, self._level, 0, len(known))
        if self._fitted is None or self._fitted[0] != used:
            self._fitted = used, self._count(used)
        return CountResult(float(self._fitted[1]), *certain, self._level, 0, len(known))

    def _count(self, known: Sequence[tuple[int, float]]) -> int:
        """Return the k at the elbow of J."""
        pairs = np.array([self._pairs[number] for number, _ in known])
        values = np.array([value for _, value in known])
        grid = cluster_grid(len(self._vectors))
        alpha, beta = self._weights
        curve = [
            pckmeans(
                self._vectors, k, pairs[values == SAME], pairs[values == DIFFERENT], alpha=alpha, beta=beta, seed=self._seed
            ).objective
            for k in grid
        ]
        return grid[knee(grid, curve)]

    def _check(self, answer: Answer) -> None:
        number = answer.question_id
        if not 0 <= number < len(self._pairs):
            raise InputError(f"question {number} was answered, but only the questions 0 to {len(self._pairs) - 1} were asked")
        u, v = (self._population.item(place) for place in self._pairs[number])
        if {answer.u, answer.v} != {u, v}:
            raise InputError(f"question {number} is about ({u}, {v}), and its answer about ({answer.u}, {answer.v})")
        if answer.value not in (None, SAME, DIFFERENT):
            raise InputError(f"question {number} was answered with {answer.value}: an answer is 1, 0 or unsure")


def _checkpoint(answers: int) -> int:
    """Return how many answers the estimate rests on.

    >>> [_checkpoint(answers) for answers in (15, 16, 19, 20, 30, 31)]
    [0, 16, 16, 20, 25, 31]
    """
    point = float(_FIRST)
    if answers < _FIRST:
        return 0
    while int(point * _GROWTH) <= answers:
        point *= _GROWTH
    return int(point)
