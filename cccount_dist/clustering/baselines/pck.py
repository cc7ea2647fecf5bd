"""Random-P and FFQS (Basu et al. 2003, 2004): PCK-means, links of random pairs or of farthest-first sets. Both are told K."""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.baselines.asking import Asker, BudgetUsed, Labels, Neighbourhoods, Vectors
from cccount_dist.clustering.pckmeans import pckmeans


def random_p(vectors: Vectors, clusters: int, asker: Asker, seed: int) -> Labels:
    """Ask random pairs."""
    random = np.random.default_rng(seed)
    try:
        while True:
            u, v = random.choice(len(vectors), 2, replace=False)
            asker(int(u), int(v))
    except BudgetUsed:
        return constrained(vectors, clusters, asker, seed)


def ffqs(vectors: Vectors, clusters: int, asker: Asker, seed: int) -> Labels:
    """Explore: the item farthest from all that were taken founds a set, until K are known; then Consolidate: random items."""
    random = np.random.default_rng(seed)
    first = int(random.integers(len(vectors)))
    sets = Neighbourhoods(asker, first)
    away = _squared(vectors, first)
    try:
        while np.isfinite(away).any():
            left = np.flatnonzero(away >= 0)
            if not len(left):
                break
            item = int(away.argmax()) if len(sets.sets) < clusters else int(random.choice(left))
            away = np.where(away < 0, -1.0, np.minimum(away, _squared(vectors, item)))
            away[[first, item]] = -1.0
            distance = [np.square(vectors[one] - vectors[item]).sum(axis=1).min() for one in sets.sets]
            sets.place(item, np.argsort(distance, kind="stable"))
    except BudgetUsed:
        pass
    return constrained(vectors, clusters, asker, seed)


def constrained(vectors: Vectors, clusters: int, asker: Asker, seed: int) -> Labels:
    """Return the clusters of PCK-means with all links so far."""
    must, cannot = asker.links()
    return pckmeans(vectors, clusters, must, cannot, seed=seed).labels


def _squared(vectors: Vectors, item: int) -> NDArray[np.float64]:
    return np.asarray(np.square(vectors.astype(np.float64) - vectors[item]).sum(axis=1))
