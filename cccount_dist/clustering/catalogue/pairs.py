"""How likely two clusters are the same: members of one judged with their own cluster left out, and votes.

Time: the rows of at most five members of each cluster, O(160 p K); memory O(160 K).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.state import ON_GROUP, State

JUDGES = 5  # members of a cluster that are asked
MOST = 0.95  # before votes


@dataclass(frozen=True, slots=True)
class ClusterPairs:
    """Pairs of clusters that may be the same, `first` < `second`."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    prior: NDArray[np.float64]  # before calibration and votes
    chance: NDArray[np.float64]


def cluster_pairs(state: State) -> ClusterPairs:
    """Return the pairs of which at least one member thinks that they may be the same."""
    book, clusters = state.book, state.book.clusters
    live = clusters.live
    none = np.zeros(0, np.int64)
    if len(live) < 2:
        return ClusterPairs(none, none, none.astype(np.float64), none.astype(np.float64))
    judges = [_spread(clusters.members[cluster]) for cluster in live.tolist()]
    count = np.array([len(one) for one in judges])
    owner = np.repeat(live, count)
    rows = state.score(np.concatenate(judges), leave=True)
    at, place = np.nonzero(rows.cluster >= 0)
    other = rows.cluster[at, place].astype(np.int64)
    width = len(clusters.members)
    directed, inverse = np.unique(owner[at] * width + other, return_inverse=True)
    share = rows.chance[at, place] / np.repeat(count, count)[at]
    mean = np.bincount(inverse, weights=share)
    a, b = np.divmod(directed, width)
    keys, inverse = np.unique(np.minimum(a, b) * width + np.maximum(a, b), return_inverse=True)
    prior = np.zeros(len(keys))
    np.maximum.at(prior, inverse, mean)
    prior = np.clip(prior, 1e-4, MOST)
    slope, shift = state.fit.platt[ON_GROUP].tolist()
    odds = slope * np.log(prior / (1 - prior)) + shift
    if book.votes.pairs:
        voted = np.array([pair[0] * width + pair[1] for pair in book.votes.pairs])
        said = np.array(list(book.votes.pairs.values()))
        known = np.minimum(np.searchsorted(keys, voted), len(keys) - 1)
        found = keys[known] == voted
        odds[known[found]] += said[found] @ [state.fit.rates.mark, state.fit.rates.no_mark]
    first, second = np.divmod(keys, width)
    return ClusterPairs(first, second, prior, 1.0 / (1.0 + np.exp(-odds)))


def _spread(members: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(members) <= JUDGES:
        return members
    return members[np.linspace(0, len(members) - 1, JUDGES).astype(np.int64)]
