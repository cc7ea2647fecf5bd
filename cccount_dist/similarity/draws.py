"""Weighted draws that are the same bit for bit everywhere: weights become whole numbers, whose sums are exact in any order.

A draw is an inverse-CDF lookup of one uniform random number. The probability that is reported is the one of the whole
numbers that the draw was made with, so rounding costs no bias. O(n) time to build, O(log n) for each draw; memory O(n), or one
block where weights are computed on demand.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storage.errors import InputError

# Totals stay below 2^52, so that (uniform number) x total is below the total also after rounding to float64.
_TOTAL_BITS = 52


def quantise(weights: NDArray[np.floating], count: int | None = None) -> NDArray[np.int64]:
    """Return weights in [0, 1], of `count` in all, as whole numbers of a common scale; what was positive stays positive."""
    if len(weights) and not (np.min(weights) >= 0 and np.max(weights) <= 1):
        raise InputError(f"weights must lie in [0, 1], not in [{np.min(weights)}, {np.max(weights)}]")
    bits = min(30, _TOTAL_BITS - (len(weights) if count is None else count).bit_length())
    # Scaling by a power of two is exact and rounding up is a single operation: no platform can disagree.
    return np.ceil(np.ldexp(weights.astype(np.float64), bits)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class WeightedDraws:
    """Draws with replacement, item v with probability weight(v) / total."""

    cumulative: NDArray[np.int64]

    @classmethod
    def of(cls, weights: NDArray[np.floating]) -> "WeightedDraws":
        return cls(np.cumsum(quantise(weights)))

    @property
    def total(self) -> int:
        return int(self.cumulative[-1])

    def at(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the items that uniform random numbers in [0, 1) fall on; the total must be positive."""
        position = np.floor(uniform * self.total).astype(np.int64)
        return np.searchsorted(self.cumulative, position, side="right").astype(np.int64)

    def probability(self, items: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the exact probability of each of the items."""
        below = np.where(items > 0, self.cumulative[items - 1], 0)
        probability: NDArray[np.float64] = (self.cumulative[items] - below) / self.total
        return probability


class StreamedDraws:
    """The same draws from weights that are computed block by block: bit for bit those of `WeightedDraws` of the whole row.

    One pass sums the blocks up, and a draw computes the block again that it falls into; the last block is kept. `weights` takes a
    slice or an array of places, and gives a place the same weight in any company.
    """

    def __init__(self, weights: Callable[[slice | NDArray[np.int64]], NDArray[np.floating]], count: int, block: int) -> None:
        self._weights = weights
        self._count = count
        self._block = block
        self._kept = -1, np.empty(0, np.int64)
        sums = [int(self._cumulative(number)[-1]) for number in range(-(-count // block))]
        self._ends = np.cumsum(np.array(sums, np.int64))

    @property
    def total(self) -> int:
        return int(self._ends[-1])

    def at(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the items that uniform random numbers in [0, 1) fall on; the total must be positive."""
        position = np.floor(uniform * self.total).astype(np.int64)
        blocks = np.searchsorted(self._ends, position, side="right")
        found = np.empty(len(position), np.int64)
        for number in np.unique(blocks)[::-1].tolist():  # from the end, whose block is still there
            mine = blocks == number
            before = self._ends[number - 1] if number else 0
            inside = np.searchsorted(self._cumulative(number), position[mine] - before, side="right")
            found[mine] = number * self._block + inside
        return found

    def probability(self, items: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the exact probability of each of the items."""
        probability: NDArray[np.float64] = quantise(self._weights(items), self._count) / self.total
        return probability

    def _cumulative(self, number: int) -> NDArray[np.int64]:
        if self._kept[0] != number:
            start = number * self._block
            weights = self._weights(slice(start, min(start + self._block, self._count)))
            self._kept = number, np.cumsum(quantise(weights, self._count))
        return self._kept[1]


def uniform_others(uniform: NDArray[np.float64], items: int, own: int) -> NDArray[np.int64]:
    """Return numbers of range(items) without `own`, each equally likely."""
    index = np.floor(uniform * (items - 1)).astype(np.int64)
    return index + (index >= own)
