"""Pairwise constrained k-means (PCK-means, Basu et al. 2004): k-means that pays for each answer that it goes against.

    J = Σ |x - c|² + α · (must-links between clusters) + β · (cannot-links within a cluster)

A round puts items without links at the nearest centre, then the others one by one where the sum is smallest, then moves the
centres. O(n k d) time for a round; memory O(n + k d + links). The vectors may be a memory map.
"""

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from cccount_dist.clustering.kmeans import nearest_centres
from cccount_dist.similarity.threads import one_thread
from storage.errors import InputError

_ROUNDS = 20
_BLOCK_ROWS = 8192
Links = NDArray[np.int64]  # (m, 2) pairs of items


@dataclass(frozen=True, slots=True)
class PCKMeansFit:
    """Where the items went, and J."""

    centres: NDArray[np.float64]  # (k, d)
    labels: NDArray[np.int64]  # (n,)
    objective: float


def pckmeans(
    vectors: NDArray[np.float32],
    clusters: int,
    must: Links,
    cannot: Links,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    seed: int = 0,
) -> PCKMeansFit:
    """Return k clusters of the rows, none of which may have NaN. α = β = 1 is what the NIS paper uses."""
    items = len(vectors)
    if not 1 <= clusters <= items:
        raise InputError(f"{items} items cannot be put into {clusters} clusters")
    if alpha < 0 or beta < 0:
        raise InputError(f"the weights of links must not be negative, and are {alpha} and {beta}")
    random = np.random.default_rng(seed)
    linked = np.unique(np.concatenate([must.ravel(), cannot.ravel()]))
    partners = _partners(linked, must, cannot, alpha, beta)
    with one_thread():
        centres = _first_centres(vectors, clusters, must, random)
        labels, squared = nearest_centres(vectors, centres)
        last = np.inf
        for _ in range(_ROUNDS):
            _place(vectors, centres, random.permutation(len(linked)), linked, *partners, labels, squared)
            objective = float(squared.sum()) + _penalty(labels, must, cannot, alpha, beta)
            fit = PCKMeansFit(centres, labels, objective)
            if not objective < last * (1 - 1e-6):
                break
            last = objective
            centres = _means(vectors, labels, centres)
            free, squared = nearest_centres(vectors, centres)
            free[linked] = labels[linked]  # they start from where they were, because links hold them there
            labels = free
    return fit


def _first_centres(vectors: NDArray[np.float32], clusters: int, must: Links, random: np.random.Generator) -> NDArray[np.float64]:
    """Return the means of the largest sets of must-linked items, then items far from all centres, as in k-means++."""
    edges = csr_array((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(len(vectors), len(vectors)))
    _, group = connected_components(edges, directed=False)
    sizes = np.bincount(group)
    chosen = np.argsort(-sizes, kind="stable")[:clusters]
    chosen = chosen[sizes[chosen] > 1]
    centres = [vectors[group == name].mean(axis=0, dtype=np.float64) for name in chosen]
    if not centres:
        centres = [vectors[int(random.integers(len(vectors)))].astype(np.float64)]
    _, squared = nearest_centres(vectors, np.array(centres))
    while len(centres) < clusters:
        total = squared.sum()
        draw = float(random.random())
        at = int(np.searchsorted(np.cumsum(squared), draw * total, side="right")) if total > 0 else int(draw * len(vectors))
        centres.append(vectors[min(at, len(vectors) - 1)].astype(np.float64))
        squared = np.minimum(squared, nearest_centres(vectors, np.array(centres[-1:]))[1])
    return np.array(centres)


def _partners(
    linked: NDArray[np.int64], must: Links, cannot: Links, alpha: float, beta: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return for each linked item where its partners start, the partners, and what being with one of them costs."""
    pairs = np.concatenate([must, must[:, ::-1], cannot, cannot[:, ::-1]])
    cost = np.concatenate([np.full(2 * len(must), -alpha), np.full(2 * len(cannot), beta)])
    order = np.argsort(pairs[:, 0], kind="stable")
    starts = np.searchsorted(pairs[order, 0], np.append(linked, np.iinfo(np.int64).max))
    return starts, pairs[order, 1], cost[order]


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _place(
    vectors: NDArray[np.float32],
    centres: NDArray[np.float64],
    order: NDArray[np.int64],
    linked: NDArray[np.int64],
    starts: NDArray[np.int64],
    partners: NDArray[np.int64],
    cost: NDArray[np.float64],
    labels: NDArray[np.int64],
    squared: NDArray[np.float64],
) -> None:
    """Put linked items, one by one in the given order, where distance and broken links together cost least."""
    extra = np.zeros(len(centres))
    for place in order:
        item = linked[place]
        extra[:] = 0.0
        for entry in range(starts[place], starts[place + 1]):
            extra[labels[partners[entry]]] += cost[entry]
        best, best_cost, best_squared = 0, np.inf, 0.0
        for cluster in range(len(centres)):
            distance = 0.0
            for dimension in range(centres.shape[1]):
                difference = vectors[item, dimension] - centres[cluster, dimension]
                distance += difference * difference
            if distance + extra[cluster] < best_cost:
                best, best_cost, best_squared = cluster, distance + extra[cluster], distance
        labels[item] = best
        squared[item] = best_squared


def _penalty(labels: NDArray[np.int64], must: Links, cannot: Links, alpha: float, beta: float) -> float:
    apart = np.count_nonzero(labels[must[:, 0]] != labels[must[:, 1]])
    together = np.count_nonzero(labels[cannot[:, 0]] == labels[cannot[:, 1]])
    return float(alpha * apart + beta * together)


def _means(vectors: NDArray[np.float32], labels: NDArray[np.int64], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of every cluster; an empty one keeps its centre."""
    sums = np.zeros_like(centres)
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = vectors[start : start + _BLOCK_ROWS].astype(np.float64)
        rows = labels[start : start + len(block)]
        shape = (len(centres), len(block))
        members = csr_array((np.ones(len(block)), (rows, np.arange(len(block)))), shape=shape)
        sums += np.asarray(members @ block)
    sizes = np.bincount(labels, minlength=len(centres))
    return np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
