"""Step 2: exact average linkage on a sparse similarity matrix; pairs that are not in it have similarity 0.

Every cluster knows its best partner, the best of all is merged next. After a merge the average to a third cluster is at most the
better one of before, so a stored best is an upper bound and is looked up again only when it comes to the top.
Memory: 27 bytes for each stored pair, beside the matrix. Time O((merges + look-ups) · entries of a row).
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import heapq
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.evidence.kernels import OPTIONS, root

if TYPE_CHECKING:
    from scipy import sparse

LEAST = 1e-4  # average similarity below which nothing is merged


@njit(**OPTIONS)
def _both_ways(indptr, indices, data, room):
    """Return the rows of a matrix that is given above the diagonal, in order, with spare room behind them, and their starts."""
    items = len(indptr) - 1
    start = np.zeros(items + 1, np.int64)
    for i in range(items):
        start[i + 1] += indptr[i + 1] - indptr[i]
    for j in indices:
        start[j + 1] += 1
    start = np.cumsum(start)
    fill = start[:-1].copy()
    index, value = np.empty(start[items] + room, np.int32), np.empty(start[items] + room)
    for i in range(items):  # what lies below the diagonal of a row comes from rows before it
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            index[fill[i]], value[fill[i]] = j, data[p]
            index[fill[j]], value[fill[j]] = i, data[p]
            fill[i] += 1
            fill[j] += 1
    return start, index, value


@njit(**OPTIONS)
def _gather(x, at, count, start, length, index, value, parent, place):
    """Append the row of x at `at + count`, partners under their present names; return the new count."""
    for p in range(start[x], start[x] + length[x]):
        j = root(parent, index[p])
        v = value[p]
        if place[j] < 0:
            place[j] = at + count
            index[at + count] = j
            value[at + count] = 0.0
            count += 1
        value[place[j]] += v
    return count


@njit(**OPTIONS)
def _forget(x, at, count, index, value, place):
    """Empty the places again and take x itself out of the row; return how long the row is."""
    kept = 0
    for p in range(at, at + count):
        j = index[p]
        place[j] = -1
        if j != x:
            index[at + kept] = j
            value[at + kept] = value[p]
            kept += 1
    return kept


@njit(**OPTIONS)
def _best(x, start, length, index, value, size):
    best = -1
    most = 0.0
    for p in range(start[x], start[x] + length[x]):
        j = index[p]
        average = value[p] / (size[x] * size[j])
        if average > most or (average == most and j < best):
            most = average
            best = j
    return most, best


@njit(**OPTIONS)
def _merge(start, index, value, size, wanted, least):
    """Merge until `wanted` merges are made; return the pairs (kept, absorbed) and their averages.

    `index` and `value` have spare room behind the entries, for rows that are made anew, and are changed.
    """
    items = len(start) - 1
    end = start[items]
    length = start[1:] - start[:-1]
    start = start[:-1].copy()
    parent = np.arange(items)
    size = size.copy()
    place = np.full(items, -1, np.int64)
    partner = np.full(items, -1, np.int64)
    pairs = np.empty((wanted, 2), np.int64)
    height = np.empty(wanted)
    merges = 0
    heap = [(0.0, 0)]
    for x in range(items):
        most, partner[x] = _best(x, start, length, index, value, size)
        if most >= least:
            heap.append((-most, x))
    heap = heap[1:]
    heapq.heapify(heap)
    while merges < wanted and len(heap) > 0:
        top, x = heapq.heappop(heap)
        if parent[x] != x:
            continue
        y = partner[x]
        now = -1.0
        if parent[y] == y:
            for p in range(start[x], start[x] + length[x]):
                if index[p] == y:
                    now = value[p] / (size[x] * size[y])
                    break
        if now != -top:  # the partner has changed since
            count = _gather(x, end, 0, start, length, index, value, parent, place)
            count = _forget(x, end, count, index, value, place)
            for p in range(count):  # never longer than before: it stays where it is
                index[start[x] + p] = index[end + p]
                value[start[x] + p] = value[end + p]
            length[x] = count
            most, partner[x] = _best(x, start, length, index, value, size)
            if most >= least:
                heapq.heappush(heap, (-most, x))
            continue
        kept, gone = min(x, y), max(x, y)
        pairs[merges, 0], pairs[merges, 1] = kept, gone
        height[merges] = now
        merges += 1
        parent[gone] = kept
        count = _gather(kept, end, 0, start, length, index, value, parent, place)
        count = _gather(gone, end, count, start, length, index, value, parent, place)
        start[kept] = end
        length[kept] = _forget(kept, end, count, index, value, place)
        length[gone] = 0
        size[kept] += size[gone]
        end += length[kept]
        most, partner[kept] = _best(kept, start, length, index, value, size)
        if most >= least:
            heapq.heappush(heap, (-most, kept))
        # Room for the longest row that can come next, or else the rows are moved together: each to the left, so in their order.
        # Rows that are merged are never longer than both of before, so there is as much room again as there was at first.
        if end + 2 * items > len(index):
            end = 0
            for j in np.argsort(start, kind="mergesort"):
                if length[j] > 0:
                    for p in range(length[j]):
                        index[end + p] = index[start[j] + p]
                        value[end + p] = value[start[j] + p]
                    start[j] = end
                    end += length[j]
    return pairs[:merges], height[:merges]


@njit(**OPTIONS)
def _labels(items, pairs):
    parent = np.arange(items)
    for kept, gone in pairs:
        parent[gone] = kept
    labels = np.empty(items, np.int32)
    clusters = 0
    for x in range(items):  # the kept name is the smallest item of a cluster
        if parent[x] == x:
            labels[x] = clusters
            clusters += 1
        else:
            labels[x] = labels[root(parent, x)]
    return labels


def average_linkage(
    similarity: "sparse.csr_matrix", clusters: int, *, size: NDArray[np.float64] | None = None, least: float = LEAST
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Merge items until `clusters` are left, or no two with an average similarity of at least `least`.

    Parameters
    ----------
    similarity : (n, n) sparse, above the diagonal
    size : (n,) of what is merged, if that are clusters already and `similarity` is summed over their pairs; None: 1 each

    Returns
    -------
    merges (t, 2), each as the smallest items of the two clusters, the smaller first, and their average similarity, never rising.
    """
    items = similarity.shape[0]
    similarity.sort_indices()
    spare = max(similarity.nnz // 4, 4 * items) + 1024
    start, index, value = _both_ways(similarity.indptr, similarity.indices, similarity.data, spare)
    merges, height = _merge(
        start,
        index,
        value,
        np.ones(items) if size is None else size,
        max(items - clusters, 0),
        least,
    )
    return merges, height


def cut(items: int, merges: NDArray[np.int64], clusters: int) -> NDArray[np.int32]:
    """Return the labels (n,) when `clusters` are left, or all merges are made; numbered by first appearance."""
    labels: NDArray[np.int32] = _labels(items, merges[: max(items - clusters, 0)])
    return labels
