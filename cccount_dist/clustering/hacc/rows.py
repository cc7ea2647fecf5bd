"""Rows of nearness, and the loops over them, written so that the compiler makes vector instructions of them: here the time goes.

Nearness of two leaves is NEAREST - rank, so the nearest pair has the largest number. A negative number means blocked: the leaf
belongs to the tree itself, or to one that it may not join. The row of two trees that become one follows from their two rows
alone: the larger number, and blocked if either is. Time O(m).
"""

import numpy as np

from cccount_dist.clustering.hacc.forest import Int32s, compiled

NEAREST = 2**31 - 2
BLOCKED = np.int32(-(2**31))  # the sign bit


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
