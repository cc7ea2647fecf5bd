"""Micro-clusters: what the questions are about. Sizes, vector sums, links and candidate pairs; all adds up under merging.

n items become m = max(2,500, n/10) micro-clusters; if that is more than n/2, the most similar ones are glued until n/2 are left.
Candidate pairs: everything that shares similarity, and the nearest centroids. Memory O(n k + m · (d + candidates)); time of the
centroids' neighbours O(m² d / 2). When the space is learned again the micro-clusters keep their items, and all else is made anew.
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
OF_PAIR = 64  # bytes for each stored pair of items while they are merged and their links are summed (50 measured)
# Beyond so many items the space is not learned again: it takes as long as the first pass, questions after it a quarter longer,
# and what it gains there has not been measured.
LEARN_UP_TO = 50_000
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
    lists: NDArray[np.int32]  # (u, k) neighbours of each in the sharpened space, as places in `usable`
    as_given: "sparse.csr_matrix | None"  # (u, u) similarity in the given space; None where nothing is learned


def make_micro(vectors: NDArray[np.float32], neighbors: NDArray[np.int32]) -> tuple[Items, Micro]:
    """Return the items that have neighbours, and their micro-clusters."""
    usable = np.flatnonzero(neighbors[:, 0] >= 0)
    number = np.full(len(neighbors) + 1, -1, np.int32)
    number[usable] = np.arange(len(usable), dtype=np.int32)
    rows, lists = of_items(vectors, usable), number[neighbors[usable]]
    as_given = jaccard_similarity(lists, rows)
    rows, lists = sharpened(rows[:, : vectors.shape[1]], lists)
    rows = padded(rows)
    items = Items(vectors, usable, lists, as_given if len(usable) <= LEARN_UP_TO else None)
    similarity = _similarity(as_given, lists, rows)
    _require_room(similarity.nnz, len(rows))
    count = max(MICROS, len(rows) // 10)
    merges, _ = average_linkage(similarity, count)
    return items, _described(items, rows, lists, similarity, cut(len(rows), merges, count))


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
    return _described(items, rows, lists, _similarity(items.as_given, lists, rows), old.label[items.usable])


def _similarity(as_given: "sparse.csr_matrix", lists: NDArray[np.int32], rows: NDArray[np.float32]) -> "sparse.csr_matrix":
    """Return the mean of the similarity in the given space and in that of the rows."""
    mean: sparse.csr_matrix = ((as_given + jaccard_similarity(lists, rows)) * np.float32(0.5)).tocsr()
    return mean


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
    from scipy import sparse

    m = len(centres)
    linked = similarity.tocoo()
    u, v = label[linked.row], label[linked.col]
    if m <= COMPLETE:
        a, b = (side.astype(np.int32) for side in np.triu_indices(m, 1))
    else:
        count = min(CENTROIDS, m - 1)
        a = np.repeat(np.arange(m, dtype=np.int32), count)
        b = neighbors_in_memory(centres, count, "euclidean").index.ravel()
    link = np.concatenate([linked.data.astype(np.float64), np.zeros(len(a))])
    del linked  # as long as all stored pairs of items, as everything else here: what is not needed any more goes
    first, second = np.concatenate([u, a]), np.concatenate([v, b])
    del u, v
    low, high = np.minimum(first, second), np.maximum(first, second)
    del first, second
    # Equal pairs are added up; a candidate without a link stays as an explicit 0.
    summed = sparse.coo_matrix((link, (low, high)), shape=(m, m)).tocsr()
    del link, low, high
    pairs = summed.tocoo()
    apart = pairs.row != pairs.col
    return pairs.row[apart].astype(np.int32), pairs.col[apart].astype(np.int32), pairs.data[apart].astype(np.float64)
