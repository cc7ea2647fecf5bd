"""What the exact scores need to know about every moment of the run, computed once for a question in O(n²).

Stage t is the moment just before merge t. Memory: 12 m² bytes.
"""

from dataclasses import dataclass

import numpy as np

from cccount_dist.clustering.hacc.forest import Bytes, Forest, Int32s, compiled
from cccount_dist.clustering.hacc.order import Order
from cccount_dist.clustering.hacc.rows import BLOCKED, NEAREST, unite


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
