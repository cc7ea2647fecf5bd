"""What every baseline asks through: answers that follow from others are free, and the budget ends the run."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.types import SAME

Labels = NDArray[np.int64]
Vectors = NDArray[np.float32]


class BudgetUsed(Exception):  # noqa: N818  not an error: how a run ends
    """The budget is used up."""


class Asker:
    """Asks an oracle that is always sure, at most `budget` times.

    >>> asker = Asker(lambda u, v: u % 2 == v % 2, budget=2)
    >>> asker(0, 2), asker(2, 4), asker(0, 4), asker.asked
    (True, True, True, 2)
    """

    def __init__(self, oracle: Callable[[int, int], bool], budget: int) -> None:
        self._oracle = oracle
        self._budget = budget
        self.asked = 0
        self.known = Constraints()
        self._links: list[tuple[int, int, bool]] = []

    def __call__(self, u: int, v: int) -> bool:
        known = self.known.known(u, v)
        if known is not None:
            return known == SAME
        if self.asked >= self._budget:
            raise BudgetUsed
        same = bool(self._oracle(u, v))
        self.known.add(u, v, float(same), str(self.asked))
        self._links.append((u, v, same))
        self.asked += 1
        return same

    @property
    def left(self) -> int:
        """Questions that the budget still allows."""
        return self._budget - self.asked

    def links(self) -> tuple[Labels, Labels]:
        """Return must-links and cannot-links (m, 2)."""
        rows = np.array([(u, v) for u, v, _ in self._links], np.int64).reshape(-1, 2)
        same = np.array([same for _, _, same in self._links], bool)
        return rows[same], rows[~same]


class Neighbourhoods:
    """Sets of items that are known to be the same, all different from each other (sample-based methods grow them)."""

    def __init__(self, asker: Asker, first: int) -> None:
        self._asker = asker
        self.sets: list[list[int]] = [[first]]

    @property
    def items(self) -> Labels:
        return np.array([item for one in self.sets for item in one], np.int64)

    def place(self, item: int, order: Labels) -> None:
        """Ask an item against the sets in this order until one is the same; without one it founds a set."""
        for number in order.tolist():
            if self._asker(item, self.sets[number][0]):
                self.sets[number].append(item)
                return
        self.sets.append([item])
