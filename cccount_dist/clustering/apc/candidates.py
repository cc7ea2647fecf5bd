"""Pairs of clusters that may be one: those that neighbour edges join, and the nearest centroids. Never all k² of them.

O(n · edges + k · centroids) pairs; the centroids' neighbours take O(k² d / 2) time.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.apc.clusters import Clusters
from cccount_dist.clustering.apc.probability import Ints
from cccount_dist.similarity.inmemory import neighbors_in_memory

EDGES = 20  # neighbours of an item whose clusters are candidates


def candidate_pairs(
    vectors: NDArray[np.float32], neighbors: NDArray[np.int32], clusters: Clusters, centroids: int, least: int = 2
) -> tuple[Ints, Ints]:
    """Return pairs of clusters of `least` and more items, first < second, in order."""
    numbers = np.array([c for c, members in clusters.members.items() if len(members) >= least], np.int64)
    if len(numbers) < 2:
        return numbers[:0], numbers[:0]
    place = np.full(max(clusters.members) + 1, -1, np.int64)
    place[numbers] = np.arange(len(numbers))
    label = place[clusters.label]
    linked = neighbors[:, :EDGES]
    a, b = np.repeat(label, linked.shape[1]), np.where(linked >= 0, label[linked], -1).ravel()
    usable = (a >= 0) & (b >= 0) & (a != b)
    keys = [_keys(a[usable], b[usable], len(numbers))]
    if centroids:
        count = min(centroids, len(numbers) - 1)
        centres = np.stack([vectors[clusters.members[int(c)]].mean(axis=0, dtype=np.float64) for c in numbers])
        near = neighbors_in_memory(centres.astype(np.float32), count, "euclidean").index.astype(np.int64)
        keys.append(_keys(np.repeat(np.arange(len(numbers)), count), near.ravel(), len(numbers)))
    key = np.unique(np.concatenate(keys))
    return numbers[key // len(numbers)], numbers[key % len(numbers)]


def _keys(a: Ints, b: Ints, count: int) -> Ints:
    return np.unique(np.minimum(a, b) * count + np.maximum(a, b))
