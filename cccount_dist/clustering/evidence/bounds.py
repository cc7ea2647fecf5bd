"""How large the dot product of two vector sums can be at most, from a byte of each number: few pairs need a look at the vectors.

A sum is rounded to whole numbers from -127 to 127 times a step of its own; products of those are exact, and what rounding left is
bounded by its length. The bound is safe for any vectors, and holds for the product as the computer rounds it, so what is decided
by it is decided as without it. Usually it is too large by two hundredths of the two lengths, whatever directions the vectors
reach in. O(m · d), once.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import numpy as np
from numba import njit

from cccount_dist.clustering.distance import dot_of_bytes
from cccount_dist.clustering.evidence.kernels import OPTIONS

_MOST = 127.0
_ROUNDING = 1e-9  # of a product, far more than the rounding of a sum of thousands of terms
_TINY = 1e-300  # more than a product loses that is next to nothing
_SHORT = 1e-150  # and more than a length loses, whose square is


@njit(**OPTIONS)
def roughly(total):
    """Return vector sums (m, d) in bytes, and three numbers (m, 3) of each: the step, and at least the lengths of the sum and of
    what rounding left.
    """
    rough, reach = np.empty(total.shape, np.int8), np.empty((len(total), 3))
    for x in range(len(total)):
        write_roughly(total[x], rough[x], reach[x])
    return rough, reach


@njit(**OPTIONS)
def write_roughly(total, rough, reach):
    """Write one vector sum (d,) in bytes, and the three numbers of it."""
    most = 0.0
    for x in total:
        most = max(most, abs(x))
    step = most / _MOST
    times = 1.0 / step if step > 1e-290 else 0.0
    whole, kept, left = 0.0, 0.0, 0.0
    for p in range(len(total)):
        number = np.rint(total[p] * times)
        rough[p] = np.int8(number)
        near = number * step
        away = total[p] - near
        whole += total[p] * total[p]
        kept += near * near
        left += away * away
    length = np.sqrt(max(whole, kept)) + _SHORT
    reach[0], reach[1], reach[2] = step, length, np.sqrt(left) + _ROUNDING * length + _SHORT


@njit(**OPTIONS)
def most_product(rough_a, reach_a, rough_b, reach_b):
    """Return at least the dot product of two vector sums."""
    left = reach_a[1] * reach_b[2] + reach_a[2] * reach_b[1] + _TINY
    return reach_a[0] * reach_b[0] * dot_of_bytes(rough_a, rough_b) + left


__all__ = ["most_product", "roughly", "write_roughly"]
