"""The question with the largest expected change of the clustering (eq. 5-7 of the paper), exactly, without trying every pair.

E(i, j) = (1 - P) (1 - J) for two units of one cluster, P (1 - J) otherwise: P is the probability that they are the same, J the
Jaccard coefficient of the clusterings before and after the answer that changes something. A group's value is at most its best P
or 1 - P, so groups are simulated from the largest bound down, until none can win. Equal values: the smallest (i, j).
Time O(n²) and O(m) for each dirty merge of a simulated group; memory about 40 n² bytes, the order of pairs included.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat

import numba
import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.hacc.forest import Bytes, Forest, Int32s, Int64s, compiled
from cccount_dist.clustering.hacc.groups import NONE, SPLIT, groups_of
from cccount_dist.clustering.hacc.history import history_of
from cccount_dist.clustering.hacc.levels import Level, levels_of
from cccount_dist.clustering.hacc.order import Order
from cccount_dist.clustering.hacc.simulate import new_scratch, simulate_until

EXCLUDED = 255  # in the matrix of agreements: this pair is not to be asked
_THREADS_FROM = 300  # leaves; below, starting a thread takes longer than it saves
_ROWS = 64  # dirty trees that the scratch memory has room for at first


@dataclass(frozen=True, slots=True)
class Choice:
    """A question: two units (first < second), the expected change, and whether they are in one cluster now."""

    first: int
    second: int
    value: float
    split: bool


@dataclass(frozen=True, slots=True)
class Beliefs:
    """How often each pair of units fell into one cluster in `runs` clusterings; P = (count + 1) / (runs + 2)."""

    agreements: Bytes  # (n, n) symmetric; EXCLUDED for pairs that are not to be asked
    runs: int

    def probability(self) -> NDArray[np.float64]:
        """Return P for every count."""
        table: NDArray[np.float64] = (np.arange(256, dtype=np.float64) + 1.0) / (self.runs + 2.0)
        return table


class Engine:
    """All scores of one state of knowledge; `best` may be called again for the best question in other clusters"""

    def __init__(self, order: Order, forest: Forest, beliefs: Beliefs, *, threads: int | None = None) -> None:
        self.forest = forest
        self.beliefs = beliefs
        self.simulated = 0
        self._history = history_of(order, forest)
        self._groups = groups_of(forest, self._history)
        self._cluster = forest.cluster_of_nodes()
        self._jaccard = np.full(len(self._groups.table), -1.0)
        self._together = pairs_within(forest)
        self._levels = levels_of(order, forest, self._history)
        self._level, self._table = _by_level(self._groups.table, self._levels)
        threads = numba.get_num_threads() if threads is None else threads
        self._threads = threads if forest.leaves >= _THREADS_FROM else 1

    def best(self, taken: Bytes) -> Choice | None:
        """Return the best question that touches no cluster that is taken; None if there is none."""
        forest, table = self.forest, self._groups.table
        bound, pairs, closed = best_pairs(
            self.beliefs.agreements, self.beliefs.probability(), forest.leaf, forest.cannot, self._groups.of_pair, table,
            self._cluster, taken, *self._last_merge(), self._together,
        )  # fmt: skip
        best = np.array([closed[0]])
        open_groups = np.flatnonzero(bound >= 0.0)
        if len(open_groups):
            share = np.minimum(1.0, forest.weight[table[open_groups, 1]] * forest.weight[table[open_groups, 2]] / self._together)
            promising = open_groups[np.argsort(-bound[open_groups] * share, kind="stable")[: 4 * self._threads]]
            self._simulate(promising, bound, best, stop_early=0)  # a large value early saves most of the others
            self._simulate(open_groups[np.argsort(-bound[open_groups], kind="stable")], bound, best, stop_early=1)
        found = [(-closed[0], int(closed[1]), int(closed[2]), False)] if closed[0] >= 0.0 else []
        value = np.where((self._jaccard >= 0.0) & (bound >= 0.0), bound * (1.0 - self._jaccard), -1.0)
        if value.max(initial=-1.0) >= max(best[0], 0.0):
            found += [
                (-float(value[group]), *pairs[group].tolist(), bool(table[group, 3] == SPLIT))
                for group in np.flatnonzero(value == value.max())
            ]
        if not found:
            return None
        negative, first, second, split = min(found)
        return Choice(first, second, -negative, split)

    def _last_merge(self) -> tuple[Int64s, int]:
        """Return the items of each leaf's tree before the last merge that is kept, and the pairs that this merge joins."""
        last = max(self.forest.kept - 1, 0)
        joined = 0
        if self.forest.kept:
            one, other = self.forest.merges[last, :2]
            joined = int(self.forest.weight[one] * self.forest.weight[other])
        return self.forest.weight[self._history.stage[last]], joined

    def _simulate(self, numbers: Int64s, bound: NDArray[np.float64], best: NDArray[np.float64], *, stop_early: int) -> None:
        before = np.count_nonzero(self._jaccard >= 0.0)
        shares = [numbers[start :: self._threads] for start in range(self._threads)]
        if self._threads == 1:
            self._simulate_share(shares[0], bound, best, stop_early)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(self._simulate_share, shares, repeat(bound), repeat(best), repeat(stop_early)))
        self.simulated += int(np.count_nonzero(self._jaccard >= 0.0) - before)

    def _simulate_share(self, numbers: Int64s, bound: NDArray[np.float64], best: NDArray[np.float64], stop_early: int) -> None:
        forest = self.forest
        runs = tuple(level.run for level in self._levels)
        rows = _ROWS
        while len(numbers):
            scratches = tuple(new_scratch(level.leaves, len(level.run[8]), forest.clusters, rows) for level in self._levels)
            done = simulate_until(
                numbers, self._table, self._level, bound, self._jaccard, best, forest.wanted, self._together, runs, scratches,
                stop_early,
            )  # fmt: skip
            numbers = numbers[done:]
            rows = min(4 * rows, forest.leaves + 2)


