"""What a count may take, before the first answer: a guess at the number of clusters from the vectors alone, put into the law.

The guess is the elbow of k-means on at most 1,500 random items. On labelled collections it is off by up to a factor of three, and
the law goes with its square: it says whether a count takes an hour or a month, no more. Some seconds, O(1,500 · d) memory.
"""

import math

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.elbow import kmeans_elbow
from cccount_dist.counting.forecast import Effort, effort_by_law, seen_at_width

SAMPLE = 1500


def guess_clusters(vectors: NDArray[np.float32], degree: NDArray[np.float64], seed: int) -> int:
    """Return the guess for the items that have a vector."""
    items = np.flatnonzero(~np.isnan(degree))
    if len(items) < 3:
        return len(items)
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(2**31 + 1,))))
    chosen = np.sort(random.permutation(items)[:SAMPLE])
    return kmeans_elbow(np.ascontiguousarray(vectors[chosen]), seed=seed).clusters


def guessed_effort(clusters: int, width: float, *, grid: int, wrong_answers: bool) -> Effort:
    """Return what it takes until the interval is `width` times the estimate wide, if there are so many clusters."""
    return effort_by_law(float(clusters), seen_at_width(float(clusters), width), grid=grid, wrong_answers=wrong_answers)


def rounded(number: float) -> int:
    """Two digits: a guess has no more.

    >>> rounded(2347), rounded(81), rounded(0)
    (2300, 81, 0)
    """
    if number < 1:
        return 0
    step = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return int(round(number / step) * step)
