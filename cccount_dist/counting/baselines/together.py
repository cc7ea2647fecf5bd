"""The three counts without people, one after the other: what vectors and neighbours alone say (section 4 of the NIS paper)."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.baselines.components import components_elbow
from cccount_dist.counting.baselines.elbow import kmeans_elbow
from cccount_dist.counting.baselines.meanshift import mean_shift_modes


def counts_without_people(
    vectors: NDArray[np.float32],
    index: NDArray[np.int32],
    similarity: NDArray[np.float32],
    *,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[tuple[str, int]]:
    """Yield the name of each method and the number of clusters that it finds.

    Parameters
    ----------
    vectors : (n, d), prepared; a row with NaN is left out
    index, similarity : (n, k), the stored neighbours, most similar first
    progress : called with the values of k that k-means has tried, and how many there are; it takes nearly all of the time
    """
    yield "mean-shift", mean_shift_modes(vectors, index).clusters
    yield "connected components", components_elbow(vectors, index, similarity).clusters
    yield "k-means, elbow", kmeans_elbow(vectors, seed=seed, progress=progress).clusters
