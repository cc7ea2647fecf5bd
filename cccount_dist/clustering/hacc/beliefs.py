"""How likely two units are the same: in how many of many k-means clusterings they fall together (eq. 2 of the paper, smoothed).

Runs are independent of each other: `one_run` is what a worker computes, `agreements` what is made of the runs, `pooled` what is
believed of must-linked units. A run takes O(n K d) time for an iteration; its labels are 2 n bytes, which is all that needs to be
stored. Counts are n² bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.hacc.forest import Bytes, Forest, Int32s, Int64s, compiled, whole_numbers
from storage.errors import InputError

Labels = NDArray[np.uint16]
EXCLUDED = 255  # in the matrix of agreements: this pair is not to be asked
RUNS = 100
MOST_RUNS = 254  # counts are single bytes, and 255 is EXCLUDED
_BITS = 12  # so that dot products stay below 2^24, and float32 holds them exactly
_ITERATIONS = 20


@dataclass(frozen=True, slots=True)
class Beliefs:
    """How often each pair of units fell into one cluster in `runs` clusterings; P = (count + 1) / (runs + 2).

    Not smoothed it is equation 2 as printed, count / runs.
    """

    agreements: Bytes  # (n, n) symmetric; EXCLUDED for pairs that are not to be asked
    runs: int
    smoothed: bool = True

    def probability(self) -> NDArray[np.float64]:
        """Return P for every count."""
        if not self.smoothed:
            return np.minimum(np.arange(256, dtype=np.float64) / self.runs, 1.0)
        table: NDArray[np.float64] = (np.arange(256, dtype=np.float64) + 1.0) / (self.runs + 2.0)
        return table


def one_run(
    vectors: NDArray[np.float32], clusters: int, seed: int, number: int, weight: Int64s | None = None, *, finer: bool = True
) -> Labels:
    """Return the labels (n,) of k-means from random rows as first centres; `number` tells the runs of one seed apart.

    Runs take turns between K clusters and 2 K, unless `finer` is False: pairs that hold together in the finer ones, too, are
    surer (compared in docs/evidence/hacc.md).
    All numbers are whole and small enough for every sum of products to be exact, so a run gives
    the same labels on any machine.
    """
    return _k_means(whole_numbers(vectors, _BITS).astype(np.float32), clusters, seed, number, weight, finer=finer)


def many_runs(
    vectors: NDArray[np.float32],
    clusters: int,
    seed: int,
    runs: int = RUNS,
    weight: Int64s | None = None,
    *,
    finer: bool = True,
) -> Labels:
    """Return the labels (runs, n) of runs 0, 1, 2, …, one after the other; each row is what `one_run` gives."""
    if not 1 <= runs <= MOST_RUNS:
        raise InputError(f"runs is {runs}: the number of k-means runs goes from 1 to {MOST_RUNS}")
    rows = whole_numbers(vectors, _BITS).astype(np.float32)
    return np.stack([_k_means(rows, clusters, seed, number, weight, finer=finer) for number in range(runs)])


def _k_means(rows: NDArray[np.float32], clusters: int, seed: int, number: int, weight: Int64s | None, *, finer: bool) -> Labels:
    random = np.random.Generator(np.random.Philox(key=seed, counter=number << 64))
    if finer and number % 2 == 0:
        clusters = max(clusters, min(2 * clusters, len(rows) // 2))
    clusters = min(clusters, len(rows), np.iinfo(np.uint16).max)
    centres = rows[np.sort(random.choice(len(rows), clusters, replace=False))]
    weight = np.ones(len(rows), np.int64) if weight is None else weight
    labels = np.zeros(len(rows), np.uint16)
    for iteration in range(_ITERATIONS):
        length = np.square(centres, dtype=np.float64).sum(axis=1)
        found = np.argmax(2.0 * (rows @ centres.T).astype(np.float64) - length, axis=1).astype(np.uint16)
        if iteration and np.array_equal(found, labels):
            break
        labels = found
        totals, sizes = _totals(rows, labels, weight, clusters)
        filled = sizes > 0  # an empty cluster keeps its centre
        centres[filled] = np.rint(totals[filled] / sizes[filled, None])
    return labels


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _totals(rows: NDArray[np.float32], labels: Labels, weight: Int64s, clusters: int) -> tuple[Int64s, Int64s]:
    totals = np.zeros((clusters, rows.shape[1]), np.int64)
    sizes = np.zeros(clusters, np.int64)
    for i in range(rows.shape[0]):
        sizes[labels[i]] += weight[i]
        for k in range(rows.shape[1]):
            totals[labels[i], k] += weight[i] * np.int64(rows[i, k])
    return totals, sizes


def agreements(labels: Labels | Sequence[Labels]) -> Bytes:
    """Return in how many runs (S, n) each pair falls together, (n, n).

    >>> agreements(np.array([[0, 0, 1], [1, 1, 1]], np.uint16)).tolist()
    [[2, 2, 1], [2, 2, 1], [1, 1, 2]]
    """
    counts: Bytes = _agreements(np.ascontiguousarray(labels))
    return counts


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _agreements(labels: Labels) -> Bytes:
    units = labels.shape[1]
    counts = np.zeros((units, units), np.uint8)
    for run in range(labels.shape[0]):
        mine = labels[run]
        for i in range(units):
            for j in range(units):
                counts[i, j] += np.uint8(mine[i] == mine[j])
    return counts


def pooled(beliefs: Beliefs, forest: Forest) -> Beliefs:
    """Return the beliefs about pairs of units of different leaves, each the mean of its two leaves.

    The paper's P is fixed, so that after "same" about an item that k-means misplaced it asks about it again, once for each item
    of its true cluster. Pairs that are not to be asked stay so. Time O(n · units in leaves of several), memory n² bytes.
    """
    if forest.leaves == len(forest.leaf):
        return beliefs
    return replace(beliefs, agreements=_pool(beliefs.agreements, forest.leaf, forest.leaves))


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _pool(agreements: Bytes, leaf: Int32s, leaves: int) -> Bytes:
    units = leaf.shape[0]
    found = agreements.copy()
    head = np.full(leaves, -1, np.int32)  # the units of a leaf, chained
    following = np.empty(units, np.int32)
    for unit in range(units):
        following[unit] = head[leaf[unit]]
        head[leaf[unit]] = unit
    total, pairs = np.empty(leaves, np.int64), np.empty(leaves, np.int64)
    for one in range(leaves):
        if following[head[one]] < 0:
            continue
        total[:] = 0
        pairs[:] = 0
        i = head[one]
        while i >= 0:
            for j in range(units):
                if agreements[i, j] != EXCLUDED:
                    total[leaf[j]] += agreements[i, j]
                    pairs[leaf[j]] += 1
            i = following[i]
        i = head[one]
        while i >= 0:
            for j in range(units):
                other = leaf[j]
                if other != one and agreements[i, j] != EXCLUDED:
                    found[i, j] = found[j, i] = (2 * total[other] + pairs[other]) // (2 * pairs[other])
            i = following[i]
    return found
