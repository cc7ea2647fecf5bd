"""The run that really happened, moment by moment, as the exact scores need it: computed once for a question in O(n²).

Stage t is the moment just before merge t. Each node has a row of nearness to all leaves; questions with the same effect are one
group. Memory: 12 m² bytes, and a third more for the shorter rows of later stages.
"""

from dataclasses import dataclass

import numpy as np

from cccount_dist.clustering.hacc.forest import Bytes, Forest, Int32s, Int64s, Order, compiled

NEAREST = 2**31 - 2
BLOCKED = np.int32(-(2**31))  # the sign bit
LEVELS = 4
_FEWEST = 128  # leaves that are worth a level
SPLIT = -1  # in place of Z
NONE = -1  # group of a pair that has a closed form

# What does not change while one question is looked for: first, second (of the order), leaf, merges, low, high, weight (of the
# forest), cluster (of nodes), rows, stage (of the history).
Run = tuple[Int32s, Int32s, Int32s, Int32s, Int32s, Int32s, Int64s, Int32s, Int32s, Int32s]

# Rows of nearness, and the loops over them, written so that the compiler makes vector instructions of them: here the time goes.
# Nearness of two leaves is NEAREST - rank, so the nearest pair has the largest number. A negative number means blocked: the leaf
# belongs to the tree itself, or to one that it may not join. The row of two trees that become one follows from their two rows
# alone: the larger number, and blocked if either is. Time O(m).


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def largest(row: Int32s) -> int:
    best = BLOCKED
    for x in range(row.shape[0]):
        best = max(best, row[x])
    return best  # type: ignore[return-value]


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def unite(row: Int32s, other: Int32s) -> int:
    """Take another tree's row in, and return the largest number that is left."""
    best = BLOCKED
    for x in range(row.shape[0]):
        value = max(row[x], other[x]) | ((row[x] | other[x]) & BLOCKED)
        row[x] = value
        best = max(best, value)
    return best  # type: ignore[return-value]


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def block(row: Int32s, low: int, high: int) -> None:
    for x in range(low, high):
        row[x] |= BLOCKED


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def is_blocked(row: Int32s, low: int, high: int) -> bool | np.bool_:
    bits = np.int32(0)
    for x in range(low, high):
        bits |= row[x]
    return bits < 0


@dataclass(frozen=True, slots=True)
class History:
    """The run of a forest, moment by moment."""

    rows: Int32s  # (m + T, m) nearness of each node to each leaf; negative for its own leaves and those that it may not join
    stage: Int32s  # (kept + 1, m) node of each leaf just before merge t, for the merges that are kept, and after the last


def history_of(order: Order, forest: Forest) -> History:
    """Return the history of a forest."""
    rows = node_rows(order.rank, forest.leaf, forest.cannot, forest.merges)
    return History(rows, stages(forest.leaves, forest.kept, forest.low, forest.high))


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def node_rows(rank: Int32s, leaf: Int32s, cannot: Bytes, merges: Int32s) -> Int32s:
    leaves, units = cannot.shape[0], rank.shape[0]
    rows = np.empty((leaves + merges.shape[0], leaves), np.int32)
    rows[:leaves] = 0
    for unit in range(units):
        row = rows[leaf[unit]]
        for other in range(units):
            nearness = np.int32(NEAREST) - rank[unit, other]
            if nearness > row[leaf[other]]:
                row[leaf[other]] = nearness
    for one in range(leaves):
        for other in range(leaves):
            if cannot[one, other] or one == other:
                rows[one, other] |= BLOCKED
    for number in range(merges.shape[0]):
        new = leaves + number
        rows[new] = rows[merges[number, 0]]
        unite(rows[new], rows[merges[number, 1]])
    return rows


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def stages(leaves: int, kept: int, low: Int32s, high: Int32s) -> Int32s:
    stage = np.empty((kept + 1, leaves), np.int32)
    for x in range(leaves):
        stage[0, x] = x
    for number in range(kept):
        new = leaves + number
        stage[number + 1] = stage[number]
        stage[number + 1, low[new] : high[new]] = new
    return stage


@dataclass(frozen=True, slots=True)
class Level:
    """A run that begins at stage `begin`; its leaves are the trees of that stage, so rows are shorter.

    An answer about merge t changes nothing before it, so it is simulated on the last level that begins at or before t.
    """

    begin: int
    leaves: int
    new_name: Int32s  # by node of the whole forest; only for nodes that are trees at the begin or later
    run: Run


def levels_of(order: Order, forest: Forest, history: History) -> tuple[Level, ...]:
    """Return LEVELS levels, each with half as many leaves as the one before; the last is repeated if so many are not worth it.

    Time and memory: those of the history, times 4/3.
    """
    cluster = forest.cluster_of_nodes()
    run: Run = (
        order.first, order.second, forest.leaf, forest.merges, forest.low, forest.high, forest.weight, cluster,
        history.rows, history.stage,
    )  # fmt: skip
    names = np.arange(len(forest.weight), dtype=np.int32)
    found = [Level(0, forest.leaves, names, run)]
    while len(found) < LEVELS:
        last = found[-1]
        trees = last.leaves // 2
        enough = trees >= _FEWEST and last.leaves - trees < len(last.run[9])
        found.append(_later(last, last.leaves - trees) if enough else last)
    return tuple(found)


