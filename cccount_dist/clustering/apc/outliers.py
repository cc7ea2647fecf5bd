"""Outliers: FPC's clusters of one or two items. Whom to ask them about, and where they go while nobody was asked.

FPC leaves an item alone if its log-odds with all members of every cluster add up to less than nothing; P₊ with the nearest
members often says more. O(outliers · k).
"""

import numpy as np

from cccount_dist.clustering.apc.clusters import Clusters
from cccount_dist.clustering.apc.probability import Floats, Ints, distances
from cccount_dist.clustering.apc.steps import Ground

OUTLIER = 2  # items of a cluster up to which it is one


def attached(ground: Ground, label: Ints, loose: Ints) -> Ints:
    """Return the labels with each loose item in the cluster of highest P₊, if that is high enough."""
    out = label.copy()
    is_loose = np.zeros(len(label), bool)
    is_loose[loose] = True
    for item in loose.tolist():
        near, p = _likeness(ground, item)
        firm = ~is_loose[near]
        near, p = label[near[firm]], p[firm]
        best = ground.parameters.attach
        for cluster in dict.fromkeys(near.tolist()):  # nearest first: it wins a tie
            closest = p[near == cluster][: ground.parameters.nearest]
            plus = (1.0 + float(closest.sum())) / (2.0 + len(closest))
            if plus > best:
                best, out[item] = plus, cluster
    return out


def target(ground: Ground, clusters: Clusters, number: int, refused: set[int]) -> tuple[int, float] | None:
    """Return the cluster of the nearest neighbour that is no outlier and not refused, and the probability of that pair."""
    near, p = _likeness(ground, int(clusters.members[number][0]))
    for other, same in zip(clusters.label[near].tolist(), p.tolist(), strict=True):
        if other != number and other not in refused and clusters.size(other) > OUTLIER:
            return other, same
    return None


def _likeness(ground: Ground, item: int) -> tuple[Ints, Floats]:
    """The neighbours of an item, and the probabilities that they are the same."""
    near = ground.neighbors[item][ground.neighbors[item] >= 0]
    squared = distances(ground.vectors, np.full(len(near), item), near)
    return near, ground.pairs.same[ground.pairs.bins(squared)]
