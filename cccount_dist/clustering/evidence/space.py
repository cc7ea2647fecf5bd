"""Step 0: a space in which neighbours differ equally in all directions, and the neighbour lists in it.

The map is that of `similarity/whitening.py`; rows become unit rows where they were unit rows. Lists are renewed among neighbours
and their neighbours, and all of it is done twice. Time O(n (d² + 200 d)), memory the vectors twice; nothing grows with n².
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import numpy as np
from numba import njit
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from cccount_dist.clustering.distance import padded, squared_distance
from cccount_dist.clustering.evidence.kernels import OPTIONS
from cccount_dist.similarity.whitening import whitening

ROUNDS = 2
REACH = 12  # neighbours whose neighbours are looked at, and so many of those
_ROWS = 8192


def sharpened(vectors: NDArray[np.float32], neighbors: NDArray[np.int32]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return the vectors (n, d) in the new space, and their neighbours (n, k) there, nearest first; as they were, if all
    mutual neighbours are equal.

    Parameters
    ----------
    vectors : (n, d)
    neighbors : (n, k), most similar first; -1 where a list is shorter
    """
    unit = bool(np.allclose(np.square(vectors, dtype=np.float64).sum(axis=1), 1.0, atol=1e-3))
    centre = vectors.mean(axis=0, dtype=np.float64)
    found, lists = vectors, neighbors
    for _ in range(ROUNDS):
        if (matrix := whitening(vectors, lists)) is None:
            break
        with threadpool_limits(1):  # sums in the same order whatever the number of cores
            found = _mapped(vectors, centre, matrix, unit=unit)
        lists = _renewed(padded(found), lists, min(REACH, lists.shape[1]))
    return found, lists


def _mapped(
    vectors: NDArray[np.float32], centre: NDArray[np.float64], matrix: NDArray[np.float64], *, unit: bool
) -> NDArray[np.float32]:
    out = np.empty(vectors.shape, np.float32)
    for start in range(0, len(vectors), _ROWS):
        rows = (vectors[start : start + _ROWS] - centre) @ matrix
        if unit:
            rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        out[start : start + _ROWS] = rows
    return out


@njit(**OPTIONS)
def _renewed(vectors, neighbors, reach):
    """Return lists of the nearest among the listed ones and the first neighbours of the first of them; equal ones by number."""
    items, k = neighbors.shape
    out = np.full((items, k), -1, np.int32)
    seen = np.full(items, -1, np.int32)
    candidate = np.empty(k + reach * reach, np.int32)
    distance = np.empty(k + reach * reach)
    for i in range(items):
        seen[i] = i
        count = 0
        for t in range(k):
            j = neighbors[i, t]
            if j >= 0 and seen[j] != i:
                seen[j] = i
                candidate[count] = j
                count += 1
        for t in range(reach):
            j = neighbors[i, t]
            if j < 0:
                continue
            for s in range(reach):
                v = neighbors[j, s]
                if v >= 0 and seen[v] != i:
                    seen[v] = i
                    candidate[count] = v
                    count += 1
        ordered = np.sort(candidate[:count])
        for p in range(count):
            distance[p] = squared_distance(vectors, i, ordered[p])
        order = np.argsort(distance[:count], kind="mergesort")
        for p in range(min(k, count)):
            out[i, p] = ordered[order[p]]
    return out
