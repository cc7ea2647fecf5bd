"""How large the dot product of two vector sums can be at most, from a few numbers of each: few pairs need a look at the vectors.

A sum is split in its part along a few directions, in which the micro-clusters reach furthest, and the length of the rest. The
bound is safe for any directions at right angles, and holds for the product as the computer rounds it, so what is decided by it is
decided as without it; only how often it decides depends on the directions. O(m · d · DIRECTIONS), once.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.distance import dot
from cccount_dist.clustering.evidence.kernels import OPTIONS

Floats = NDArray[np.float64]
DIRECTIONS = 48
WIDE = 4 * DIRECTIONS  # dimensions from which bounds are quicker than products
_ROUNDS = 3  # of going from sums to directions and back
_ROUNDING = 1e-9  # of a product, far more than the rounding of a sum of thousands of terms


def directions(total: Floats) -> Floats:
    """Return the directions (d, DIRECTIONS) in which vector sums (m, d) reach furthest, nearly; none where d is small."""
    d = total.shape[1]
    if d < WIDE:
        return np.empty((d, 0))
    found = np.random.default_rng(0).normal(size=(d, DIRECTIONS))
    for _ in range(_ROUNDS):
        found, _ = np.linalg.qr(total.T @ (total @ found))
    return np.ascontiguousarray(found)


def split(total: Floats, along: Floats) -> tuple[Floats, Floats]:
    """Return the parts (m, DIRECTIONS) of vector sums (m, d) along the directions, and the lengths (m,) of what is left."""
    low = np.ascontiguousarray(total @ along)
    rest: Floats = _rests(total, low)
    return low, rest


@njit(**OPTIONS)
def _rests(total, low):
    rest = np.empty(len(total))
    for x in range(len(total)):
        rest[x] = rest_of(total[x], low[x])
    return rest


@njit(**OPTIONS)
def rest_of(total, low):
    """Return at least the length of what a vector sum has beside its part along the directions."""
    whole = dot(total, total)
    return np.sqrt(max(whole - dot(low, low), 0.0) + _ROUNDING * whole)


@njit(**OPTIONS)
def most_product(low_a, rest_a, low_b, rest_b):
    """Return at least the dot product of two vector sums."""
    return dot(low_a, low_b) + rest_a * rest_b
