"""Questions fall into groups, and all questions of a group would have the same effect: one simulation serves them all.

SPLIT: both items in one cluster, joined by merge t of nodes X and Y. "Different" forbids that merge, whichever pair of X × Y it
was said of. JOIN: items of different clusters. "Same" changes nothing but gluing the two trees together until the first merge
t = (X, Y) that the glued tree X + Z refuses, because Y and Z are cannot-linked; from there on only t, X, Y, Z matter.
Pairs that never meet such a merge have a closed form. Time and memory O(m²): each pair is in one group at most.
"""

from dataclasses import dataclass

import numpy as np

from cccount_dist.clustering.hacc.forest import Forest, Int32s, compiled
from cccount_dist.clustering.hacc.history import History

SPLIT = -1  # in place of Z
NONE = -1  # group of a pair that has a closed form


@dataclass(frozen=True, slots=True)
class Groups:
    """Every group of questions, and the group of every pair of leaves."""

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
