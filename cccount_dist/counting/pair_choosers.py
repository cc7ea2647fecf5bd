"""Which pairs PCK-means asks about: random ones, or Explore and Consolidate of Basu et al. 2004.

Explore takes the item farthest from all that were taken, and asks it against one member of each known set, the nearest first,
until "same"; without one it founds a set. When as many sets are known as the user says there are clusters, Consolidate takes
random items instead. O(n d) for each item taken; memory O(n + questions). At most one question is open at a time.
Once an answer was replaced, founders may not all have been compared: no lower bound is claimed any more.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.types import DIFFERENT, SAME
from cccount_dist.similarity.rows import SimilarityRows
from storage.errors import InputError


class RandomPairs:
    """Pairs of different items, each as likely as any other, with repetition."""

    name = "pckmeans random"
    different = 1
    done = False

    def __init__(self, items: int, seed: int) -> None:
        _check(items, seed)
        self._items = items
        self._random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))

    def next(self) -> tuple[int, int]:
        first, second = self._random.random(2)
        u, v = int(first * self._items), int(second * (self._items - 1))
        return u, v + (v >= u)

    def told(self, number: int, value: float | None) -> None:
        """Nothing: answers do not change what is asked."""


@dataclass(slots=True)
class _Taken:
    """An item, and the questions that compared it with founders of sets."""

    item: int
    asked: list[tuple[int, int]] = field(default_factory=list)  # founder, number of the question


class ExplorePairs:
    """Farthest-first traversal. `clusters` is the number at which Consolidate begins; None: it is not known, and never does."""

    name = "pckmeans explore"

    def __init__(self, vectors: NDArray[np.float32], seed: int, *, clusters: int | None = None) -> None:
        _check(len(vectors), seed)
        self._vectors = vectors
        self._clusters = clusters
        self._random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        self._rows = SimilarityRows(vectors, mean_square=1.0)  # similarity 1 - |u - v|²
        self._distance = np.full(len(vectors), np.inf)  # squared, to the nearest item that was taken; -1 for those
        self._taken: list[_Taken] = []
        self._founders: list[int] = []
        self._values: dict[int, float | None] = {}
        self._number = 0  # of the next question
        self._revised = False
        self._take(int(self._random.random() * len(vectors)))
        self._founders.append(self._taken[0].item)

    @property
    def different(self) -> int:
        """Founders were compared with each other; once an answer was revised, some may not have been."""
        return 1 if self._revised else len(self._founders)

    @property
    def done(self) -> bool:
        return len(self._taken) == len(self._vectors) and self._is_placed(self._taken[-1])

    def next(self) -> tuple[int, int] | None:
        current = self._taken[-1]
        if self._is_open(current):
            return None
        while self._is_placed(current):
            if len(self._taken) == len(self._vectors):
                return None
            current = self._take(self._choose())
        left = self._left(current)
        squared = np.square(self._vectors[left].astype(np.float64) - self._vectors[current.item]).sum(axis=1)
        founder = left[int(np.argmin(squared))]
        current.asked.append((founder, self._number))
        self._number += 1
        return current.item, founder

    def told(self, number: int, value: float | None) -> None:
        if number in self._values:
            if self._values[number] == value:
                return  # heard before: an item must not found a set twice
            self._revised = True
        self._values[number] = value
        current = self._taken[-1]
        if self._revised:
            self._found_again()
        elif not self._left(current) and self._all(current, DIFFERENT):
            self._founders.append(current.item)

    def _choose(self) -> int:
        """Return the next item: the farthest one, or with all clusters found a random one of those that are left."""
        if self._clusters is None or len(self._founders) < self._clusters:
            return int(np.argmax(self._distance))
        left = np.flatnonzero(self._distance >= 0)
        return int(left[int(self._random.random() * len(left))])

    def _take(self, item: int) -> _Taken:
        squared = 1.0 - self._rows.raw(item).astype(np.float64)
        taken = self._distance < 0
        self._distance = np.minimum(self._distance, np.maximum(squared, 0.0))
        self._distance[taken] = -1.0
        self._distance[item] = -1.0
        self._taken.append(_Taken(item))
        return self._taken[-1]

    def _left(self, taken: _Taken) -> list[int]:
        """Return the founders that an item was not compared with yet."""
        asked = {founder for founder, _ in taken.asked}
        return [founder for founder in self._founders if founder not in asked and founder != taken.item]

    def _is_open(self, taken: _Taken) -> bool:
        return any(number not in self._values for _, number in taken.asked)

    def _is_placed(self, taken: _Taken) -> bool:
        """Whether nothing is left to ask about an item: it was "same" once, or compared with all, unsure ones included."""
        if self._is_open(taken):
            return False
        return any(self._values[number] == SAME for _, number in taken.asked) or not self._left(taken)

    def _all(self, taken: _Taken, value: float) -> bool:
        return all(self._values.get(number) == value for _, number in taken.asked)

    def _found_again(self) -> None:
        """Answers were revised: an item founds a set if it is different from every founder that it was compared with."""
        before = set(self._founders)
        self._founders = [self._taken[0].item]
        for taken in self._taken[1:-1]:
            if taken.asked and self._all(taken, DIFFERENT):
                self._founders.append(taken.item)
        current = self._taken[-1]
        if len(self._taken) > 1 and self._all(current, DIFFERENT) and (current.item in before or not self._left(current)):
            self._founders.append(current.item)


def _check(items: int, seed: int) -> None:
    if items < 2:
        raise InputError(f"counting needs at least 2 items with a vector, not {items}")
    if seed < 0:
        raise InputError(f"seed must not be negative, and is {seed}")
