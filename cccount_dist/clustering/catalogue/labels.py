"""The group of every item as things stand, and how likely it is the right one.

Placed items are labelled as they are placed, others with their likeliest cluster, or alone. An item is in the right group if that
is the main one of its class: of two clusters of one class only the larger is. Time and memory O(32 n).
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.pairs import ClusterPairs
from cccount_dist.clustering.catalogue.state import State


def labels_of(state: State) -> NDArray[np.int64]:
    """Return a label (n,) for every item: the number of a cluster, or one that no cluster has."""
    clusters, rows = state.book.clusters, state.rows
    labels = clusters.label.astype(np.int64)
    left = clusters.unplaced
    best = rows.chance[left].argmax(axis=1)
    chance, cluster = rows.chance[left, best], rows.cluster[left, best]
    new = (chance < rows.new[left]) | (cluster < 0)
    labels[left] = np.where(new, len(clusters.members) + np.arange(len(left)), cluster)
    return labels


def main_chance(state: State, pairs: ClusterPairs) -> NDArray[np.float64]:
    """Return for each cluster how likely no larger one is of the same class."""
    size = state.book.clusters.size
    chance = np.ones(len(state.book.clusters.members))
    smaller = np.where(size[pairs.first] >= size[pairs.second], pairs.second, pairs.first)
    np.multiply.at(chance, smaller, 1.0 - pairs.chance)
    return chance


def surety(state: State, pairs: ClusterPairs) -> NDArray[np.float64]:
    """Return how likely the label of each item (n,) is right."""
    clusters, rows = state.book.clusters, state.rows
    main = main_chance(state, pairs)
    sure = state.own.copy()
    placed, left = clusters.placed, clusters.unplaced
    sure[placed] *= main[clusters.label[placed]]
    best = rows.chance[left].argmax(axis=1)
    chance, cluster = rows.chance[left, best].astype(np.float64), rows.cluster[left, best]
    new = (chance < rows.new[left]) | (cluster < 0)
    sure[left] = rows.new[left]
    sure[left[~new]] = chance[~new] * main[cluster[~new]]
    return sure
