"""The order of a nested sampler's draws: one infinite sequence along which N and M grow together; a budget only cuts it.

With N anchors each has M(N) = ⌈r N^((1 - α)/α)⌉ draws, so N grows as T^α with the T = N M draws in all; α = ½ keeps N : M = 1 : r
as in section 4 of the NIS paper, and any N and M are met with the r and α that belong to them. From N to N + 1: each of
the N anchors gets M(N + 1) - M(N) more draws, then the new anchor gets M(N + 1). Time O(log N) for a place, memory O(N).
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.parameters import ALPHA, RATIO

Ints = NDArray[np.int64]
_FIRST = 64  # levels of a table to begin with
_ROUNDING = 1e-9  # that a power may be above a whole number without meaning more


@dataclass(slots=True)
class Schedule:
    """Which draw of which anchor stands where in the sequence."""

    ratio: float = RATIO
    alpha: float = ALPHA
    _each: Ints = field(default_factory=lambda: np.zeros(1, np.int64))  # M(N) for N = 0, 1, 2, …
    _ends: Ints = field(default_factory=lambda: np.zeros(1, np.int64))  # N M(N)

    def draws_of_each(self, anchors: int) -> int:
        """Return M(N).

        >>> [Schedule().draws_of_each(n) for n in (1, 2, 3)], [Schedule(2.5, 0.6).draws_of_each(n) for n in (1, 8)]
        ([7, 14, 21], [3, 10])
        """
        self._reach_level(anchors)
        return int(self._each[anchors])

    def locate(self, start: int, stop: int) -> tuple[Ints, Ints]:
        """Return the anchor and its draw for the places start … stop - 1 of the sequence.

        >>> anchor, draw = Schedule().locate(5, 16)
        >>> anchor.tolist(), draw.tolist()
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1], [5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 1])
        """
        place = np.arange(start, stop, dtype=np.int64)
        self._reach_place(stop)
        level = np.searchsorted(self._ends, place, side="right") - 1
        offset, before = place - self._ends[level], self._each[level]
        more = np.maximum(self._each[level + 1] - before, 1)  # where there are none, no place is of an old anchor
        old = offset < level * (self._each[level + 1] - before)
        anchor = np.where(old, offset // more, level)
        draw = np.where(old, before + offset % more, offset - level * (self._each[level + 1] - before))
        return anchor, draw

    def anchors_after(self, draws: int) -> int:
        """Return how many anchors the first `draws` draws touch.

        >>> [Schedule().anchors_after(q) for q in (0, 1, 14, 15, 28)]
        [0, 1, 1, 2, 2]
        """
        if draws == 0:
            return 0
        anchor, _ = self.locate(draws - 1, draws)
        self._reach_place(draws)
        level = int(np.searchsorted(self._ends, draws - 1, side="right")) - 1
        return max(level, int(anchor[0]) + 1)

    def level_reached(self, settled: Ints) -> int:
        """Return the largest N for which at least N anchors have M(N) settled draws each (`settled`: draws of each anchor).

        In the order of the sequence this is the last level that is complete; a question that waits for its answer for a long time
        holds back its own anchor only.

        >>> schedule = Schedule()
        >>> [schedule.level_reached(np.array(settled)) for settled in ([21, 21, 20], [21, 21, 21], [6])]
        [2, 3, 0]
        """
        self._reach_level(len(settled))
        ranked = np.sort(settled)[::-1]
        return int(np.count_nonzero(ranked >= self._each[1 : len(ranked) + 1]))

    def _reach_place(self, place: int) -> None:
        while self._ends[-1] <= place:
            self._reach_level(max(2 * len(self._each), _FIRST))

    def _reach_level(self, level: int) -> None:
        if level >= len(self._each):
            numbers = np.arange(1, max(level, 2 * len(self._each)) + 1, dtype=np.float64)
            wanted = self.ratio * numbers ** ((1.0 - self.alpha) / self.alpha)
            each = np.maximum(np.ceil(wanted * (1.0 - _ROUNDING)), 1).astype(np.int64)
            self._each = np.concatenate([[0], each])
            self._ends = np.arange(len(self._each)) * self._each
