"""k-means by scikit-learn, seeded and on one thread, so that a run can be repeated on the same kind of machine.

Up to 10,000 items Lloyd's algorithm, O(n k d) for a round; above that mini-batches, and one pass over all items for the
labels. Memory O(n + k d), and a block of distances; the vectors may be a memory map.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.threads import one_thread
from storage.errors import InputError

_LLOYD_ITEMS = 10_000
_BLOCK_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class KMeansFit:
    """Where the items went, and the within-cluster sum of squares J_km of the paper."""

    centres: NDArray[np.float64]  # (k, d)
    labels: NDArray[np.int64]  # (n,)
    objective: float


def kmeans(vectors: NDArray[np.float32], clusters: int, *, seed: int = 0) -> KMeansFit:
    """Return k clusters of the rows, none of which may have NaN.

    >>> kmeans(np.array([[0, 0], [0, 1], [9, 9]], np.float32), 2).objective
    0.5
    """
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning

    items = len(vectors)
    if not 1 <= clusters <= items:
        raise InputError(f"{items} items cannot be put into {clusters} clusters")
    options = {"n_clusters": clusters, "n_init": 1, "random_state": seed}
    if items <= _LLOYD_ITEMS:
        model = KMeans(max_iter=100, **options)
    else:
        model = MiniBatchKMeans(
            max_iter=20, batch_size=max(4096, 2 * clusters), init_size=min(items, 3 * max(clusters, 4096)), **options
        )
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters: some clusters stay empty
        model.fit(vectors)
        centres = np.asarray(model.cluster_centers_, np.float64)
        labels, squared = nearest_centres(vectors, centres)
    return KMeansFit(centres, labels, float(squared.sum()))


def squared_distances(vectors: NDArray[np.float32], centres: NDArray[np.float64]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield blocks of (rows, k) squared distances, and which rows they are of."""
    rows = max(1, _BLOCK_BYTES // (8 * max(centres.shape)))
    lengths = np.square(centres).sum(axis=1)
    for start in range(0, len(vectors), rows):
        block = vectors[start : start + rows].astype(np.float64)
        squared = np.square(block).sum(axis=1)[:, None] - 2.0 * (block @ centres.T) + lengths
        yield slice(start, start + len(block)), np.maximum(squared, 0.0)


def nearest_centres(vectors: NDArray[np.float32], centres: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nearest centre of every row, and its squared distance."""
    labels, squared = np.empty(len(vectors), np.int64), np.empty(len(vectors))
    for rows, block in squared_distances(vectors, centres):
        labels[rows] = block.argmin(axis=1)
        squared[rows] = block.min(axis=1)
    return labels, squared
