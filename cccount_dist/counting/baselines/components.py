"""Connected components after a threshold on the similarity, at the elbow of J_km: section 4 of the NIS paper.

The graph is that of the stored neighbours, so components are those of the whole similarity graph as long as the threshold is
above the k-th similarity of the items; 32 thresholds, evenly over the range of the spanning forest. Memory O(n k + n) for the
edges and their order, time O(n k log(n k)) to join them and O(n d) for J_km at each threshold.
"""

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.elbow import knee
from storage.errors import InputError

_THRESHOLDS = 32
_BLOCK_ROWS = 8192


@dataclass(frozen=True, slots=True)
class Components:
    """The curve, and the components at its elbow. Items without a vector have the label -1."""

    clusters: int
    threshold: float
    labels: NDArray[np.int64]  # (n,)
    thresholds: tuple[float, ...]
    objective: tuple[float, ...]


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _root(parent: NDArray[np.int64], item: int) -> int:
    while parent[item] != item:
        parent[item] = parent[parent[item]]
        item = parent[item]
    return item


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _join(parent: NDArray[np.int64], order: NDArray[np.int64], neighbors: NDArray[np.int32], joins: NDArray[np.int64]) -> int:
    """Join items along edges in the given order; write the edges that joined two components into `joins`, return their number."""
    count = 0
    k = neighbors.shape[1]
    for edge in order:
        u, v = edge // k, neighbors[edge // k, edge % k]
        if v < 0:
            continue
        first, second = _root(parent, u), _root(parent, v)
        if first != second:
            parent[max(first, second)] = min(first, second)
            joins[count] = edge
            count += 1
    return count


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _roots(parent: NDArray[np.int64]) -> NDArray[np.int64]:
    roots = np.empty_like(parent)
    for item in range(len(parent)):
        roots[item] = _root(parent, item)
    return roots


def within_squares(vectors: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    """Return J_km of a partition: the squared distances of all items to the means of their clusters; -1 is no cluster.

    Items are read in the order of their clusters, block by block, so that no mean is held longer than its cluster takes.
    """
    order = np.argsort(labels, kind="stable")
    order = order[np.searchsorted(labels[order], 0) :]
    total = 0.0
    carried, carried_label, sizes = np.zeros(vectors.shape[1]), -1, np.bincount(labels[order])
    for start in range(0, len(order), _BLOCK_ROWS):
        rows = order[start : start + _BLOCK_ROWS]
        block = vectors[rows].astype(np.float64)
        total += float(np.square(block).sum())
        mine = labels[rows]
        first = np.flatnonzero(np.r_[True, mine[1:] != mine[:-1]])
        sums = np.add.reduceat(block, first, axis=0)
        if mine[0] == carried_label:
            sums[0] += carried
        elif carried_label >= 0:
            total -= float(np.square(carried).sum()) / sizes[carried_label]
        ended = mine[first[:-1]]
        total -= float((np.square(sums[:-1]).sum(axis=1) / sizes[ended]).sum())
        carried, carried_label = sums[-1], int(mine[-1])
    if carried_label >= 0:
        total -= float(np.square(carried).sum()) / sizes[carried_label]
    return max(total, 0.0)


def components_elbow(vectors: NDArray[np.float32], index: NDArray[np.int32], similarity: NDArray[np.float32]) -> Components:
    """Return the connected components at the elbow, from prepared vectors (n, d) and the stored neighbours (n, k)."""
    if not len(vectors) == len(index) == len(similarity):
        raise InputError(f"there are {len(vectors)} vectors and neighbours of {len(index)} items: they must be of the same items")
    counted = index[:, 0] >= 0
    if np.count_nonzero(counted) < 2:
        raise InputError(f"components need at least 2 items with a vector, not {np.count_nonzero(counted)}")
    order = np.argsort(-similarity, axis=None, kind="stable")
    joins = np.empty(len(vectors), np.int64)
    joins = joins[: _join(np.arange(len(vectors)), order, index, joins)]
    strength = similarity.ravel()[joins].astype(np.float64)  # from strong to weak
    thresholds = np.linspace(strength[-1], strength[0], _THRESHOLDS)
    partitions = (_partition(joins[strength >= threshold], index, counted) for threshold in thresholds)
    curve = [within_squares(vectors, labels) for labels in partitions]
    best = knee(thresholds.tolist(), curve)
    kept = _partition(joins[strength >= thresholds[best]], index, counted)
    return Components(int(kept.max()) + 1, float(thresholds[best]), kept, tuple(thresholds.tolist()), tuple(curve))


def _partition(joins: NDArray[np.int64], index: NDArray[np.int32], counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    parent = np.arange(len(index))
    _join(parent, joins, index, np.empty(len(index), np.int64))
    labels = np.full(len(index), -1, np.int64)
    labels[counted] = np.unique(_roots(parent)[counted], return_inverse=True)[1]
    return labels
