"""COBRA-like merging of centroids (Van Craenendonck et al. 2017): k-means super-instances, then the closest pairs are asked.

Many k-means clusters, each spoken for by the item nearest to its centre; pairs of groups are asked in the order of their
distance, "same" joins them. K is not needed. Super-instances: half the budget, so that about two questions go to each.
"""

import numpy as np

from cccount_dist.clustering.baselines.asking import Asker, BudgetUsed, Labels, Vectors
from cccount_dist.clustering.kmeans import kmeans


def cobra(vectors: Vectors, clusters: int, asker: Asker, seed: int) -> Labels:  # noqa: ARG001  one signature for all
    """Return the clusters when the budget is used, or when every pair of groups is known."""
    budget = asker.left
    fitted = kmeans(vectors, min(max(2, budget // 2), len(vectors)), seed=seed)
    count = len(fitted.centres)
    medoid = np.array([_nearest(vectors, fitted.labels, fitted.centres[number], number) for number in range(count)])
    distance = np.square(vectors[medoid][:, None].astype(np.float64) - vectors[medoid][None]).sum(axis=2)
    first, second = np.triu_indices(count, 1)
    group = np.arange(count)
    try:
        for at in np.argsort(distance[first, second], kind="stable"):
            a, b = group[first[at]], group[second[at]]
            if a != b and asker(int(medoid[first[at]]), int(medoid[second[at]])):
                group[group == b] = a
    except BudgetUsed:
        pass
    return group[fitted.labels]


def _nearest(vectors: Vectors, labels: Labels, centre: np.ndarray[tuple[int], np.dtype[np.float64]], number: int) -> int:
    members = np.flatnonzero(labels == number)
    if not len(members):  # k-means left it empty: any item will do, for it stands for nobody
        return 0
    return int(members[np.square(vectors[members] - centre).sum(axis=1).argmin()])
