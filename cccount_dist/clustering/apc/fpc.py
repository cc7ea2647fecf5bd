"""Fast probabilistic clustering (FPC): items move one by one to where the sum of their log-odds is largest, until none moves.

Objective L = Σ log p/(1-p) over pairs inside clusters; every move raises it, so it ends. Exact pruning: p falls with the distance
and neighbours are sorted, so a cluster whose nearest member has p ≤ ½ has a negative sum: only neighbours with positive log-odds
name a target. An item whose best sum is negative becomes a cluster of its own: an outlier. Items are visited in their order, ties
keep the own cluster, then the first in neighbour order. Memory O(n k); time O(n · cluster size · d) for a sweep.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.apc.probability import PairMap, bin_of
from cccount_dist.clustering.distance import squared_distance
from cccount_dist.clustering.evidence.kernels import OPTIONS
from cccount_dist.clustering.result import numbered

SWEEPS = 50  # at most; 5 to 20 were seen
_GAIN = 1e-6  # a move must raise the objective by this


def fpc(vectors: NDArray[np.float32], neighbors: NDArray[np.int32], pairs: PairMap, *, sweeps: int = SWEEPS) -> NDArray[np.int64]:
    """Return a cluster number for every item, by first appearance; clusters of one item are outliers."""
    return numbered(_sweep(vectors, neighbors, pairs.low, pairs.scale, pairs.odds, sweeps))


@njit(**OPTIONS)
def _sweep(vectors, neighbors, low, scale, odds, sweeps):
    items, k = neighbors.shape
    label = np.arange(items)
    # Members of a cluster are a chain in both directions, so that moving an item costs nothing.
    head = np.arange(items)
    following = np.full(items, -1, np.int64)
    before = np.full(items, -1, np.int64)
    size = np.ones(items, np.int64)
    empty = np.empty(items, np.int64)  # names of empty clusters
    empties = 0
    seen = np.full(items, -1, np.int64)
    candidates = np.empty(k + 1, np.int64)
    dirty = np.ones(items, np.bool_)
    bins = len(odds)
    visit = 0
    everybody = True
    for _ in range(sweeps):
        moved = 0
        for i in range(items):
            if not dirty[i]:
                continue
            dirty[i] = False
            own = label[i]
            visit += 1
            candidates[0] = own
            seen[own] = visit
            count = 1
            for t in range(k):
                j = neighbors[i, t]
                if j < 0 or odds[bin_of(squared_distance(vectors, i, j), low, scale, bins)] <= 0.0:
                    break
                if seen[label[j]] != visit:
                    seen[label[j]] = visit
                    candidates[count] = label[j]
                    count += 1
            if count == 1 and size[own] == 1:
                continue
            best, target = 0.0, own
            for t in range(count):
                total = 0.0
                j = head[candidates[t]]
                while j >= 0:
                    if j != i:
                        total += odds[bin_of(squared_distance(vectors, i, j), low, scale, bins)]
                    j = following[j]
                if t == 0:
                    best = total
                elif total > best + _GAIN:
                    best, target = total, candidates[t]
            if best < -_GAIN and size[own] > 1:  # alone is better
                empties -= 1
                target = empty[empties]
            if target == own:
                continue
            if before[i] >= 0:
                following[before[i]] = following[i]
            else:
                head[own] = following[i]
            if following[i] >= 0:
                before[following[i]] = before[i]
            size[own] -= 1
            if size[own] == 0:
                empty[empties] = own
                empties += 1
            following[i] = head[target] if size[target] > 0 else -1
            before[i] = -1
            if size[target] > 0:
                before[head[target]] = i
            head[target] = i
            size[target] += 1
            label[i] = target
            moved += 1
            for t in range(k):
                if neighbors[i, t] >= 0:
                    dirty[neighbors[i, t]] = True
        if moved == 0 and everybody:
            break
        # A move also concerns items that it is no neighbour of: when no neighbour is left to look at, everybody is.
        everybody = moved == 0
        if everybody:
            dirty[:] = True
    return label
