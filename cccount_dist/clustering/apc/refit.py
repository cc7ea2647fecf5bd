"""The map from distance to probability learned again, with what people said in the place of the pseudo classes where it is known.

An answer about two central items speaks for their clusters: a pair of items inside a cluster that people joined is the same, a
pair across two clusters that people found different is different; all others keep their pseudo label. O(pairs of the fit).
"""

import numpy as np

from cccount_dist.clustering.apc.clusters import Clusters
from cccount_dist.clustering.apc.probability import FitPairs, Ints, PairMap, fit_map
from cccount_dist.sampling.types import SAME

Link = tuple[int, int, float]


def refitted(sample: FitPairs, pseudo: Ints, clusters: Clusters, links: list[Link]) -> PairMap:
    """Return the map after these answers."""
    label = np.unique(clusters.label, return_inverse=True)[1].astype(np.int64)
    count = int(label.max()) + 1
    first, second = label[sample.first], label[sample.second]
    same = pseudo[sample.first] == pseudo[sample.second]
    ends = label[np.array([(u, v) for u, v, _ in links], np.int64).reshape(-1, 2)]
    yes = np.array([value == SAME for _, _, value in links], bool)
    joined = np.zeros(count, bool)
    joined[ends[yes & (ends[:, 0] == ends[:, 1]), 0]] = True
    same |= (first == second) & joined[first]
    apart = ends[~yes & (ends[:, 0] != ends[:, 1])]
    keys = np.unique(apart.min(axis=1) * count + apart.max(axis=1))
    same &= ~np.isin(np.minimum(first, second) * count + np.maximum(first, second), keys)
    return fit_map(sample.squared, same)
