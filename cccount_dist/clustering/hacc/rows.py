"""Loops over the rows of dirty trees, written so that the compiler turns them into vector instructions: here all the time goes.

A row has the smallest rank to each leaf; a blocked leaf has NEVER in both arrays. Ranks are below NEVER, which has all bits set:
`max(rank, blocked)` blocks, and `|` unites what is blocked. Time O(m).
"""

import numpy as np

from cccount_dist.clustering.hacc.forest import Bytes, Int32s, compiled
from cccount_dist.clustering.hacc.order import NEVER

_NEVER = np.int32(NEVER)


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def smallest(ranks: Int32s) -> int:
    best = _NEVER
    for x in range(ranks.shape[0]):
        best = min(best, ranks[x])
    return best  # type: ignore[return-value]


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def start_row(ranks: Int32s, blocked: Int32s, rank: Int32s, apart: Bytes) -> None:
    """Write a clean tree's row."""
    for x in range(ranks.shape[0]):
        bar = np.int32(apart[x]) * _NEVER
        blocked[x] = bar
        ranks[x] = max(rank[x], bar)


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def add_clean(ranks: Int32s, blocked: Int32s, rank: Int32s, apart: Bytes) -> int:
    """Take a clean tree's row in, and return the smallest rank."""
    best = _NEVER
    for x in range(ranks.shape[0]):
        bar = blocked[x] | (np.int32(apart[x]) * _NEVER)
        value = max(min(ranks[x], rank[x]), bar)
        blocked[x] = bar
        ranks[x] = value
        best = min(best, value)
    return best  # type: ignore[return-value]


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def add_dirty(ranks: Int32s, blocked: Int32s, other_ranks: Int32s, other_blocked: Int32s) -> int:
    """Take another dirty tree's row in, and return the smallest rank."""
    best = _NEVER
    for x in range(ranks.shape[0]):
        bar = blocked[x] | other_blocked[x]
        value = max(min(ranks[x], other_ranks[x]), bar)
        blocked[x] = bar
        ranks[x] = value
        best = min(best, value)
    return best  # type: ignore[return-value]


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def block(ranks: Int32s, blocked: Int32s, low: int, high: int) -> None:
    for x in range(low, high):
        ranks[x] = _NEVER
        blocked[x] = _NEVER


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def is_blocked(blocked: Int32s, low: int, high: int) -> bool:
    any_ = np.int32(0)
    for x in range(low, high):
        any_ |= blocked[x]
    return any_ != 0
