"""NPU (Xiong, Azimi and Fern 2013): ask about the item whose place among the known sets is most uncertain for its price.

A random forest that learns the present clusters says how similar two items are: the share of trees with a common leaf.
P(item in set) is the mean similarity to its members; the item with the largest entropy / expected questions is asked, the
likeliest set first. Then PCK-means again. Told K. O(n) trees and leaves for each item that is placed.
"""

import numpy as np

from cccount_dist.clustering.baselines.asking import Asker, BudgetUsed, Labels, Neighbourhoods, Vectors
from cccount_dist.clustering.baselines.pck import constrained
from cccount_dist.similarity.threads import one_thread

_TREES = 50


def npu(vectors: Vectors, clusters: int, asker: Asker, seed: int) -> Labels:
    """Return the clusters when the budget is used."""
    from sklearn.ensemble import RandomForestClassifier

    random = np.random.default_rng(seed)
    sets = Neighbourhoods(asker, int(random.integers(len(vectors))))
    labels = constrained(vectors, clusters, asker, seed)
    try:
        while len(sets.items) < len(vectors):
            with one_thread():
                forest = RandomForestClassifier(_TREES, random_state=seed).fit(vectors, labels)
                leaves = forest.apply(vectors)
            near = np.stack([np.mean([(leaves == leaves[i]).mean(axis=1) for i in one], axis=0) for one in sets.sets], axis=1)
            share = (near + 1e-9) / (near + 1e-9).sum(axis=1, keepdims=True)
            ranked = -np.sort(-share, axis=1)
            entropy = -(share * np.log(share)).sum(axis=1)
            price = (ranked * np.arange(1, ranked.shape[1] + 1)).sum(axis=1)
            value = entropy / price if share.shape[1] > 1 else random.random(len(vectors))
            value[sets.items] = -1.0
            item = int(value.argmax())
            sets.place(item, np.argsort(-share[item], kind="stable"))
            labels = constrained(vectors, clusters, asker, seed)
    except BudgetUsed:
        pass
    return constrained(vectors, clusters, asker, seed)
