"""Micro-clusters: what the questions are about. Sizes, vector sums, links and candidate pairs; all adds up under merging.

n items become m = max(2,500, n/10) micro-clusters; if that is more than n/2, the most similar ones are glued until n/2 are left.
Candidate pairs: everything that shares similarity, and the nearest centroids. Memory O(n k + pairs + m · (d + candidates)), at
100,000 items of 1,280 dimensions about half a GiB (docs/evidence/grouping.md), of which the sums of micro-clusters are 0.1; time
of the centroids' neighbours O(m² d / 2). When the space is learned again the micro-clusters keep their items, and all else is
made anew.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.distance import padded, squared_distance
from cccount_dist.clustering.evidence.kernels import OPTIONS
from cccount_dist.clustering.evidence.linkage import average_linkage, cut
from cccount_dist.clustering.evidence.reciprocal import jaccard_similarity
from cccount_dist.clustering.evidence.space import learned, sharpened
from cccount_dist.clustering.rows import of_items
from cccount_dist.room import Size, require_room
from cccount_dist.similarity.inmemory import neighbors_in_memory

if TYPE_CHECKING:  # it takes a quarter of a second to load, and a step from a snapshot does without
    from scipy import sparse

MICROS = 2500  # at least so many micro-clusters, or a tenth of the items
CENTROIDS = 20  # nearest centroids of each micro-cluster that are candidates although nothing links the two
COMPLETE = 64  # up to so many micro-clusters every pair is a candidate
OF_PAIR = 44  # bytes for each stored pair of items while they are merged: 8 where they lie, in both spaces; 27 in `linkage.py`
# Beyond so many items the space is not learned again: it takes as long as the first pass, questions after it a quarter longer,
# and what it gains there has not been measured.
LEARN_UP_TO = 50_000
_LISTS = 2**16  # lists that are renumbered at a time
_NEAR = 10  # neighbours whose mean distance is the unit of "near" …
_FEW = 30  # … but a third of the others, where items are so few: the mean distance to nearly all of them is no unit
_LEAST_UNIT = 0.1  # share of the mean distance that the unit is at least, of so few items


@dataclass(frozen=True, slots=True)
class Micro:
    """m micro-clusters of n items and P candidate pairs of them."""

    label: NDArray[np.int32]  # (n,) micro-cluster of each item; -1 without a vector
    size: NDArray[np.float64]  # (m,)
    total: NDArray[np.float64]  # (m, d) sum of the vectors, padded
    square: NDArray[np.float64]  # (m,) sum of |x|²
    members: NDArray[np.int32]  # (n,) items by micro-cluster, most central first
    start: NDArray[np.int64]  # (m + 1,) where each one's members begin
    first: NDArray[np.int32]  # (P,) candidate pairs, first < second, in order
    second: NDArray[np.int32]  # (P,)
    link: NDArray[np.float64]  # (P,) sum of the Jaccard similarity over the pair's items
    group: NDArray[np.int32]  # (m,) micro-clusters that are glued together have the same number
    group_size: NDArray[np.float64]  # (m,) items of the group that a micro-cluster is in
    rank: NDArray[np.int64]  # (m,) how central a micro-cluster is in its group: 0, 1, 2, …
    glued: NDArray[np.int64]  # (t, 2) micro-clusters that stay together until an answer says otherwise, in the order of merging
    far: float  # mean squared distance of all pairs of items
    unit: float  # far minus the mean squared distance to the nearest neighbours: what features are measured in

    @property
    def count(self) -> int:
        return len(self.size)


@dataclass(frozen=True, slots=True)
class Items:
    """The items that have a vector, and what is kept of them to learn the space again."""

    vectors: NDArray[np.float32]  # (n, d) as given; may be a memory map
    usable: NDArray[np.int64]  # (u,) items that have a vector
    lists: NDArray[np.int32]  # (u, k) neighbours of each in the sharpened space, as places in `usable`; (0, k) where …
    as_given: "sparse.csr_matrix | None"  # (u, u) similarity in the given space; … and None where nothing is learned


def make_micro(vectors: NDArray[np.float32], neighbors: NDArray[np.int32]) -> tuple[Items, Micro]:
    """Return the items that have neighbours, and their micro-clusters."""
    usable = np.flatnonzero(neighbors[:, 0] >= 0)
    learns = len(usable) <= LEARN_UP_TO
    rows, lists = of_items(vectors, usable), _among(usable, neighbors)
    as_given = jaccard_similarity(lists, rows, found=lambda done, pairs: _foreseen(done, pairs, len(usable)))
    rows, lists = sharpened(rows[:, : vectors.shape[1]], lists)
    rows = padded(rows)
    similarity = jaccard_similarity(lists, rows, before=as_given)
    items = Items(vectors, usable, lists if learns else lists[:0], as_given if learns else None)
    del as_given  # what is not needed any more goes before memory is largest
    _require_room(similarity.nnz, len(rows))
    count = max(MICROS, len(rows) // 10)
    merges, _ = average_linkage(similarity, count)
    return items, _described(items, rows, lists, similarity, cut(len(rows), merges, count))


def _among(usable: NDArray[np.int64], neighbors: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the lists of the usable items, numbered among themselves."""
    number = np.full(len(neighbors) + 1, -1, np.int32)  # the last one is that of -1
    number[usable] = np.arange(len(usable), dtype=np.int32)
    lists = np.empty((len(usable), neighbors.shape[1]), np.int32)
    for start in range(0, len(usable), _LISTS):
        lists[start : start + _LISTS] = number[neighbors[usable[start : start + _LISTS]]]
    return lists


