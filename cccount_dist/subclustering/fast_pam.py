"""Fast-PAM: k-medoids whose medoids come from a restricted set, as complete clustering, baseline and warm start.

With the nearest and second nearest medoid of every item, and what removing each medoid would cost, one look at a candidate's
distances gives the change of the loss for all K swaps (the removal trick of FastPAM1): the paper's R × n matrices of first and
second centroids are not needed. Best swap: O(R n) for each swap, the same swaps as PAM. Eager: every swap that helps is made at
once, O(R n) for a pass over all candidates. Memory 4 R n bytes for the distances, and O(n).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.subclustering.candidates import candidate_order, restricted_size
from cccount_dist.subclustering.distances import Floats, Int64s, compiled, distances_from, usable_items
from storage.errors import InputError

_LEAST = 1e-9  # of the loss: what a swap must save
_PASSES = 100
MOST_DISTANCES = 2**29  # 2 GiB
Costs = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Medoids:
    """A complete clustering."""

    medoids: Int64s  # (K,) rows of the distances
    labels: Int64s  # (n,) the cluster of every item
    loss: float  # sum of the distances to the medoids
    swaps: int


def restricted_pam(
    vectors: Floats, clusters: int, *, restricted: int | None = None, seed: int = 0, eager: bool = True
) -> tuple[Medoids, Int64s]:
    """Return a complete clustering of prepared vectors with medoids from a random restricted set, and the items that they are."""
    usable = usable_items(vectors)
    if len(usable) < len(vectors):
        raise InputError(f"{len(vectors) - len(usable):,} items have no vector: leave them out, all must go to a cluster")
    count = restricted_size(len(usable), clusters, restricted)
    if count * len(vectors) > MOST_DISTANCES:
        raise InputError(
            f"{count:,} candidates by {len(vectors):,} items are too many distances to hold: "
            f"restrict the set to {MOST_DISTANCES // len(vectors):,} candidates"
        )
    items = candidate_order(usable, seed)[:count]
    found = fast_pam(distances_from(vectors, items), np.arange(clusters), eager=eager)
    return found, items[found.medoids]


def fast_pam(distances: Floats, first: Int64s, *, eager: bool = True) -> Medoids:
    """Return medoids among the rows of `distances` (R, n), starting from the rows `first` (K,)."""
    if len(np.unique(first)) != len(first) or not 1 <= len(first) <= len(distances):
        raise InputError(f"{len(first)} first medoids for {len(distances)} candidates: they must be different candidates")
    chosen = first.astype(np.int64)
    items = distances.shape[1]
    if len(chosen) == 1:  # there is no second nearest medoid, and nothing to search for
        chosen[0] = distances.sum(axis=1, dtype=np.float64).argmin()
        loss = float(distances[chosen[0]].sum(dtype=np.float64))
        return Medoids(chosen, np.zeros(items, np.int64), loss, int(chosen[0] != first[0]))
    nearest, second = np.empty(items, np.int64), np.empty(items, np.int64)
    assign(distances, chosen, nearest, second)
    run = _eager if eager else _best_swaps
    swaps = run(distances, chosen, nearest, second)
    loss = float(distances[chosen[nearest], np.arange(items)].sum(dtype=np.float64))
    return Medoids(chosen, nearest, loss, int(swaps))


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def assign(distances: Floats, chosen: Int64s, nearest: Int64s, second: Int64s) -> None:
    """Find the nearest and second nearest of two or more medoids for every item; the first one where they are equally near."""
    for item in range(distances.shape[1]):
        _assign_one(distances, chosen, item, nearest, second)


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _assign_one(distances: Floats, chosen: Int64s, item: int, nearest: Int64s, second: Int64s) -> None:
    one, other = -1, -1
    d_one, d_other = np.inf, np.inf
    for k in range(chosen.shape[0]):
        d = distances[chosen[k], item]
        if d < d_one:
            other, d_other, one, d_one = one, d_one, k, d
        elif d < d_other:
            other, d_other = k, d
    nearest[item], second[item] = one, other


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _look_up(
    distances: Floats, chosen: Int64s, nearest: Int64s, second: Int64s, near: Floats, far: Floats, removal: Costs
) -> None:
    """Write down the distance to the nearest and second nearest medoid, and what removing each medoid would cost."""
    removal[:] = 0.0
    for item in range(distances.shape[1]):
        near[item] = distances[chosen[nearest[item]], item]
        far[item] = distances[chosen[second[item]], item]
        removal[nearest[item]] += np.float64(far[item]) - np.float64(near[item])


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def best_removal(row: Floats, nearest: Int64s, near: Floats, far: Floats, removal: Costs, change: Costs) -> tuple[int, float]:
    """Return which medoid a candidate with these distances replaces best, and how that changes the loss."""
    change[:] = removal
    joined = 0.0
    for item in range(row.shape[0]):
        d = row[item]
        if d < near[item]:
            joined += np.float64(d) - np.float64(near[item])
            change[nearest[item]] += np.float64(near[item]) - np.float64(far[item])
        elif d < far[item]:
            change[nearest[item]] += np.float64(d) - np.float64(far[item])
    k = int(np.argmin(change))
    return k, change[k] + joined


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _swap(distances: Floats, chosen: Int64s, k: int, r: int, nearest: Int64s, second: Int64s, near: Floats, far: Floats) -> None:
    """Put candidate r in the place of medoid k. Only items that lose their nearest or second nearest look at all medoids."""
    chosen[k] = r
    for item in range(distances.shape[1]):
        d = distances[r, item]
        if nearest[item] == k or second[item] == k:
            if nearest[item] == k and d < far[item]:
                continue
            _assign_one(distances, chosen, item, nearest, second)
        elif d < near[item]:
            nearest[item], second[item] = k, nearest[item]
        elif d < far[item]:
            second[item] = k


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _best_swaps(distances: Floats, chosen: Int64s, nearest: Int64s, second: Int64s) -> int:
    items = distances.shape[1]
    near, far = np.empty(items, np.float32), np.empty(items, np.float32)
    removal, change = np.empty(chosen.shape[0]), np.empty(chosen.shape[0])
    swaps = 0
    while True:
        _look_up(distances, chosen, nearest, second, near, far, removal)
        best, best_k, best_r = -_LEAST * near.sum(), -1, -1
        for r in range(distances.shape[0]):
            k, saved = best_removal(distances[r], nearest, near, far, removal, change)
            if saved < best:
                best, best_k, best_r = saved, k, r
        if best_k < 0:
            return swaps
        _swap(distances, chosen, best_k, best_r, nearest, second, near, far)
        swaps += 1


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _eager(distances: Floats, chosen: Int64s, nearest: Int64s, second: Int64s) -> int:
    items, candidates = distances.shape[1], distances.shape[0]
    near, far = np.empty(items, np.float32), np.empty(items, np.float32)
    removal, change = np.empty(chosen.shape[0]), np.empty(chosen.shape[0])
    _look_up(distances, chosen, nearest, second, near, far, removal)
    swaps = since = 0
    for step in range(_PASSES * candidates):
        r = step % candidates
        k, saved = best_removal(distances[r], nearest, near, far, removal, change)
        since += 1
        if saved < -_LEAST * near.sum():
            _swap(distances, chosen, k, r, nearest, second, near, far)
            _look_up(distances, chosen, nearest, second, near, far, removal)
            swaps += 1
            since = 0
        if since == candidates:
            break
    return swaps
