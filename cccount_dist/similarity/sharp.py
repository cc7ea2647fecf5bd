"""Rows of a second space, made when they are wanted: whitened (`whitening.py`), and drawn towards their nearest five there.

In it members of a class are more alike than in the given space: on the development sets it says about one and a half to two times
as much about whether two random items are the same. Neighbours are looked for among neighbours and their neighbours. A row takes
O(156 d²) time and is kept: O(t d) memory for t rows; the map takes O(n + pairs · d²) once.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import numba
import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.closure import closure
from cccount_dist.similarity.metrics import usable
from cccount_dist.similarity.whitening import whitening

REACH = 12  # neighbours whose neighbours are looked at, and so many of those
NEAREST = 5  # that a row is drawn to, each with the weight of the row itself
_CENTRE_ROWS = 100_000  # that the mean is taken of


class SharpRows:
    """Unit rows (d,) of the second space by item.

    Parameters
    ----------
    vectors : (n, d) float32, an array or a memory map
    neighbors : (n, k), most similar first; -1 where a list is shorter
    """

    def __init__(self, vectors: NDArray[np.float32], neighbors: NDArray[np.int32]) -> None:
        self._vectors, self._neighbors = vectors, neighbors
        matrix = whitening(vectors, neighbors)
        self._matrix = np.eye(vectors.shape[1]) if matrix is None else np.ascontiguousarray(matrix)
        some = vectors[:: -(-len(vectors) // _CENTRE_ROWS)]
        self._centre = some[usable(some)].mean(axis=0, dtype=np.float64)
        self._made: dict[int, NDArray[np.float32]] = {}

    def closure(self, items: NDArray[np.int64]) -> float:
        """How closed the neighbourhoods of these items are (`closure.py`)."""
        return closure(self._neighbors, items)

    def row(self, item: int) -> NDArray[np.float32]:
        found = self._made.get(item)
        if found is None:
            found = np.empty(self._vectors.shape[1], np.float32)
            reach = min(REACH, self._neighbors.shape[1])
            _sharp_row(self._vectors, self._neighbors, item, self._centre, self._matrix, reach, found)
            self._made[item] = found
        return found


@numba.njit(cache=True, nogil=True, boundscheck=False, error_model="numpy")
def _candidates(neighbors, item, reach):
    """The item, then its neighbours and theirs, each once."""
    found = np.empty(1 + reach + reach * reach, np.int64)
    found[0] = item
    count = 1
    for t in range(-1, reach):
        near = item if t < 0 else neighbors[item, t]
        for s in range(reach):
            other = neighbors[near, s] if near >= 0 else -1
            fresh = other >= 0
            for place in range(count):
                if found[place] == other:
                    fresh = False
                    break
            if fresh:
                found[count] = other
                count += 1
    return found[:count]


@numba.njit(cache=True, nogil=True, boundscheck=False, error_model="numpy")
def _unit(row):
    total = 0.0
    for p in range(len(row)):
        total += row[p] * row[p]
    if total > 0.0:
        row /= np.sqrt(total)


@numba.njit(cache=True, nogil=True, boundscheck=False, error_model="numpy")
def _sharp_row(vectors, neighbors, item, centre, matrix, reach, out):
    """Sums run over dimensions in their order: the same bits on every machine. The matrix is upper triangular."""
    found = _candidates(neighbors, item, reach)
    dimensions = len(centre)
    rows = np.zeros((len(found), dimensions))
    similarity = np.empty(len(found))
    for number in range(len(found)):
        row = rows[number]
        for p in range(dimensions):
            value = np.float64(vectors[found[number], p]) - centre[p]
            for q in range(p, dimensions):
                row[q] += value * matrix[p, q]
        _unit(row)
        total = 0.0
        for p in range(dimensions):
            total += row[p] * rows[0, p]
        similarity[number] = total
    order = np.argsort(-similarity[1:], kind="mergesort")
    total_row = rows[0].copy()
    for place in range(min(NEAREST, len(order))):
        total_row += rows[1 + order[place]]
    _unit(total_row)
    for p in range(dimensions):
        out[p] = total_row[p]
