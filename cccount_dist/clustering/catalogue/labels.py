"""The group of every item as things stand, and how likely it is the right one.

Placed items are labelled as they are placed, others with their likeliest cluster, or alone. An item is in the right group if that
is the main one of its class: of two clusters of one class only the larger is. Time and memory O(32 n).
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.pairs import ClusterPairs
from cccount_dist.clustering.catalogue.state import State
from cccount_dist.clustering.evidence.kernels import OPTIONS

CLEAR = 0.6  # an unplaced item is given to a cluster that is so likely among the known ones …
AGAINST_NEW = 0.25  # … and so likely beside "new"


def labels_of(state: State) -> NDArray[np.int64]:
    """Return a label (n,) for every item: the number of a cluster, or one that no cluster has."""
    clusters = state.book.clusters
    labels = clusters.label.astype(np.int64)
    left = clusters.unplaced
    cluster, _ = _likeliest(state, left)
    labels[left] = np.where(cluster < 0, len(clusters.members) + np.arange(len(left)), cluster)
    return labels


def guessed(state: State, item: int) -> int:
    """Return the cluster that an unplaced item is labelled with; -1 for none."""
    return int(_likeliest(state, np.array([item]))[0][0])


def _likeliest(state: State, left: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the cluster that each unplaced item is labelled with, -1 for none, and how likely that is right."""
    rows, votes = state.rows, state.book.votes
    chances = rows.chance[left]
    _drop_refused(
        left, rows.cluster[left], state.book.clusters.alias, votes.head, votes.following, votes.cluster, votes.said, chances
    )
    best = chances.argmax(axis=1)
    every = np.arange(len(left))
    chance, cluster = chances[every, best].astype(np.float64), rows.cluster[left, best].astype(np.int64)
    new = rows.new[left].astype(np.float64)
    alone = (cluster < 0) | (chance < CLEAR * (1 - new)) | (chance < AGAINST_NEW * new)
    return np.where(alone, -1, cluster), np.where(alone, new, chance)


@njit(**OPTIONS)
def _drop_refused(left, cluster, alias, head, following, voted, said, chances):
    """No item is labelled with a cluster beside which it was mostly not marked."""
    for a in range(len(left)):
        for s in range(cluster.shape[1]):
            if cluster[a, s] < 0 or head[left[a]] < 0:
                break
            yes, no, place = 0.0, 0.0, head[left[a]]
            while place >= 0:
                if alias[voted[place]] == cluster[a, s]:
                    yes, no = yes + said[place, 0], no + said[place, 1]
                place = following[place]
            if no > yes:
                chances[a, s] = 0.0


def main_chance(state: State, pairs: ClusterPairs) -> NDArray[np.float64]:
    """Return for each cluster how likely no larger one is of the same class."""
    size = state.book.clusters.size
    chance = np.ones(len(state.book.clusters.members))
    smaller = np.where(size[pairs.first] >= size[pairs.second], pairs.second, pairs.first)
    np.multiply.at(chance, smaller, 1.0 - pairs.chance)
    return chance


def surety(state: State, pairs: ClusterPairs) -> NDArray[np.float64]:
    """Return how likely the label of each item (n,) is right."""
    clusters = state.book.clusters
    main = main_chance(state, pairs)
    sure = state.own.copy()
    placed, left = clusters.placed, clusters.unplaced
    sure[placed] *= main[clusters.label[placed]]
    cluster, chance = _likeliest(state, left)
    sure[left] = chance * np.append(main, 1.0)[cluster]  # -1 is the last one
    return sure


def purity(state: State) -> NDArray[np.float64]:
    """Return how likely each item (n,) is of the class that its group is taken for; one that is alone surely is."""
    pure = state.own.copy()
    left = state.book.clusters.unplaced
    cluster, chance = _likeliest(state, left)
    pure[left] = np.where(cluster < 0, 1.0, chance)
    return pure
