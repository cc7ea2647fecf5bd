"""Small compiled pieces that the modules of this folder share. Sums run in a fixed order: the same bits on every machine."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

from typing import Any

import numpy as np
from numba import njit

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy"}


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