def _later(level: Level, begin: int) -> Level:
    first, second, leaf, merges, low, high, weight, cluster, rows, stage = level.run
    trees, first_leaf, inverse = np.unique(stage[begin], return_index=True, return_inverse=True)
    by_place = np.argsort(first_leaf)  # a tree's leaves are neighbours, so trees have an order
    place = np.empty(len(trees), np.int32)
    place[by_place] = np.arange(len(trees), dtype=np.int32)
    nodes: Int64s = np.concatenate((trees[by_place], np.arange(level.leaves + begin, len(weight)))).astype(np.int64)
    rename = np.full(len(weight), -1, np.int32)
    rename[nodes] = np.arange(len(nodes), dtype=np.int32)
    tree_of_leaf: Int32s = place[inverse]
    shorter = merges[begin:].copy()
    shorter[:, :2] = rename[shorter[:, :2]]
    lows: Int32s = tree_of_leaf[low[nodes]]
    highs: Int32s = tree_of_leaf[high[nodes] - 1] + np.int32(1)
    kept = len(stage) - 1 - begin
    run: Run = (
        first, second, tree_of_leaf[leaf], shorter, lows, highs, weight[nodes], cluster[nodes],
        _short_rows(rows, nodes[: len(trees)], low, high, shorter), stages(len(trees), kept, lows, highs),
    )  # fmt: skip
    new_name = np.where(level.new_name >= 0, rename[level.new_name], -1).astype(np.int32)
    return Level(level.begin + begin, len(trees), new_name, run)


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _short_rows(rows: Int32s, trees: Int64s, low: Int32s, high: Int32s, merges: Int32s) -> Int32s:
    """Return rows with one column for each tree: the largest number of its leaves, and negative if any of them is."""
    count = trees.shape[0]
    short = np.empty((count + merges.shape[0], count), np.int32)
    for one in range(count):
        row = rows[trees[one]]
        for other in range(count):
            start = low[trees[other]]
            near = row[start]
            bits = row[start]
            for x in range(start + 1, high[trees[other]]):
                near = max(near, row[x])
                bits |= row[x]
            short[one, other] = near if bits >= 0 else bits
    for number in range(merges.shape[0]):
        new = count + number
        short[new] = short[merges[number, 0]]
        unite(short[new], short[merges[number, 1]])
    return short


@dataclass(frozen=True, slots=True)
class Groups:
    """Every group of questions, and the group of every pair of leaves: one simulation serves a whole group.

    SPLIT: both items in one cluster, joined by merge t of nodes X and Y. "Different" forbids that merge, whichever pair of X × Y
    it was said of. JOIN: items of different clusters. "Same" changes nothing but gluing the two trees together until the first
    merge t = (X, Y) that the glued tree X + Z refuses, because Y and Z are cannot-linked; from there on only t, X, Y, Z matter.
    Pairs that never meet such a merge have a closed form. Time and memory O(m²): each pair is in one group at most.
    """

    table: Int32s  # (g, 4): t, X, Y, Z; Z is SPLIT for questions inside a cluster
    of_pair: Int32s  # (m, m), read at [smaller leaf, larger leaf]


def groups_of(forest: Forest, history: History) -> Groups:
    """Return the groups of all questions about a forest."""
    # A "same" between two clusters leaves one tree less: the last merge that is kept would not come, unless the run ends early.
    meeting = forest.kept if forest.dead_end else forest.kept - 1
    table, of_pair = find_groups(forest.merges, forest.kept, meeting, forest.low, forest.high, history.rows, history.stage)
    return Groups(table, of_pair)


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def find_groups(
    merges: Int32s, kept: int, meeting: int, low: Int32s, high: Int32s, rows: Int32s, stage: Int32s
) -> tuple[Int32s, Int32s]:
    leaves = rows.shape[1]
    of_pair = np.full((leaves, leaves), NONE, np.int32)
    table = np.empty((4 * leaves + 16, 4), np.int32)
    seen = np.full(rows.shape[0], -1, np.int32)  # by node: it was met in this round
    found = 0
    for number in range(kept):
        one, other = merges[number, 0], merges[number, 1]
        if found + 2 * leaves + 1 > table.shape[0]:
            larger = np.empty((2 * table.shape[0] + 2 * leaves, 4), np.int32)
            larger[:found] = table[:found]
            table = larger
        table[found, 0], table[found, 1], table[found, 2], table[found, 3] = number, one, other, SPLIT
        of_pair[low[one] : high[one], low[other] : high[other]] = found  # the second node lies behind the first
        found += 1
        if number >= meeting:
            continue
        for side in range(2):
            free, bound = merges[number, side], merges[number, 1 - side]  # trees apart from `bound` only
            turn = 2 * number + side
            seen[bound] = turn
            for x in range(leaves):
                if rows[free, x] < 0:
                    seen[stage[number, x]] = turn
            for x in range(leaves):
                third = stage[number, x]
                if rows[bound, x] < 0 and seen[third] != turn:
                    seen[third] = turn
                    table[found, 0], table[found, 1], table[found, 2], table[found, 3] = number, free, bound, third
                    front, back = (free, third) if low[free] < low[third] else (third, free)
                    of_pair[low[front] : high[front], low[back] : high[back]] = found
                    found += 1
    return table[:found].copy(), of_pair
