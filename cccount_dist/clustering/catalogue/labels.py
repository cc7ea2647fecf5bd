"""The group of every item as things stand: placed items as they are placed, others with their likeliest cluster, or alone.

Time and memory O(32 n).
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.state import State


def labels_of(state: State) -> NDArray[np.int64]:
    """Return a label (n,) for every item."""
    clusters, rows = state.book.clusters, state.rows
    labels = clusters.label.astype(np.int64)
    left = clusters.unplaced
    best = rows.chance[left].argmax(axis=1)
    chance, cluster = rows.chance[left, best], rows.cluster[left, best]
    new = (chance < rows.new[left]) | (cluster < 0)
    labels[left] = np.where(new, len(clusters.members) + np.arange(len(left)), cluster)
    return labels


def surety(state: State) -> NDArray[np.float64]:
    """Return how likely the label of each item (n,) is right."""
    clusters, rows = state.book.clusters, state.rows
    sure = state.own.copy()
    left = clusters.unplaced
    sure[left] = np.maximum(rows.chance[left].max(axis=1), rows.new[left])
    return sure
