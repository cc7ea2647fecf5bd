"""Step 1: k-reciprocal Jaccard similarity from the neighbour lists (re-ranking of Zhong et al. 2017), as a sparse matrix.

R(i) = the items that have i among their k neighbours and are among i's, widened by the half-size sets of its members that mostly
lie in it. Rows of weights exp(-d²/d²(i, k-th)) over R(i), averaged over i and its nearest; J = Σ min / (2 - Σ min).
Averaged over two scales. Time O(n · r²) with r entries of weight a row (50 to 200 of both scales); memory 16 · r bytes an item
while it is worked out, and 8 for each pair that is found: rows are made block by block, and no array grows by copies of itself.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.distance import padded, squared_distance
from cccount_dist.clustering.evidence.kernels import OPTIONS

if TYPE_CHECKING:
    from scipy import sparse

SCALES = ((10, 3), (20, 6))  # neighbours of a set, and rows that are averaged
BLOCK = 2**21  # entries of rows that are made at a time: 16 MiB

Starts = NDArray[np.int64]
Lists = NDArray[np.int32]
Values = NDArray[np.float32]
Rows = tuple[Starts, Lists, Values]  # (n + 1,) where each row begins, items and values
Both = tuple[Starts, Lists, Values, Starts, Lists, Values]  # and the same entries by column


def _made(items: int, fill: Callable[[int, Starts, Lists, Values], int], found: Callable[[int, int], None] | None = None) -> Rows:
    """Return the rows that `fill` makes: from an item on as many as there is room for, and the item that comes next.

    `found` is told after each block how many rows there are and how many entries they have.
    """
    starts = np.zeros(items + 1, np.int64)
    parts: list[tuple[Lists, Values] | None] = []
    item, at, room = 0, 0, BLOCK
    while item < items:
        index, value = np.empty(room, np.int32), np.empty(room, np.float32)
        following = fill(item, starts, index, value)
        if following == item:
            room *= 2  # not even one row
            continue
        count = int(starts[following])
        starts[item + 1 : following + 1] += at
        parts.append((index[:count].copy(), value[:count].copy()))
        item, at = following, at + count
        if found is not None:
            found(item, at)
    index, value, at = np.empty(at, np.int32), np.empty(at, np.float32), 0
    for place, part in enumerate(parts):
        if part is not None:
            index[at : at + len(part[0])], value[at : at + len(part[0])] = part
            at += len(part[0])
            parts[place] = None  # given back, so that all of it is there once
    return starts, index, value


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
def _expanded(first_item, starts, index, weight, neighbors, near, close, vectors, core, member):
    """Make rows of weights from an item on; each row sums to 1 and begins with the item itself. `core` and `member`: scratch."""
    items, k = near.shape
    half = close.shape[1]
    at = 0
    for i in range(first_item, items):
        first = at
        if first + (k + 1) * (half + 2) > len(index):
            return i
        index[at] = i
        at += 1
        core[i] = member[i] = i  # core: the last item whose unwidened set holds this one
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
    return items


@njit(**OPTIONS)
def _averaged(first_item, out_starts, out_index, out_weight, neighbors, rows, starts, index, weight, seen, place):
    """Make rows averaged over the item and its `rows - 1` nearest. `seen` and `place`: scratch."""
    items = len(neighbors)
    at = 0
    for i in range(first_item, items):
        count, most = 1, starts[i + 1] - starts[i]
        for t in range(rows - 1):
            j = neighbors[i, t]
            if j >= 0:
                count += 1
                most += starts[j + 1] - starts[j]
        if at + most > len(out_index):
            return i
        for t in range(-1, rows - 1):
            j = i if t < 0 else neighbors[i, t]
            if j < 0:
                continue
            for p in range(starts[j], starts[j + 1]):
                v = index[p]
                if seen[v] != i:
                    seen[v] = i
                    place[v] = at
                    out_index[at] = v
                    out_weight[at] = 0.0
                    at += 1
                out_weight[place[v]] += weight[p] / count
        out_starts[i + 1] = at
    return items


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
def _add_shared(i, starts, index, weight, column_starts, rows, values, shared, touched, seen, count):
    """Add Σ min of the row of i and of every later one to `shared`; return how many items are touched by now."""
    for p in range(starts[i], starts[i + 1]):
        mine = weight[p]
        v = index[p]
        for q in range(column_starts[v + 1] - 1, column_starts[v] - 1, -1):  # rows of a column ascend
            j = rows[q]
            if j <= i:
                break
            if seen[j] != i:
                seen[j] = i
                touched[count] = j
                count += 1
            shared[j] += min(mine, values[q])
    return count


@njit(**OPTIONS)
def _jaccard(shared):
    return min(np.float32(1.0), shared / (np.float32(2.0) - shared))


@njit(**OPTIONS)
def _pairs(first_item, out_starts, out_index, out_value, scales, one, two, before, averages, scratch):
    """Make the rows of J of every pair i < j with a common entry, nearest numbers first: the mean over the scales, and then the
    mean of that and of what was found `before`, if it `averages`."""
    starts_1, index_1, weight_1, columns_1, rows_1, values_1 = one
    starts_2, index_2, weight_2, columns_2, rows_2, values_2 = two
    before_starts, before_index, before_value = before
    shared_1, shared_2, other, touched, seen = scratch
    share, half = np.float32(scales), np.float32(0.5)
    items = len(starts_1) - 1
    at = 0
    for i in range(first_item, items):
        count = _add_shared(i, starts_1, index_1, weight_1, columns_1, rows_1, values_1, shared_1, touched, seen, 0)
        if scales > 1:
            count = _add_shared(i, starts_2, index_2, weight_2, columns_2, rows_2, values_2, shared_2, touched, seen, count)
        if averages:
            for p in range(before_starts[i], before_starts[i + 1]):
                j = before_index[p]
                if seen[j] != i:
                    seen[j] = i
                    touched[count] = j
                    count += 1
                other[j] = before_value[p]
        fits = at + count <= len(out_index)
        for j in np.sort(touched[:count]):
            value = _jaccard(shared_1[j]) / share
            if scales > 1:
                value += _jaccard(shared_2[j]) / share
            if averages:
                value = (other[j] + value) * half
            shared_1[j] = shared_2[j] = other[j] = np.float32(0.0)
            if fits and value > 0.0:
                out_index[at] = j
                out_value[at] = value
                at += 1
        if not fits:
            for t in range(count):
                seen[touched[t]] = -1  # this row is begun again
            return i
        out_starts[i + 1] = at
    return items


def _plain(neighbors: Lists, vectors: Values, size: int) -> Rows:
    """Return the rows of weights of one scale."""
    items = len(neighbors)
    near, close = _mutual(neighbors, size), _mutual(neighbors, max(1, (size + 1) // 2))
    core, member = np.full(items, -1, np.int32), np.full(items, -1, np.int32)
    return _made(items, lambda item, *out: _expanded(item, *out, neighbors, near, close, vectors, core, member))


def _smooth(neighbors: Lists, rows: int, plain: Rows) -> Rows:
    """Return the averaged rows of one scale."""
    items = len(neighbors)
    seen, place = np.full(items, -1, np.int32), np.empty(items, np.int64)
    return _made(items, lambda item, *out: _averaged(item, *out, neighbors, rows, *plain, seen, place))


def _by_both(neighbors: Lists, vectors: Values, size: int, rows: int) -> Both:
    """Return the averaged rows of one scale, and the same entries by column."""
    averaged = _smooth(neighbors, rows, _plain(neighbors, vectors, size))
    columns, places, values = _inverted(len(neighbors), *averaged)
    return *averaged, columns, places, values


def jaccard_similarity(
    neighbors: Lists,
    vectors: Values,
    *,
    before: "sparse.csr_matrix | None" = None,
    found: Callable[[int, int], None] | None = None,
) -> "sparse.csr_matrix":
    """Return the similarity of every pair i < j that shares a neighbour, in (0, 1]; (n, n), above the diagonal, in order.

    Parameters
    ----------
    neighbors : (n, k), most similar first; -1 for an item without a vector
    vectors : (n, d)
    before : similarity in another space; what is returned is then the mean of both
    found : called with how many rows there are and how many pairs they have, now and then
    """
    from scipy import sparse

    items, k = neighbors.shape
    vectors = padded(vectors)
    scales = sorted({(min(size, k), min(rows, k + 1)) for size, rows in SCALES})
    weights = [_by_both(neighbors, vectors, size, rows) for size, rows in scales]
    nothing = np.zeros(items + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
    given = nothing if before is None else (before.indptr.astype(np.int64), before.indices, before.data)
    scratch = (*(np.zeros(items, np.float32) for _ in range(3)), np.empty(items, np.int32), np.full(items, -1, np.int32))
    starts, index, value = _made(
        items,
        lambda item, *out: _pairs(item, *out, len(weights), weights[0], weights[-1], given, before is not None, scratch),
        found,
    )
    return sparse.csr_matrix((value, index, starts), shape=(items, items))