def _foreseen(done: int, pairs: int, items: int) -> None:
    """Refuse what surely cannot be merged as soon as that is clear: pairs of the first items, with later ones, are known."""
    share = min(1.0, done / items)
    _require_room(int(pairs / (share * (2.0 - share))), items)


def _require_room(stored: int, items: int) -> None:
    """Raise `ComputeError` if there is no memory for what is made of so many stored pairs: how many, nobody knows before.

    Items without clear groups have ten times as many as those in small tight ones.
    """
    require_room(
        f"grouping with {stored / items:,.0f} similar items of each", lambda size: OF_PAIR * stored * size.items // items,
        Size(items), instead="take a sample of the items, or another method (`cccount methods`)",
    )  # fmt: skip


def learned_micro(items: Items, old: Micro, same: NDArray[np.int64]) -> Micro:
    """Return the micro-clusters in the space that the pairs (s, 2) of items teach that are the same by the answers."""
    if items.as_given is None:
        raise AssertionError(f"the space of more than {LEARN_UP_TO:,} items is not learned again")
    given = of_items(items.vectors, items.usable)
    rows, lists = learned(given[:, : items.vectors.shape[1]], items.lists, np.searchsorted(items.usable, same))
    rows = padded(rows)
    similarity = jaccard_similarity(lists, rows, before=items.as_given)
    return _described(items, rows, lists, similarity, old.label[items.usable])


