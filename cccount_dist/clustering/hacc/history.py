"""What the exact scores need to know about every moment of the run, computed once for a question in O(m²).

Node rows are the smallest rank of a pair between the node and each leaf; stage t is the moment just before merge t.
Memory: 17 m² bytes.
"""

from dataclasses import dataclass

import numpy as np

from cccount_dist.clustering.hacc.forest import Bytes, Forest, Int32s, compiled
from cccount_dist.clustering.hacc.order import NEVER, Order


@dataclass(frozen=True, slots=True)
class History:
    """The run of a forest, moment by moment."""

    rank: Int32s  # (m + T, m) smallest rank between a node and a leaf
    apart: Bytes  # (m + T, m) cannot-links between a node and a leaf
    stage: Int32s  # (kept + 1, m) node of each leaf just before merge t, for the merges that are kept, and after the last


def history_of(order: Order, forest: Forest) -> History:
    """Return the history of a forest."""
    rank, apart = node_rows(order.rank, forest.leaf, forest.cannot, forest.merges)
    return History(rank, apart, stages(forest.leaves, forest.kept, forest.low, forest.high))


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def node_rows(rank: Int32s, leaf: Int32s, cannot: Bytes, merges: Int32s) -> tuple[Int32s, Bytes]:
    leaves, units = cannot.shape[0], rank.shape[0]
    nodes = leaves + merges.shape[0]
    nearest = np.empty((nodes, leaves), np.int32)
    apart = np.empty((nodes, leaves), np.uint8)
    for one in range(leaves):
        for other in range(leaves):
            nearest[one, other] = NEVER
            apart[one, other] = cannot[one, other]
    for unit in range(units):
        row = nearest[leaf[unit]]
        for other in range(units):
            if rank[unit, other] < row[leaf[other]]:
                row[leaf[other]] = rank[unit, other]
    for one in range(leaves):
        nearest[one, one] = NEVER
    for number in range(merges.shape[0]):
        new, one, other = leaves + number, merges[number, 0], merges[number, 1]
        for x in range(leaves):
            nearest[new, x] = min(nearest[one, x], nearest[other, x])
        for x in range(leaves):
            apart[new, x] = apart[one, x] | apart[other, x]
    return nearest, apart


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
