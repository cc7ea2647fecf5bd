"""Shorter rows for later merges: from stage t on, the trees of that stage may stand for the leaves.

An answer about merge t changes nothing before it, so it is simulated on the last level that begins at or before t. Each level
has half as many leaves as the one before. Time and memory: those of the history, times 4/3.
"""

from dataclasses import dataclass

import numpy as np

from cccount_dist.clustering.hacc.follow import Run
from cccount_dist.clustering.hacc.forest import Forest, Int32s, Int64s, compiled
from cccount_dist.clustering.hacc.history import History, stages
from cccount_dist.clustering.hacc.order import Order
from cccount_dist.clustering.hacc.rows import unite

LEVELS = 4
_FEWEST = 128  # leaves that are worth a level


@dataclass(frozen=True, slots=True)
class Level:
    """A run that begins at stage `begin`; its leaves are the trees of that stage."""

    begin: int
    leaves: int
    new_name: Int32s  # by node of the whole forest; only for nodes that are trees at the begin or later
    run: Run


def levels_of(order: Order, forest: Forest, history: History) -> tuple[Level, ...]:
    """Return LEVELS levels; the last one is repeated if so many are not worth it."""
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
