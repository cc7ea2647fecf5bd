"""What a better count is worth: the accuracy of k-means with the estimated number of clusters (equation 12, figure 8)."""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.kmeans import kmeans
from cccount_dist.metrics import accuracy
from cccount_dist.similarity.metrics import usable
from storage.errors import InputError


def kmeans_accuracy(vectors: NDArray[np.float32], labels: NDArray[np.integer], estimate: float, *, seed: int = 0) -> float:
    """Return the accuracy of k-means with the estimate rounded to a number that the collection can have.

    >>> x = np.array([[0, 0], [0, 1], [9, 9], [9, 8]], np.float32)
    >>> [kmeans_accuracy(x, np.array([0, 0, 1, 1]), estimate) for estimate in (1.2, 1.9, 99.0)]
    [0.5, 1.0, 0.5]
    """
    if not np.isfinite(estimate):
        raise InputError(f"the number of clusters must be a finite number, not {estimate}")
    rows = usable(vectors)
    items = vectors[rows]
    clusters = int(np.clip(round(estimate), 1, len(items)))
    return accuracy(labels[rows], kmeans(items, clusters, seed=seed).labels)