def _described(
    items: Items,
    rows: NDArray[np.float32],
    lists: NDArray[np.int32],
    similarity: "sparse.csr_matrix",
    found: NDArray[np.int32],
) -> Micro:
    """Return the micro-clusters `found` (u,) with all that is known of them in the space of the rows."""
    from scipy import sparse

    m = int(found.max()) + 1
    size = np.bincount(found, minlength=m).astype(np.float64)
    total, square = _sums(rows, found, m)
    members, start = _members(rows, found, total, size)
    first, second, link = _candidates(similarity, found, (total / size[:, None]).astype(np.float32))
    linked = link > 0.0
    between = sparse.csr_matrix((link[linked], (first[linked], second[linked])), shape=(m, m))
    glued, _ = average_linkage(between, len(rows) // 2, size=size)
    group = cut(m, glued, 0)
    label = np.full(len(items.vectors), -1, np.int32)
    label[items.usable] = found
    group_size = np.bincount(group, weights=size)[group].astype(np.float64)
    far, unit = _distances(rows, lists, total, square)
    return Micro(
        label,
        size,
        total,
        square,
        items.usable[members].astype(np.int32),
        start,
        first,
        second,
        link,
        group,
        group_size,
        _ranks(group, total, size),
        glued,
        far,
        unit,
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


def _ranks(group: NDArray[np.int32], total: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.int64]:
    centre, _ = _sums(total, group, int(group.max()) + 1)
    centre /= np.bincount(group, weights=size)[:, None]
    order = np.lexsort((_from_centre(total / size[:, None], group, centre), group))
    first = np.concatenate([[0], np.cumsum(np.bincount(group))[:-1]])
    ranks = np.empty(len(group), np.int64)
    ranks[order] = np.arange(len(group)) - first[group[order]]
    return ranks


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
    """Return the mean squared distance of all pairs of items, and how much nearer the nearest neighbours are, which is the unit.

    Of eleven items ten neighbours are all others: the unit was nothing, closeness without end, and no answer could outweigh it.
    """
    n, count = len(vectors), min(_NEAR, neighbors.shape[1])
    least = 1e-6
    all_pairs = 2.0 * (n * square.sum() - np.square(total.sum(axis=0)).sum()) / (n * (n - 1))
    far = float(max(all_pairs, 0.0))
    if n <= _FEW:
        count, least = min(count, max(1, (n - 1) // 3)), max(least, _LEAST_UNIT * far)
    near = float(_near_total(vectors, neighbors, count) / (n * count))
    return far, max(far - near, least)


def _candidates(
    similarity: "sparse.csr_matrix", label: NDArray[np.int32], centres: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    m = len(centres)
    if m <= COMPLETE:
        a, b = (side.astype(np.int32) for side in np.triu_indices(m, 1))
    else:
        count = min(CENTROIDS, m - 1)
        a = np.repeat(np.arange(m, dtype=np.int32), count)
        b = neighbors_in_memory(centres, count, "euclidean").index.ravel()
    first, second, link = _linked(similarity.indptr, similarity.indices, similarity.data, label, a, b, m)
    return first, second, link


@njit(**OPTIONS)
def _linked(indptr, indices, data, label, a, b, m):
    """Return the pairs of micro-clusters that items or candidates (a, b) connect, in order, and the sum over the pairs of items:
    0 where only a candidate does."""
    start = np.zeros(m + 1, np.int64)
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            if label[i] != label[indices[p]]:
                start[min(label[i], label[indices[p]]) + 1] += 1
    for p in range(len(a)):
        if a[p] != b[p]:
            start[min(a[p], b[p]) + 1] += 1
    start = np.cumsum(start)
    fill = start[:-1].copy()
    # By the lower micro-cluster of a pair: the higher one, and what is added; sums run in the order of items.
    high, value = np.empty(start[m], np.int32), np.empty(start[m], np.float32)
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            u, v = label[i], label[indices[p]]
            if u != v:
                low = min(u, v)
                high[fill[low]], value[fill[low]] = max(u, v), data[p]
                fill[low] += 1
    for p in range(len(a)):
        if a[p] != b[p]:
            low = min(a[p], b[p])
            high[fill[low]], value[fill[low]] = max(a[p], b[p]), np.float32(0.0)
            fill[low] += 1
    seen = np.full(m, -1, np.int32)
    pairs = 0
    for low in range(m):
        for p in range(start[low], start[low + 1]):
            if seen[high[p]] != low:
                seen[high[p]] = low
                pairs += 1
    first, second, link = np.empty(pairs, np.int32), np.empty(pairs, np.int32), np.empty(pairs)
    total, others = np.zeros(m), np.empty(m, np.int32)
    seen[:] = -1
    at = 0
    for low in range(m):
        count = 0
        for p in range(start[low], start[low + 1]):
            if seen[high[p]] != low:
                seen[high[p]] = low
                others[count] = high[p]
                count += 1
            total[high[p]] += value[p]
        for other in np.sort(others[:count]):
            first[at], second[at], link[at] = low, other, total[other]
            total[other] = 0.0
            at += 1
    return first, second, link
