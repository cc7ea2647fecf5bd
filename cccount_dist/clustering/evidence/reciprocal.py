"""Step 1: k-reciprocal Jaccard similarity from the neighbour lists (re-ranking of Zhong et al. 2017), as a sparse matrix.

R(i) = the items that have i among their k neighbours and are among i's, widened by the half-size sets of its members that mostly
lie in it. Rows of weights exp(-d²/d²(i, k-th)) over R(i), averaged over i and its nearest; J = Σ min / (2 - Σ min).
Averaged over two scales. Time O(n · r²) with r ≈ 200 entries a row; memory about 3 · 8 · r bytes an item.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.distance import padded, squared_distance
from cccount_dist.clustering.evidence.kernels import OPTIONS, longer

if TYPE_CHECKING:
    from scipy import sparse

SCALES = ((10, 3), (20, 6))  # neighbours of a set, and rows that are averaged


@njit(**OPTIONS)
def _mutual(neighbors, k):
    """Return which of the first k neighbours of every item have it among their first k."""
    items = neighbors.shape[0]
    found = np.zeros((items, k), np.bool_)
    for i in range(items):
        for t in range(k):
            j = neighbors[i, t]
            if j >= 0:
                for s in range(k):
                    if neighbors[j, s] == i:
                        found[i, t] = True
                        break
    return found


@njit(**OPTIONS)
def _expanded(neighbors, k, vectors):
    """Return the rows of weights: starts (n + 1,), items and weights; each row sums to 1 and begins with the item itself."""
    items = neighbors.shape[0]
    half = max(1, (k + 1) // 2)
    near = _mutual(neighbors, k)
    close = _mutual(neighbors, half)
    starts = np.zeros(items + 1, np.int64)
    index = np.empty(items * (k + 8), np.int32)
    weight = np.empty(items * (k + 8), np.float32)
    core = np.full(items, -1, np.int32)  # the last item whose unwidened set holds this one
    member = np.full(items, -1, np.int32)
    at = 0
    for i in range(items):
        first = at
        if first + (k + 1) * (half + 2) > len(index):
            index = longer(index, 2 * len(index) + (k + 1) * (half + 2))
            weight = longer(weight, len(index))
        index[at] = i
        at += 1
        core[i] = member[i] = i
        for t in range(k):
            if near[i, t]:
                index[at] = neighbors[i, t]
                core[index[at]] = member[index[at]] = i
                at += 1
        for place in range(first + 1, at):
            j = index[place]
            size, shared = 1, 1
            for t in range(half):
                if close[j, t]:
                    size += 1
                    shared += core[neighbors[j, t]] == i
            if 3 * shared > 2 * size:
                for t in range(half):
                    v = neighbors[j, t]
                    if close[j, t] and member[v] != i:
                        member[v] = i
                        index[at] = v
                        at += 1
        kth = neighbors[i, k - 1]
        scale = squared_distance(vectors, i, kth) if kth >= 0 else 0.0
        total = 0.0
        for place in range(first, at):
            distance = squared_distance(vectors, i, index[place])
            value = 1.0 if distance == 0.0 else (np.exp(-distance / scale) if scale > 0.0 else 0.0)
            weight[place] = value
            total += value
        for place in range(first, at):
            weight[place] /= total
        starts[i + 1] = at
    return starts, index[:at].copy(), weight[:at].copy()


@njit(**OPTIONS)
def _averaged(neighbors, rows, starts, index, weight):
    """Return rows averaged over the item and its `rows - 1` nearest."""
    items = neighbors.shape[0]
    place = np.full(items, -1, np.int64)
    out_starts = np.zeros(items + 1, np.int64)
    out_index = np.empty(len(index) * 2, np.int32)
    out_weight = np.empty(len(index) * 2, np.float32)
    at = 0
    for i in range(items):
        first = at
        count = 1
        for t in range(rows - 1):
            count += neighbors[i, t] >= 0
        for t in range(-1, rows - 1):
            j = i if t < 0 else neighbors[i, t]
            if j < 0:
                continue
            if at + starts[j + 1] - starts[j] > len(out_index):
                out_index = longer(out_index, 2 * len(out_index) + 4096)
                out_weight = longer(out_weight, len(out_index))
            for p in range(starts[j], starts[j + 1]):
                v = index[p]
                if place[v] < first:
                    place[v] = at
                    out_index[at] = v
                    out_weight[at] = 0.0
                    at += 1
                out_weight[place[v]] += weight[p] / count
        out_starts[i + 1] = at
    return out_starts, out_index[:at].copy(), out_weight[:at].copy()


@njit(**OPTIONS)
def _inverted(items, starts, index, weight):
    """Return the same entries by column."""
    column_starts = np.zeros(items + 1, np.int64)
    for v in index:
        column_starts[v + 1] += 1
    for v in range(items):
        column_starts[v + 1] += column_starts[v]
    fill = column_starts[:-1].copy()
    rows = np.empty(len(index), np.int32)
    values = np.empty(len(index), np.float32)
    for i in range(items):
        for p in range(starts[i], starts[i + 1]):
            v = index[p]
            rows[fill[v]] = i
            values[fill[v]] = weight[p]
            fill[v] += 1
    return column_starts, rows, values


@njit(**OPTIONS)
def _jaccard(items, starts, index, weight, column_starts, rows, values):
    """Return J of every pair i < j with a common entry, by row."""
    shared = np.zeros(items, np.float32)
    touched = np.empty(items, np.int32)
    out_starts = np.zeros(items + 1, np.int64)
    out_index = np.empty(len(index), np.int32)
    out_value = np.empty(len(index), np.float32)
    at = 0
    for i in range(items):
        count = 0
        for p in range(starts[i], starts[i + 1]):
            v = index[p]
            mine = weight[p]
            for q in range(column_starts[v + 1] - 1, column_starts[v] - 1, -1):  # rows of a column ascend
                j = rows[q]
                if j <= i:
                    break
                if shared[j] == 0.0:
                    touched[count] = j
                    count += 1
                shared[j] += min(mine, values[q])
        if at + count > len(out_index):
            out_index = longer(out_index, 2 * len(out_index) + count)
            out_value = longer(out_value, len(out_index))
        for t in range(count):
            j = touched[t]
            out_index[at] = j
            out_value[at] = min(np.float32(1.0), shared[j] / (np.float32(2.0) - shared[j]))
            shared[j] = 0.0
            at += out_value[at] > 0.0
        out_starts[i + 1] = at
    return out_starts, out_index[:at].copy(), out_value[:at].copy()


def jaccard_similarity(neighbors: NDArray[np.int32], vectors: NDArray[np.float32]) -> "sparse.csr_matrix":
    """Return the similarity of every pair i < j that shares a neighbour, in (0, 1]; (n, n), above the diagonal.

    Parameters
    ----------
    neighbors : (n, k), most similar first; -1 for an item without a vector
    vectors : (n, d)
    """
    from scipy import sparse

    items, k = neighbors.shape
    vectors = padded(vectors)
    scales = sorted({(min(size, k), min(rows, k + 1)) for size, rows in SCALES})
    total = sparse.csr_matrix((items, items), dtype=np.float32)
    for size, rows in scales:
        weights = _averaged(neighbors, rows, *_expanded(neighbors, size, vectors))
        starts, index, value = _jaccard(items, *weights, *_inverted(items, *weights))
        one = sparse.csr_matrix((value / np.float32(len(scales)), index, starts), shape=(items, items))
        one.sort_indices()
        total = one if total.nnz == 0 else total + one
    return total
