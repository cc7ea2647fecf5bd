"""k-means with the elbow: section 4 of the NIS paper, "Baselines": the k from which on the objective falls evenly.

"Approximately constant slope" is read as the point farthest below the chord of the curve, both axes from 0 to 1. The answer
depends on the largest k, which is n/8, at most 2,048. Time O(n k d) for each of 16 values of k; memory as in `kmeans.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.kmeans import KMeansFit, kmeans
from cccount_dist.similarity.metrics import usable
from storage.errors import InputError

MOST_CLUSTERS = 2048
_VALUES = 16


@dataclass(frozen=True, slots=True)
class Elbow:
    """The curve, and the clustering at its elbow. `fit.labels` are of the items with a vector, in order."""

    clusters: int
    tried: tuple[int, ...]
    objective: tuple[float, ...]
    fit: KMeansFit


def knee(x: Sequence[float], y: Sequence[float]) -> int:
    """Return the index of the point of a falling curve that is farthest below the chord from its first to its last point.

    >>> knee([1, 2, 3, 10], [10, 3, 2, 1])
    1
    """
    across = np.asarray(x, float) - x[0]
    down = np.asarray(y, float) - y[-1]
    if len(x) < 3 or across[-1] == 0 or down[0] <= 0:
        return 0
    return int(np.argmin(across / across[-1] + down / down[0]))


def cluster_grid(items: int, most: int | None = None) -> list[int]:
    """Return up to 16 values of k from 2 to n/8, each by the same factor larger than the one before.

    >>> cluster_grid(100), cluster_grid(3)
    ([2, 3, 4, 5, 6, 7, 8, 9, 11, 12], [2])
    """
    largest = max(2, min(most or min(items // 8, MOST_CLUSTERS), items))
    return sorted({int(k) for k in np.round(np.geomspace(2, largest, _VALUES))})


def kmeans_elbow(
    vectors: NDArray[np.float32], *, seed: int = 0, most: int | None = None, progress: Callable[[int, int], None] | None = None
) -> Elbow:
    """Return the number of clusters at the elbow of k-means on prepared vectors; rows with NaN are left out."""
    rows = usable(vectors)
    items = vectors if rows.all() else vectors[rows]
    if len(items) < 2:
        raise InputError(f"k-means needs at least 2 items with a vector, not {len(items)}")
    grid = cluster_grid(len(items), most)
    fits: list[KMeansFit] = []
    curve: list[float] = []
    for number, k in enumerate(grid):
        fits.append(kmeans(items, k, seed=seed))
        curve.append(fits[-1].objective)
        if progress is not None:
            progress(number + 1, len(grid))
    best = knee(grid, curve)
    return Elbow(grid[best], tuple(grid), tuple(curve), fits[best])
