"""What is believed of must-linked units is believed of all of them: the mean over the pairs of two leaves, in place of each pair.

The paper's P is fixed, so that after "same" about an item that k-means misplaced it asks about it again, once for each item
of its true cluster. Pairs that are not to be asked stay so. Time O(n · units in leaves of several), memory n² bytes.
"""

import numpy as np

from cccount_dist.clustering.hacc.engine import EXCLUDED, Beliefs
from cccount_dist.clustering.hacc.forest import Bytes, Forest, Int32s, compiled


def pooled(beliefs: Beliefs, forest: Forest) -> Beliefs:
    """Return the beliefs about pairs of units of different leaves, each the mean of its two leaves."""
    if forest.leaves == len(forest.leaf):
        return beliefs
    return Beliefs(_pool(beliefs.agreements, forest.leaf, forest.leaves), beliefs.runs)


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _pool(agreements: Bytes, leaf: Int32s, leaves: int) -> Bytes:
    units = leaf.shape[0]
    found = agreements.copy()
    head = np.full(leaves, -1, np.int32)  # the units of a leaf, chained
    following = np.empty(units, np.int32)
    for unit in range(units):
        following[unit] = head[leaf[unit]]
        head[leaf[unit]] = unit
    total, pairs = np.empty(leaves, np.int64), np.empty(leaves, np.int64)
    for one in range(leaves):
        if following[head[one]] < 0:
            continue
        total[:] = 0
        pairs[:] = 0
        i = head[one]
        while i >= 0:
            for j in range(units):
                if agreements[i, j] != EXCLUDED:
                    total[leaf[j]] += agreements[i, j]
                    pairs[leaf[j]] += 1
            i = following[i]
        i = head[one]
        while i >= 0:
            for j in range(units):
                other = leaf[j]
                if other != one and agreements[i, j] != EXCLUDED:
                    found[i, j] = found[j, i] = (2 * total[other] + pairs[other]) // (2 * pairs[other])
            i = following[i]
    return found
