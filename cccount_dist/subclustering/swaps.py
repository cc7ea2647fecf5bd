"""The best of all K · R swaps, without looking at most of them.

With total[r] = Σ_k pairs[k, r], a swap of c = c_k for r changes the cost by own[r] + total[r] - pairs[k, r] - (own[c] +
total[c] - pairs[k, c]). What a candidate costs at least, own[r] + total[r] - max_k pairs[k, r], does not depend on k: for each
centroid the candidates are looked at in that order, until the next one could not win any more. Sums are kept while swaps are
made: O(R log R) for a swap and O(K R) once. Costs are (infinite pairs, finite sum), compared in this order.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.subclustering.distances import Int64s, compiled

_LEAST = 1e-9  # what a swap must save: below that it is rounding
Costs = NDArray[np.float64]
Marks = NDArray[np.int8]


class Sums:
    """Sums over the centroids of what they cost beside each candidate; pairs, infinite and overlaps are (K, R)."""

    def __init__(self, pairs: Costs, infinite: Marks, overlaps: Marks) -> None:
        self._pairs, self._infinite, self._overlaps = pairs, infinite, overlaps
        self.total = pairs.sum(axis=0)
        self.most = pairs.max(axis=0)  # at least the largest entry of a column
        self.endless = infinite.sum(axis=0, dtype=np.int64)
        self.touched = overlaps.sum(axis=0, dtype=np.int64)

    def without(self, k: int) -> None:
        """Take the row of a centroid out, before it changes."""
        self.total -= self._pairs[k]
        self.endless -= self._infinite[k]
        self.touched -= self._overlaps[k]

    def with_(self, k: int) -> None:
        """Take it in again."""
        self.total += self._pairs[k]
        np.maximum(self.most, self._pairs[k], out=self.most)
        self.endless += self._infinite[k]
        self.touched += self._overlaps[k]


def best_swap(
    own: Costs, pairs: Costs, infinite: Marks, overlaps: Marks, chosen: Int64s, sums: Sums, *, any_overlap: bool
) -> tuple[int, int]:
    """Return which centroid is to be replaced by which candidate; (-1, -1) if no swap lowers the cost.

    A swap must not overlap with more subclusters than what it replaces. With `any_overlap` that does not matter, but only swaps
    that lower the number of infinite pairs count.
    """
    least = own + sums.total - sums.most
    fewest = sums.endless - (sums.endless > 0)
    order = np.lexsort((least, fewest))
    return _search(
        own, pairs, infinite, overlaps, chosen, sums.total, sums.endless, sums.touched, least, fewest, order, any_overlap
    )  # type: ignore[no-any-return, unused-ignore]


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _search(
    own: Costs,
    pairs: Costs,
    infinite: Marks,
    overlaps: Marks,
    chosen: Int64s,
    total: Costs,
    endless: Int64s,
    touched: Int64s,
    least: Costs,
    fewest: Int64s,
    order: Int64s,
    any_overlap: bool,  # noqa: FBT001
) -> tuple[int, int]:
    taken = np.zeros(pairs.shape[1], np.uint8)
    taken[chosen] = 1
    best_k, best_r, fewer, saved = -1, -1, np.int64(0), -_LEAST
    for k in range(pairs.shape[0]):
        c = chosen[k]
        allowed = touched[c] - overlaps[k, c]
        before = own[c] + total[c] - pairs[k, c]
        before_endless = endless[c] - infinite[k, c]
        for r in order:
            possible = fewest[r] - before_endless
            # The margin is for rounding of the sums: no swap is missed for it.
            if possible > fewer or (possible == fewer and least[r] - before >= saved + _LEAST):
                break
            change = endless[r] - infinite[k, r] - before_endless
            if taken[r] or change > fewer or (any_overlap and change >= 0):
                continue
            if not any_overlap and touched[r] - overlaps[k, r] > allowed:
                continue
            difference = own[r] + total[r] - pairs[k, r] - before
            if change < fewer or difference < saved:
                best_k, best_r, fewer, saved = k, r, change, difference
    return best_k, best_r
