"""Weighted draws that are the same bit for bit everywhere: weights become whole numbers, whose sums are exact in any order.

A draw is an inverse-CDF lookup of one uniform random number. The probability that is reported is the one of the whole
numbers that the draw was made with, so rounding costs no bias. O(n) memory and time to build, O(log n) for each draw.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storage.errors import InputError

# Totals stay below 2^52, so that (uniform number) x total is below the total also after rounding to float64.
_TOTAL_BITS = 52


def quantise(weights: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return the weights, which lie in [0, 1], as whole numbers of a common scale; what was positive stays positive."""
    if len(weights) and not (np.min(weights) >= 0 and np.max(weights) <= 1):
        raise InputError(f"weights must lie in [0, 1], not in [{np.min(weights)}, {np.max(weights)}]")
    bits = min(30, _TOTAL_BITS - len(weights).bit_length())
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


def uniform_others(uniform: NDArray[np.float64], items: int, own: int) -> NDArray[np.int64]:
    """Return numbers of range(items) without `own`, each equally likely."""
    index = np.floor(uniform * (items - 1)).astype(np.int64)
    return index + (index >= own)
