"""Random-S: constrained spectral clustering with links of random pairs, one of the baselines of the APC paper. Told K.

Links are written into the neighbour graph of `urasc.py` as 1 and 0. O(n K² + n k) time once.
"""

import numpy as np

from cccount_dist.clustering.baselines.asking import Asker, BudgetUsed, Labels, Vectors
from cccount_dist.clustering.baselines.urasc import linked_places, neighbor_graph
from cccount_dist.clustering.kmeans import kmeans


def random_s(vectors: Vectors, clusters: int, asker: Asker, seed: int) -> Labels:
    """Ask random pairs, then group by the eigenvectors of the graph that has them in it."""
    random = np.random.default_rng(seed)
    try:
        while asker.left:
            u, v = random.choice(len(vectors), 2, replace=False)
            asker(int(u), int(v))
    except BudgetUsed:
        pass
    return kmeans(linked_places(neighbor_graph(vectors), asker, clusters, seed), clusters, seed=seed).labels
