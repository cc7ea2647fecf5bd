"""CLARANS (Ng and Han): k-medoids by random swaps, one of the baselines of the subclustering paper; and plain k-medoids.

From random medoids a random medoid and a random other item are tried; a swap that helps is made at once, and `neighbors` tries in
vain end a search. The best of `searches` searches counts. O(n) for a try; memory 4 n² bytes for the distances.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.subclustering.distances import Floats, Int64s, compiled
from cccount_dist.subclustering.fast_pam import Medoids, assign

SEARCHES, NEIGHBORS = 100, 1000  # appendix C of the paper: numlocal and maxneighbour
_ROUNDS = 100
_LEAST = 1e-9


def clarans(distances: Floats, clusters: int, *, seed: int = 0, searches: int = SEARCHES, neighbors: int = NEIGHBORS) -> Medoids:
    """Return the best medoids of all searches; `distances` are of all items to each other."""
    random = np.random.default_rng(seed)
    best: Medoids | None = None
    for _ in range(searches):
        first = random.choice(len(distances), clusters, replace=False).astype(np.int64)
        found = _search(distances, first, neighbors, random)
        best = found if best is None or found.loss < best.loss else best
    if best is None:
        raise ValueError("searches must be 1 or more")
    return best


def _search(distances: Floats, chosen: Int64s, neighbors: int, random: np.random.Generator) -> Medoids:
    items, clusters = len(distances), len(chosen)
    nearest, second = np.empty(items, np.int64), np.empty(items, np.int64)
    assign(distances, chosen, nearest, second)
    vain = swaps = 0
    while vain < neighbors:
        k, r = int(random.integers(clusters)), int(random.integers(items))
        if r in chosen or _change(distances, chosen, k, r, nearest, second) > -_LEAST:
            vain += 1
            continue
        chosen[k] = r
        assign(distances, chosen, nearest, second)
        vain, swaps = 0, swaps + 1
    loss = float(distances[chosen[nearest], np.arange(items)].sum(dtype=np.float64))
    return Medoids(chosen, nearest, loss, swaps)


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _change(distances: Floats, chosen: Int64s, k: int, r: int, nearest: Int64s, second: Int64s) -> float:
    """Return how the loss changes if item r takes the place of medoid k."""
    change = 0.0
    for item in range(distances.shape[1]):
        now = distances[chosen[nearest[item]], item]
        other = now
        if nearest[item] == k:
            other = np.inf if second[item] < 0 else distances[chosen[second[item]], item]
        change += min(distances[r, item], other) - now
    return change


def alternating(distances: Floats, clusters: int, *, seed: int = 0) -> Medoids:
    """Return k-medoids by turns: items go to the nearest medoid, then each cluster takes its best item as medoid."""
    random = np.random.default_rng(seed)
    chosen: NDArray[np.int64] = random.choice(len(distances), clusters, replace=False).astype(np.int64)
    labels = distances[chosen].argmin(axis=0).astype(np.int64)
    for _ in range(_ROUNDS):
        before = chosen.copy()
        for k in range(clusters):
            members = np.flatnonzero(labels == k)
            if len(members):
                chosen[k] = members[distances[np.ix_(members, members)].sum(axis=1, dtype=np.float64).argmin()]
        labels = distances[chosen].argmin(axis=0).astype(np.int64)
        if np.array_equal(before, chosen):
            break
    loss = float(distances[chosen[labels], np.arange(len(labels))].sum(dtype=np.float64))
    return Medoids(chosen, labels, loss, 0)