def _by_level(table: Int32s, levels: Sequence[Level]) -> tuple[Int64s, Int32s]:
    """Return the level on which each group is simulated, and the groups in that level's names."""
    of_group = np.searchsorted([level.begin for level in levels], table[:, 0], side="right") - 1
    named = table.copy()
    for number, level in enumerate(levels):
        mine = np.flatnonzero(of_group == number)
        named[mine, 0] -= level.begin
        named[mine, 1:3] = level.new_name[table[mine, 1:3]]
        named[mine, 3] = np.where(table[mine, 3] == SPLIT, SPLIT, level.new_name[table[mine, 3]])
    return of_group.astype(np.int64), named


def pairs_within(forest: Forest) -> int:
    """Return how many pairs of items are in one cluster."""
    size = np.bincount(forest.cluster_of_nodes()[: forest.leaves], weights=forest.weight[: forest.leaves]).astype(np.int64)
    return int((size * (size - 1) // 2).sum())


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def best_pairs(agreements: Bytes, probability: NDArray[np.float64], leaf: Int32s, cannot: Bytes, of_pair: Int32s, table: Int32s,
               cluster: Int32s, taken: Bytes, last_weight: Int64s, joined: int,
               together: int) -> tuple[NDArray[np.float64], Int32s, NDArray[np.float64]]:  # fmt: skip
    """Return each group's bound (-1: nothing to ask) and the pair that reaches it, and value and pair of the best closed form.

    The closed form: "same" about two trees A and B glues them, and the last merge, of U and V, is not done any more:
    J = (together - |U| |V|) / (together + |A| |B|).
    """
    bound = np.full(table.shape[0], -1.0)
    pairs = np.full((table.shape[0], 2), -1, np.int32)
    closed = np.full(3, -1.0)
    units = leaf.shape[0]
    for i in range(units):
        a = leaf[i]
        if taken[cluster[a]]:
            continue
        for j in range(i + 1, units):
            b = leaf[j]
            count = agreements[i, j]
            if a == b or cannot[a, b] or count == EXCLUDED or taken[cluster[b]]:
                continue
            group = of_pair[min(a, b), max(a, b)]
            if group == NONE:
                glued = last_weight[a] * last_weight[b]
                value = probability[count] * (1.0 - (together - joined) / (together + glued))
                if value > closed[0]:
                    closed[0], closed[1], closed[2] = value, i, j
            else:
                value = 1.0 - probability[count] if table[group, 3] == SPLIT else probability[count]
                if value > bound[group]:
                    bound[group] = value
                    pairs[group, 0], pairs[group, 1] = i, j
    return bound, pairs, closed
