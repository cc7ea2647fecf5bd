"""The probability that two clusters are one, and what joining them is expected to gain: equations (2) to (5) of the paper.

    P  = σ(Σ l) over all pairs of items            P× = σ(Σ l) over each item's nearest members of the other cluster
    P₊ = (1 + Σ p) / (2 + count) over the same     P_c = p of the two central items         l = log p/(1-p)
    gain ∝ P · Δh,  Δh = [(a+b) log(a+b) - a log a - b log b] / n

The smaller cluster's items look for their nearest members in the larger one. P₊ has one pair of each kind added, as the authors'
program has. Of a cluster above 300 items every so-manieth is looked at, so a pair takes at most 90,000 distances.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.apc.probability import Floats, Ints, PairMap, bin_of, distances
from cccount_dist.clustering.distance import squared_distance
from cccount_dist.clustering.evidence.kernels import OPTIONS

MOST = 300  # items of a cluster that quadratic work looks at


def thinned(members: Ints) -> Ints:
    """Return at most 300 of the members, evenly spread."""
    return members if len(members) <= MOST else members[np.linspace(0, len(members) - 1, MOST).astype(np.int64)]


def merge_probability(
    kind: str,
    vectors: NDArray[np.float32],
    pairs: PairMap,
    clusters: tuple[Ints, Ints],
    wanted: tuple[Ints, Ints],
    central: Ints,
    nearest: int,
) -> Floats:
    """Return the probability that each of the wanted pairs of clusters is one.

    Parameters
    ----------
    clusters : members of all clusters one after the other, each at most 300, and where each cluster begins
    wanted : first and second cluster of each pair
    central : central item of each cluster; only `centre` needs it
    """
    first, second = wanted
    if kind == "centre":
        return pairs.same[pairs.bins(distances(vectors, central[first], central[second]))]
    every, near, total, count = _sums(
        vectors, *clusters, first, second, pairs.low, pairs.scale, pairs.same, pairs.odds, nearest, kind == "all"
    )
    if kind == "plus":
        return np.asarray((1.0 + total) / (2.0 + count))
    odds = every if kind == "all" else near
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -700.0, 700.0))))


@njit(**OPTIONS)
def _sums(vectors, members, start, first, second, low, scale, same, odds, nearest, all_pairs):
    """Return for each pair the sums of log-odds over all pairs and over the nearest ones, of p over those, and their count."""
    out = np.zeros((4, len(first)))
    close = np.empty(nearest)
    bins = len(odds)
    for p in range(len(first)):
        a, b = first[p], second[p]
        if start[a + 1] - start[a] > start[b + 1] - start[b]:
            a, b = b, a
        for x in range(start[a], start[a + 1]):
            held = 0
            for y in range(start[b], start[b + 1]):
                squared = squared_distance(vectors, members[x], members[y])
                if all_pairs:
                    out[0, p] += odds[bin_of(squared, low, scale, bins)]
                if held < nearest or squared < close[held - 1]:
                    at = min(held, nearest - 1)
                    while at > 0 and close[at - 1] > squared:
                        close[at] = close[at - 1]
                        at -= 1
                    close[at] = squared
                    held = min(held + 1, nearest)
            for t in range(held):
                place = bin_of(close[t], low, scale, bins)
                out[1, p] += odds[place]
                out[2, p] += same[place]
            out[3, p] += held
    return out


def entropy_drop(a: Floats, b: Floats, items: int) -> Floats:
    """Return Δh: how much the entropy of a clustering falls when clusters of these sizes are joined.

    >>> entropy_drop(np.array([1.0]), np.array([1.0]), 2).round(4).tolist()
    [0.6931]
    """
    drop: Floats = ((a + b) * np.log(a + b) - a * np.log(a) - b * np.log(b)) / items
    return drop
