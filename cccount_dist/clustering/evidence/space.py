"""Step 0: a space in which items of a class differ equally in all directions, and the neighbour lists in it.

Before the first answer: `sharpened`, the map of `similarity/whitening.py`, with mutual neighbours in the place of classes. With
answers: `learned`, in which pairs that people called the same show what mutual neighbours do not: how far the poses of one class
are apart. W = what mutual neighbours differ by, and what the "same" pairs differ by (each item as the mean of it
and its nearest, so that what is peculiar to one picture is left out), L Lᵀ = W, x becomes L⁻¹ (x - centre); then the directions
in which all items differ more than those of a class are stretched by the fourth root of the ratio.

Rows become unit rows where they were unit rows. Lists are renewed among neighbours and their neighbours, and all of it is done
twice. Time O(n (d² + 200 d)); memory O(d²) and three blocks of 8,192 rows in float64 (0.25 GiB at 1,280 dimensions): the vectors
of the new space lie in a file of the temporary folder, as large as those given, while they are used.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.distance import LANES, squared_distance
from cccount_dist.clustering.evidence.kernels import OPTIONS
from cccount_dist.clustering.rows import room_for, row_blocks
from cccount_dist.similarity.threads import one_thread
from cccount_dist.similarity.whitening import mutual_scatter, whitening

ROUNDS = 2
REACH = 12  # neighbours whose neighbours are looked at, and so many of those
PRIOR = 50  # "same" answers that what mutual neighbours differ by counts for; as many as there are, if there are more
SMOOTH = 5  # nearest ones that an item is averaged with before it is compared with the one that is the same
SHRINK = 0.05  # share of the mean variance that is added in every direction
STRETCH = 0.25  # power of the ratio between what all items and what those of a class differ by
_ROWS = 8192

Matrix = NDArray[np.float64]
Rows = NDArray[np.float32]
Lists = NDArray[np.int32]


def sharpened(vectors: Rows, neighbors: Lists) -> tuple[Rows, Lists]:
    """Return the vectors (n, d) in the new space, padded for `distance.py`, and their neighbours (n, k) there, nearest first;
    as they were, if all mutual neighbours are equal.

    Parameters
    ----------
    vectors : (n, d)
    neighbors : (n, k), most similar first; -1 where a list is shorter
    """
    found, lists = vectors, neighbors
    centre = vectors.mean(axis=0, dtype=np.float64)
    for _ in range(ROUNDS):
        if (matrix := whitening(vectors, lists)) is None:
            break
        found, lists = _moved(vectors, centre, matrix, lists)
    return found, lists


def learned(vectors: Rows, neighbors: Lists, same: NDArray[np.int64]) -> tuple[Rows, Lists]:
    """Return the vectors and the neighbours in the space that the answers teach; as they were, if nothing differs.

    Parameters
    ----------
    vectors : (n, d)
    neighbors : (n, k) of the sharpened space
    same : (s, 2) items that are the same by the answers
    """
    found, lists = vectors, neighbors
    centre = vectors.mean(axis=0, dtype=np.float64)
    overall = _shape(_overall(vectors, centre))
    for _ in range(ROUNDS):
        near = _shape(mutual_scatter(vectors, lists))
        if near is None or overall is None:
            break
        with one_thread():  # sums in the same order whatever the number of cores
            apart = _smooth(vectors, lists, same[:, 0]) - _smooth(vectors, lists, same[:, 1])
            told = _shape(apart.T @ apart)
            weight = max(PRIOR, len(same))
            within = near if told is None else (weight * near + len(same) * told) / (weight + len(same))
            matrix = _stretched(within, overall)
        found, lists = _moved(vectors, centre, matrix, lists)
    return found, lists


def _shape(scatter: Matrix) -> Matrix | None:
    """Return the matrix with a mean variance of 1; None if nothing differs."""
    mean = float(np.trace(scatter)) / len(scatter)
    return scatter / mean if mean > 0.0 else None


def _overall(vectors: Rows, centre: Matrix) -> Matrix:
    total = np.zeros((vectors.shape[1],) * 2)
    with one_thread():
        for start in range(0, len(vectors), _ROWS):
            rows = vectors[start : start + _ROWS] - centre
            total += rows.T @ rows
    return total


def _smooth(vectors: Rows, lists: Lists, items: NDArray[np.int64]) -> Matrix:
    """Return items (s, d) as means of themselves and their nearest."""
    near = lists[items, :SMOOTH]
    listed = near >= 0
    total = vectors[items] + (vectors[near] * listed[:, :, None]).sum(axis=1, dtype=np.float64)
    smooth: Matrix = total / (1 + listed.sum(axis=1))[:, None]
    return smooth


def _stretched(within: Matrix, overall: Matrix) -> Matrix:
    """Return the map of rows for which `within` becomes the identity, stretched where `overall` is larger than that."""
    little = SHRINK * np.eye(len(within))
    inverse = np.linalg.inv(np.linalg.cholesky(within + little))
    ratio, axes = np.linalg.eigh(inverse @ (overall + little) @ inverse.T)
    matrix: Matrix = inverse.T @ axes * np.maximum(ratio, 0.0) ** STRETCH
    return matrix


def _moved(vectors: Rows, centre: Matrix, matrix: Matrix, lists: Lists) -> tuple[Rows, Lists]:
    """Return the rows under a map, unit rows where they were unit rows, and the lists there."""
    dimensions = vectors.shape[1]
    lengths = np.concatenate([np.square(vectors[part], dtype=np.float64).sum(axis=1) for part in row_blocks(vectors)])
    unit = bool(np.allclose(lengths, 1.0, atol=1e-3))
    found = room_for(len(vectors), dimensions + -dimensions % LANES)
    with one_thread():
        for start in range(0, len(vectors), _ROWS):
            rows = (vectors[start : start + _ROWS] - centre) @ matrix
            if unit:
                rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
            found[start : start + _ROWS, :dimensions] = rows
            found[start : start + _ROWS, dimensions:] = 0.0
    return found, _renewed(found, lists, min(REACH, lists.shape[1]))


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
