"""The spectral clustering of all similarities: what the ratings of some pairs are measured by. Dense: O(n³) time, 8 n² bytes."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from cccount_dist.clustering.spectral.assigning import place
from cccount_dist.clustering.spectral.graph import Floats
from cccount_dist.clustering.spectral.spectrum import with_signs
from cccount_dist.similarity.threads import one_thread

MOST_COMPLETE = 2_000  # items: some seconds there


def complete_split(similarity: Floats, clusters: int = 2) -> NDArray[np.int64]:
    """Return the groups by all similarities (n, n); the diagonal does not matter.

    >>> complete_split(np.array([[1, 0.9, 0.1], [0.9, 1, 0.2], [0.1, 0.2, 1]])).tolist()
    [0, 0, 1]
    """
    laplacian = np.diag(similarity.sum(axis=1)) - similarity
    with one_thread():
        _, vectors = eigh(laplacian, subset_by_index=[1, clusters - 1], overwrite_a=True)
    return place(with_signs(vectors), None).labels


def complete_groups(vectors: NDArray[np.float32], clusters: int) -> NDArray[np.int64]:
    """Return the groups by all cosines of the vectors, at least 0, as `SimilarityOracle` rates; -1 without a vector."""
    usable = np.isfinite(vectors).all(axis=1)
    labels = np.full(len(vectors), -1, np.int64)
    count = int(usable.sum())
    if 1 < clusters < count:
        some = vectors[usable].astype(np.float64)
        labels[usable] = complete_split(np.maximum(some @ some.T, 0.0), clusters)
    else:
        labels[usable] = np.arange(count) % clusters
    return labels
