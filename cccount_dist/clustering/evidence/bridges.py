"""Pairs of blocks that no pair of micro-clusters connects: the nearest centroids of blocks, looked for when all blocks are new.

The parts of a class may be so far from each other that none of their micro-clusters are candidates, while the centroids of the
parts are near: without these bridges nobody would ever be asked about them. A bridge is a pair of micro-clusters, so it lasts
when its blocks are dissolved. Memory O(blocks · 10), no matrix of blocks; time O(blocks² d / 2) in tiles.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.inmemory import neighbors_in_memory

NEAREST = 10  # centroids of other blocks that each block is compared with

Ints = NDArray[np.int64]


def bridges(size: NDArray[np.float64], total: NDArray[np.float64], heads: Ints) -> tuple[Ints, Ints]:
    """Return pairs of micro-clusters, first < second, in order, each once: one for every two blocks with near centroids.

    Parameters
    ----------
    size, total : (b,) items and (b, d) sum of the vectors of each block
    heads : (b,) the micro-cluster that stands for each block
    """
    count = min(NEAREST, len(size) - 1)
    if count < 1:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    near = neighbors_in_memory((total / size[:, None]).astype(np.float32), count, "euclidean").index
    a, b = np.repeat(heads, count), heads[near.ravel()]
    low, high = np.minimum(a, b), np.maximum(a, b)
    most = int(high.max()) + 1
    key = np.unique(low * most + high)
    return key // most, key % most
