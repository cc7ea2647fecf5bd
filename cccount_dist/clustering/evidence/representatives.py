"""Which two items stand for two sets of micro-clusters: large micro-clusters first, central items first, no pair twice."""

from collections.abc import Container, Sequence

import numpy as np

from cccount_dist.clustering.evidence.micro import Micro
from cccount_dist.clustering.evidence.partition import Ints

SIDE = 8  # groups of a side that are asked about
_DEPTH = 3  # items of each
STANDING = SIDE * _DEPTH  # micro-clusters that stand for a side, at most


def side(micro: Micro, micros: Ints) -> tuple[int, ...]:
    """Return micro-clusters that stand for a set: the most central one of each of the largest groups, then the next ones."""
    groups, first = np.unique(micro.group[micros], return_index=True)
    largest = groups[np.lexsort((groups, -micro.group_size[micros[first]]))][:SIDE]
    chosen = micros[np.isin(micro.group[micros], largest)]
    return tuple(chosen[np.lexsort((chosen, -micro.group_size[chosen], micro.rank[chosen]))][:STANDING].tolist())


def pick(micro: Micro, left: Sequence[int], right: Sequence[int], asked: Container[tuple[int, int]]) -> tuple[int, int] | None:
    """Return two items that were not asked about together; None if there are none left among the central ones.

    A repeated question takes other items of other micro-clusters: the pairs are tried along the diagonals.
    """
    mine, other = _items(micro, left), _items(micro, right)
    for total in range(len(mine) + len(other) - 1):
        low, high = max(0, total - len(other) + 1), min(total, len(mine) - 1)
        for x in sorted(range(low, high + 1), key=lambda x: abs(2 * x - total)):
            u, v = mine[x], other[total - x]
            if (min(u, v), max(u, v)) not in asked:
                return u, v
    return None


def _items(micro: Micro, micros: Sequence[int]) -> list[int]:
    return [
        int(micro.members[micro.start[one] + depth])
        for depth in range(_DEPTH)
        for one in micros
        if micro.start[one] + depth < micro.start[one + 1]
    ]
