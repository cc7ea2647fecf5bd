"""The question with the largest expected change of the clustering (eq. 5-7 of the paper), exactly, without trying every pair.

E(i, j) = (1 - P) (1 - J) for two units of one cluster, P (1 - J) otherwise: P is the probability that they are the same, J the
Jaccard coefficient of the clusterings before and after the answer that changes something. Equal values: the smallest (i, j).
Time O(n²) and O(m) for each dirty merge of a simulated group; memory about 40 n² bytes, the order of pairs included.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat

import numba
import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.hacc.beliefs import EXCLUDED, Beliefs
from cccount_dist.clustering.hacc.forest import Bytes, Forest, Int32s, Int64s, Order, compiled
from cccount_dist.clustering.hacc.realrun import NONE, SPLIT, Groups, Level, Run, groups_of, history_of, levels_of
from cccount_dist.clustering.hacc.simulate import ROWS_EXHAUSTED, Scratch, jaccard_after, new_scratch

_THREADS_FROM = 300  # leaves; below, starting a thread takes longer than it saves
_ROWS = 64  # dirty trees that the scratch memory has room for at first


@dataclass(frozen=True, slots=True)
class Choice:
    """A question: two units (first < second), the expected change, and whether they are in one cluster now."""

    first: int
    second: int
    value: float
    split: bool


class Engine:
    """All scores of one state of knowledge; `best` may be called again for the best question in other clusters.

    A group's value is at most its best P or 1 - P, so groups are simulated from the largest bound down, until none can win.
    """

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


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def simulate_until(numbers: Int64s, table: Int32s, level: Int64s, bound: NDArray[np.float64], jaccard: NDArray[np.float64],
                   best: NDArray[np.float64], wanted: int, together: int, runs: tuple[Run, ...],
                   scratches: tuple[Scratch, ...], stop_early: int) -> int:  # fmt: skip
    """Simulate these groups in turn; a group whose bound is below the best value so far cannot win, nor can any after it.

    Return the place of the first group that was not dealt with. Threads share `best` without a lock: a stale value costs
    a simulation that was not needed, and never changes a result.
    """
    luck = np.zeros(2, np.int64)
    for place in range(numbers.shape[0]):
        group = numbers[place]
        if stop_early and bound[group] < best[0]:
            break
        if jaccard[group] < 0.0:
            value = jaccard_after(table[group], wanted, together, runs[level[group]], scratches[level[group]], luck)
            if value == ROWS_EXHAUSTED:
                return place
            jaccard[group] = value
        best[0] = max(best[0], bound[group] * (1.0 - jaccard[group]))
    return len(numbers)


class LocalEngine(Engine):
    """The paper's H2, with the interface of the exact engine: an answer is taken to change only the clusters of the two items.

    An approximation, and labelled as one. "Different" cuts a cluster's spanning tree at the link that joined the two items;
    "same" unites two clusters. So J has a closed form and nothing is simulated. Time O(n²), memory 4 m² bytes beside the order
    and the beliefs.
    """

    def __init__(self, order: Order, forest: Forest, beliefs: Beliefs) -> None:
        self.forest = forest
        self.beliefs = beliefs
        self.simulated = 0
        self._threads = 1
        self._cluster = forest.cluster_of_nodes()
        self._together = pairs_within(forest)
        rank = forest.merges[: forest.kept, 2]
        ends = np.stack((forest.leaf[order.first[rank]], forest.leaf[order.second[rank]]), axis=1)
        lost, of_pair = _cuts(forest.merges, ends, forest.low, forest.high, forest.weight, forest.leaves)
        table = np.full((forest.kept, 4), SPLIT, np.int32)
        table[:, 0] = np.arange(forest.kept)
        table[:, 1:3] = forest.merges[: forest.kept, :2]
        self._groups = Groups(table, of_pair)
        self._jaccard = (self._together - lost) / max(self._together, 1)

    def _last_merge(self) -> tuple[Int64s, int]:
        clusters = self._cluster[: self.forest.leaves]
        size = np.bincount(clusters, weights=self.forest.weight[: self.forest.leaves]).astype(np.int64)
        return size[clusters], 0

    def _simulate(self, *_: object, **__: object) -> None:
        """Nothing is simulated: every value has a closed form."""


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _cuts(merges: Int32s, ends: Int32s, low: Int32s, high: Int32s, weight: Int64s, leaves: int) -> tuple[Int64s, Int32s]:
    """Return for each merge that is kept how many pairs of items its link holds together, and the merge that joins each pair."""
    kept = ends.shape[0]
    of_pair = np.full((leaves, leaves), NONE, np.int32)
    head = np.full(leaves, -1, np.int32)  # links of a leaf, chained; link 2 t leads from ends[t, 0] to ends[t, 1], 2 t + 1 back
    following = np.empty(2 * kept, np.int32)
    for t in range(kept):
        one, other = merges[t, 0], merges[t, 1]
        of_pair[low[one] : high[one], low[other] : high[other]] = t
        for side in range(2):
            following[2 * t + side] = head[ends[t, side]]
            head[ends[t, side]] = 2 * t + side
    # Leaves of each tree from its root outwards; the weight behind a link is then summed from the outside in.
    queue = np.empty(leaves, np.int32)
    by = np.full(leaves, -1, np.int32)  # the link that led to a leaf
    tree = np.full(leaves, -1, np.int32)
    length = 0
    for root in range(leaves):
        if tree[root] >= 0:
            continue
        tree[root] = root
        start = length
        queue[length] = root
        length += 1
        while start < length:
            leaf = queue[start]
            start += 1
            link = head[leaf]
            while link >= 0:
                far = ends[link >> 1, 1 - (link & 1)]
                if tree[far] < 0:
                    tree[far] = root
                    by[far] = link
                    queue[length] = far
                    length += 1
                link = following[link]
    behind = weight[:leaves].copy()
    for place in range(leaves - 1, -1, -1):
        leaf = queue[place]
        if by[leaf] >= 0:
            behind[ends[by[leaf] >> 1, by[leaf] & 1]] += behind[leaf]
    lost = np.empty(kept, np.int64)
    for leaf in range(leaves):
        if by[leaf] >= 0:
            lost[by[leaf] >> 1] = behind[leaf] * (behind[tree[leaf]] - behind[leaf])
    return lost, of_pair
