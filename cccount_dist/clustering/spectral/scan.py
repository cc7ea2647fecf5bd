"""The pair whose rating matters most: the largest deviation · |Σ_p (a_p(i) - a_p(j)) (g_p(i) - g_p(j))| over all pairs.

Items are taken in the order of how far g puts them from the middle, each with all that follow. What two of those that are left
can reach is bounded by their ranges of a and g; once that is below the best pair, the search ends. So it is exact, needs O(n)
memory beside the graph, and takes O(n²) time only at worst: few items have a large g.
Scores within a millionth of the best one are ties, and the smallest pair of item numbers wins: the last digits decide nothing.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.spectral.graph import Floats, Ints, RatedGraph
from cccount_dist.clustering.spectral.ratings import UNKNOWN

TIE = 1e-6
Pair = tuple[int, int]


def best_pair(graph: RatedGraph, places: Floats, changes: Floats) -> Pair | None:
    """Return the best pair for places a (n, p) and changes g (n, p); None if no pair that may be asked changes anything."""
    far = np.abs(changes - np.median(changes, axis=0)).max(axis=1)
    order = np.argsort(-far, kind="stable")
    ordered = places[order], changes[order]
    bound = (_range_from_here(ordered[0]) * _range_from_here(ordered[1])).sum(axis=1)
    limit = max(UNKNOWN, float(graph.deviation.max(initial=0.0)))
    u, v = _scan(*ordered, bound, order, limit, UNKNOWN, graph.starts, graph.columns, graph.deviation)
    return (u, v) if u >= 0 else None


def best_of_matrix(graph: RatedGraph, scores: Floats) -> Pair | None:
    """Return the best pair by a symmetric (n, n) matrix of scores, which is changed."""
    scores *= UNKNOWN
    rows = np.repeat(np.arange(graph.items), np.diff(graph.starts))
    scores[rows, graph.columns] *= graph.deviation / UNKNOWN
    best = scores.max()
    if not best > 0.0:
        return None
    u, v = divmod(int(np.argmax(scores >= best * (1.0 - TIE))), graph.items)
    return min(u, v), max(u, v)


def _range_from_here(x: Floats) -> Floats:
    """The range of the values in this row and all that follow."""
    return np.asarray(np.maximum.accumulate(x[::-1])[::-1] - np.minimum.accumulate(x[::-1])[::-1])


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _score(places: Floats, changes: Floats, i: int, j: int) -> float:
    total = 0.0
    for place in range(places.shape[1]):
        total += (places[i, place] - places[j, place]) * (changes[i, place] - changes[j, place])
    return abs(total)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _deviation(starts: Ints, columns: Ints, deviation: Floats, unknown: float, i: int, j: int) -> float:
    """The deviation of a pair: that of its entry, if it has one."""
    low, high = starts[i], starts[i + 1]
    while low < high:
        middle = (low + high) // 2
        if columns[middle] < j:
            low = middle + 1
        else:
            high = middle
    if low < starts[i + 1] and columns[low] == j:
        return float(deviation[low])
    return unknown


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _scan(
    places: Floats,
    changes: Floats,
    bound: Floats,
    order: NDArray[np.int64],
    limit: float,
    unknown: float,
    starts: Ints,
    columns: Ints,
    deviation: Floats,
) -> tuple[int, int]:
    items = len(order)
    best = 0.0
    for first in range(items - 1):
        if bound[first] * limit <= best:
            break
        for second in range(first + 1, items):
            reached = _score(places, changes, first, second)
            if reached * limit > best:
                reached *= _deviation(starts, columns, deviation, unknown, order[first], order[second])
                best = max(best, reached)
    if best == 0.0:
        return -1, -1
    best *= 1.0 - TIE
    u, v = items, items
    for first in range(items - 1):
        if bound[first] * limit < best:
            break
        for second in range(first + 1, items):
            reached = _score(places, changes, first, second)
            if reached * limit >= best:
                low, high = min(order[first], order[second]), max(order[first], order[second])
                is_smaller = low < u or (low == u and high < v)
                if is_smaller and reached * _deviation(starts, columns, deviation, unknown, low, high) >= best:
                    u, v = low, high
    return u, v
