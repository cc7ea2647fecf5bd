"""Small compiled pieces that the modules of this folder share. Sums run in a fixed order: the same bits on every machine."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

from typing import Any

import numpy as np
from numba import njit

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy"}
_LANES = 8


@njit(**OPTIONS)
def squared_distance(vectors, u, v):
    """Return |u - v|² of two rows; exactly 0 for duplicates."""
    lanes = np.zeros(_LANES, np.float64)
    dimensions = vectors.shape[1]
    whole = dimensions - dimensions % _LANES
    for start in range(0, whole, _LANES):
        for lane in range(_LANES):
            difference = np.float64(vectors[u, start + lane]) - np.float64(vectors[v, start + lane])
            lanes[lane] += difference * difference
    for p in range(whole, dimensions):
        difference = np.float64(vectors[u, p]) - np.float64(vectors[v, p])
        lanes[p - whole] += difference * difference
    return lanes.sum()


@njit(**OPTIONS)
def dot(x, y):
    """Return the dot product of two float64 rows."""
    a, b, c, e = 0.0, 0.0, 0.0, 0.0
    dimensions = x.shape[0]
    whole = dimensions - dimensions % 4
    for p in range(0, whole, 4):
        a += x[p] * y[p]
        b += x[p + 1] * y[p + 1]
        c += x[p + 2] * y[p + 2]
        e += x[p + 3] * y[p + 3]
    for p in range(whole, dimensions):
        a += x[p] * y[p]
    return (a + b) + (c + e)


@njit(**OPTIONS)
def root(parent, x):
    """Return the set that x belongs to now, and shorten the way to it."""
    top = x
    while parent[top] != top:
        top = parent[top]
    while parent[x] != top:
        parent[x], x = top, parent[x]
    return top


@njit(**OPTIONS)
def longer(array, length):
    """Return a longer copy of an array."""
    out = np.empty(length, array.dtype)
    out[: len(array)] = array
    return out
