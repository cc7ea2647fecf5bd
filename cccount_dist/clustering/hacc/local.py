"""The paper's H2: an answer is taken to change only the clusters of the two items. An approximation, and labelled as one.

"Different" cuts a cluster's spanning tree at the link that joined the two items; "same" unites two clusters. So J has a closed
form and nothing is simulated. Time O(n²), memory 4 m² bytes beside the order and the beliefs.
"""

import numpy as np

from cccount_dist.clustering.hacc.engine import Beliefs, Engine, pairs_within
from cccount_dist.clustering.hacc.forest import Forest, Int32s, Int64s, compiled
from cccount_dist.clustering.hacc.groups import NONE, SPLIT, Groups
from cccount_dist.clustering.hacc.order import Order


class LocalEngine(Engine):
    """Approximate scores, with the interface of the exact engine."""

    def __init__(self, order: Order, forest: Forest, beliefs: Beliefs) -> None:
        self.forest = forest
        self.beliefs = beliefs
        self.simulated = 0
        self._threads = 1
        self._cluster = forest.cluster_of_nodes()
        self._together = pairs_within(forest)
        rank = forest.merges[: forest.kept, 2]
        ends = np.stack((forest.leaf[order.first[rank]], forest.leaf[order.second[rank]]), axis=1)
        lost, of_pair = _cuts(forest.merges, ends, forest.low, forest.high, forest.weight, forest.leaves)
        table = np.full((forest.kept, 4), SPLIT, np.int32)
        table[:, 0] = np.arange(forest.kept)
        table[:, 1:3] = forest.merges[: forest.kept, :2]
        self._groups = Groups(table, of_pair)
        self._jaccard = (self._together - lost) / max(self._together, 1)

    def _last_merge(self) -> tuple[Int64s, int]:
        clusters = self._cluster[: self.forest.leaves]
        size = np.bincount(clusters, weights=self.forest.weight[: self.forest.leaves]).astype(np.int64)
        return size[clusters], 0

    def _simulate(self, *_: object, **__: object) -> None:
        """Nothing is simulated: every value has a closed form."""


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _cuts(merges: Int32s, ends: Int32s, low: Int32s, high: Int32s, weight: Int64s, leaves: int) -> tuple[Int64s, Int32s]:
    """Return for each merge that is kept how many pairs of items its link holds together, and the merge that joins each pair."""
    kept = ends.shape[0]
    of_pair = np.full((leaves, leaves), NONE, np.int32)
    head = np.full(leaves, -1, np.int32)  # links of a leaf, chained; link 2 t leads from ends[t, 0] to ends[t, 1], 2 t + 1 back
    following = np.empty(2 * kept, np.int32)
    for t in range(kept):
        one, other = merges[t, 0], merges[t, 1]
        of_pair[low[one] : high[one], low[other] : high[other]] = t
        for side in range(2):
            following[2 * t + side] = head[ends[t, side]]
            head[ends[t, side]] = 2 * t + side
    # Leaves of each tree from its root outwards; the weight behind a link is then summed from the outside in.
    queue = np.empty(leaves, np.int32)
    by = np.full(leaves, -1, np.int32)  # the link that led to a leaf
    tree = np.full(leaves, -1, np.int32)
    length = 0
    for root in range(leaves):
        if tree[root] >= 0:
            continue
        tree[root] = root
        start = length
        queue[length] = root
        length += 1
        while start < length:
            leaf = queue[start]
            start += 1
            link = head[leaf]
            while link >= 0:
                far = ends[link >> 1, 1 - (link & 1)]
                if tree[far] < 0:
                    tree[far] = root
                    by[far] = link
                    queue[length] = far
                    length += 1
                link = following[link]
    behind = weight[:leaves].copy()
    for place in range(leaves - 1, -1, -1):
        leaf = queue[place]
        if by[leaf] >= 0:
            behind[ends[by[leaf] >> 1, by[leaf] & 1]] += behind[leaf]
    lost = np.empty(kept, np.int64)
    for leaf in range(leaves):
        if by[leaf] >= 0:
            lost[by[leaf] >> 1] = behind[leaf] * (behind[tree[leaf]] - behind[leaf])
    return lost, of_pair
