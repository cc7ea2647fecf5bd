"""What vectors and neighbours alone say (section 4 of the NIS paper), and what a better count is worth (equation 12, figure 8).

The three counts without people run one after the other; nearly all of the time goes to k-means with every k that the elbow tries.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.agreement import accuracy
from cccount_dist.clustering.elbow import Elbow, kmeans_elbow
from cccount_dist.clustering.kmeans import kmeans
from cccount_dist.clustering.pckmeans import pckmeans
from cccount_dist.counting.baselines.components import components_elbow
from cccount_dist.counting.baselines.meanshift import mean_shift_modes
from cccount_dist.similarity.metrics import usable
from storage.errors import InputError


def counts_without_people(
    vectors: NDArray[np.float32],
    index: NDArray[np.int32],
    similarity: NDArray[np.float32],
    *,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    elbow: Elbow | None = None,
) -> Iterator[tuple[str, int]]:
    """Yield the name of each method and the number of clusters that it finds.

    Parameters
    ----------
    vectors : (n, d), prepared; a row with NaN is left out
    index, similarity : (n, k), the stored neighbours, most similar first
    elbow : of k-means, if it is there already
    progress : called with the values of k that k-means has tried, and how many there are; it takes nearly all of the time
    """
    yield "mean-shift", mean_shift_modes(vectors, index).clusters
    yield "connected components", components_elbow(vectors, index, similarity).clusters
    yield "k-means, elbow", (elbow or kmeans_elbow(vectors, seed=seed, progress=progress)).clusters


def pckmeans_accuracy(
    vectors: NDArray[np.float32],
    labels: NDArray[np.integer],
    estimate: float,
    links: Sequence[tuple[int, int, float]],
    *,
    seed: int = 0,
) -> float:
    """Return the accuracy of PCK-means with an estimated number of clusters and the answers that it rests on (figure 8).

    Parameters
    ----------
    vectors : (n, d), every row with a vector
    links : u, v and 1 (same) or 0 (different): what NIS, or any other campaign, asked

    >>> x = np.array([[0, 0], [0, 1], [9, 9], [9, 8]], np.float32)
    >>> pckmeans_accuracy(x, np.array([0, 0, 1, 1]), 2.2, [(0, 1, 1.0), (0, 2, 0.0)])
    1.0
    """
    clusters = int(np.clip(round(estimate), 1, len(vectors)))
    must, cannot = (np.array([(u, v) for u, v, said in links if said == value], np.int64).reshape(-1, 2) for value in (1.0, 0.0))
    return accuracy(labels, pckmeans(vectors, clusters, must, cannot, seed=seed).labels)


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
