"""Pseudo classes for the first map from distance to probability, without being told how many there are.

The paper's k-means wants the true K. Here the classes are blocks of the k-reciprocal neighbour graph: merged up to the level
at which a logistic model, the same for all collections, says that two blocks are one (`evidence/`, before its first question).
k-means with a given number of classes can be had for comparison. Time and memory as in `evidence/micro.py`.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.evidence.micro import make_micro
from cccount_dist.clustering.evidence.model import prior
from cccount_dist.clustering.evidence.partition import Builder, Evidence
from cccount_dist.clustering.kmeans import kmeans


def pseudo_classes(vectors: NDArray[np.float32], neighbors: NDArray[np.int32], classes: int, seed: int) -> NDArray[np.int64]:
    """Return a class for every item: by k-means if the number of classes is given, by the graph if it is 0."""
    if classes:
        return kmeans(vectors, min(classes, len(vectors)), seed=seed).labels
    _, micro = make_micro(vectors, neighbors)
    nothing = np.empty(0, np.int64)
    blocks = Builder(micro).whole(prior(), 0.0, Evidence(nothing, nothing, np.empty(0))).block
    return blocks[micro.label]
