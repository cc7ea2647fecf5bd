"""Micro-clusters: what the questions are about. Their sizes, vector sums, links and candidate pairs; all of it adds up under merging.

n items become m = min(n/2, max(1,000, n/10)) micro-clusters. Candidate pairs: everything that shares similarity, and the nearest
centroids. Memory O(m · (d + candidates)); time of the centroids' neighbours O(m² d / 2).
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from cccount_dist.clustering.evidence.kernels import OPTIONS, squared_distance
from cccount_dist.clustering.evidence.linkage import average_linkage
from cccount_dist.clustering.evidence.reciprocal import jaccard_similarity
from cccount_dist.similarity.inmemory import neighbors_in_memory

CENTROIDS = 20  # nearest centroids of each micro-cluster that are candidates although nothing links the two
COMPLETE = 1000  # up to so many micro-clusters every pair is a candidate
_NEAR = 10  # neighbours whose mean distance is the unit of "near"


@dataclass(frozen=True, slots=True)
class Micro:
    """m micro-clusters of n items and P candidate pairs of them."""

    label: NDArray[np.int32]  # (n,) micro-cluster of each item; -1 without a vector
    size: NDArray[np.float64]  # (m,)
    total: NDArray[np.float64]  # (m, d) sum of the vectors
    square: NDArray[np.float64]  # (m,) sum of |x|²
    members: NDArray[np.int32]  # (n,) items by micro-cluster, most central first
    start: NDArray[np.int64]  # (m + 1,) where each one's members begin
    first: NDArray[np.int32]  # (P,) candidate pairs, first < second, in order
    second: NDArray[np.int32]  # (P,)
    link: NDArray[np.float64]  # (P,) sum of the Jaccard similarity over the pair's items
    far: float  # mean squared distance of all pairs of items
    unit: float  # far minus the mean squared distance to the nearest neighbours: what features are measured in

    @property
    def count(self) -> int:
        return len(self.size)


def make_micro(vectors: NDArray[np.float32], neighbors: NDArray[np.int32]) -> Micro:
    """Return the micro-clusters of the items that have neighbours."""
    usable = np.flatnonzero(neighbors[:, 0] >= 0)
    rows = np.ascontiguousarray(vectors[usable])
    if len(usable) < len(neighbors):
        number = np.full(len(neighbors) + 1, -1, np.int32)
        number[usable] = np.arange(len(usable), dtype=np.int32)
        lists = number[neighbors[usable]]
    else:
        lists = np.ascontiguousarray(neighbors)
    items = len(rows)
    similarity = jaccard_similarity(lists, rows)
    found, _ = average_linkage(similarity, max(1, int(min(items / 2, max(1000, items / 10)))))
    m = int(found.max()) + 1
    size = np.bincount(found, minlength=m).astype(np.float64)
    total, square = _sums(rows, found, m)
    members, start = _members(rows, found, total, size)
    first, second, link = _candidates(similarity, found, total / size[:, None])
    label = np.full(len(vectors), -1, np.int32)
    label[usable] = found
    far, near = _distances(rows, lists, total, square)
    return Micro(
        label, size, total, square, usable[members].astype(np.int32), start, first, second, link, far, max(far - near, 1e-6)
    )


@njit(**OPTIONS)
def _sums(vectors, label, m):
    total = np.zeros((m, vectors.shape[1]))
    square = np.zeros(m)
    for i in range(len(vectors)):
        for p in range(vectors.shape[1]):
            x = np.float64(vectors[i, p])
            total[label[i], p] += x
            square[label[i]] += x * x
    return total, square


def _members(
    vectors: NDArray[np.float32], label: NDArray[np.int32], total: NDArray[np.float64], size: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    away = _from_centre(vectors, label, total / size[:, None])
    return np.lexsort((away, label)), np.concatenate([[0], np.cumsum(size)]).astype(np.int64)


@njit(**OPTIONS)
def _from_centre(vectors, label, centre):
    away = np.zeros(len(vectors))
    for i in range(len(vectors)):
        for p in range(vectors.shape[1]):
            difference = vectors[i, p] - centre[label[i], p]
            away[i] += difference * difference
    return away


@njit(**OPTIONS)
def _near_total(vectors, neighbors, count):
    total = 0.0
    for i in range(len(vectors)):
        for t in range(count):
            total += squared_distance(vectors, i, neighbors[i, t])
    return total


def _distances(
    vectors: NDArray[np.float32], neighbors: NDArray[np.int32], total: NDArray[np.float64], square: NDArray[np.float64]
) -> tuple[float, float]:
    n, count = len(vectors), min(_NEAR, neighbors.shape[1])
    all_pairs = 2.0 * (n * square.sum() - np.square(total.sum(axis=0)).sum()) / (n * (n - 1))
    return float(max(all_pairs, 0.0)), float(_near_total(vectors, neighbors, count) / (n * count))


def _candidates(
    similarity: sparse.csr_matrix, label: NDArray[np.int32], centres: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    m = len(centres)
    pairs = similarity.tocoo()
    a, b = label[pairs.row], label[pairs.col]
    links = sparse.coo_matrix((pairs.data.astype(np.float64), (np.minimum(a, b), np.maximum(a, b))), shape=(m, m))
    if m <= COMPLETE:
        a, b = np.triu_indices(m, 1)
    elif m > 1:
        k = min(CENTROIDS, m - 1)
        nearest = neighbors_in_memory(centres.astype(np.float32), k, "euclidean").index.ravel()
        mine = np.repeat(np.arange(m), k)
        a, b = np.minimum(mine, nearest), np.maximum(mine, nearest)
    both = (links + sparse.coo_matrix((np.zeros(len(a)), (a, b)), shape=(m, m))).tocsr()
    # An explicit 0 marks a candidate without a link; scipy keeps it in a sum of coordinates, after duplicates are added up.
    both.sum_duplicates()
    out = both.tocoo()
    apart = out.row != out.col
    return out.row[apart].astype(np.int32), out.col[apart].astype(np.int32), out.data[apart]
