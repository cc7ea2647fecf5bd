"""How good a clustering is, by the two measures of the paper: Jaccard's coefficient of pairs, and the ratio of well placed items.

Items with a negative label on either side do not count for pairs. Time O(n log n), memory O(clusters · classes).
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.metrics import accuracy
from storage.errors import InputError


def jcc(one: NDArray[np.integer], other: NDArray[np.integer]) -> float:
    """Return JCC = SS / (SS + SD + DS): pairs together in both, over pairs together in either; 1 if no pair is in either.

    >>> jcc(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 3]))
    0.25
    """
    if one.shape != other.shape:
        raise InputError(f"the clusterings are of {one.shape} and {other.shape} items: they must be of the same items")
    valid = (one >= 0) & (other >= 0)
    _, i = np.unique(one[valid], return_inverse=True)
    _, j = np.unique(other[valid], return_inverse=True)
    both = _pairs(np.unique(i * len(j) + j, return_counts=True)[1])
    either = _pairs(np.bincount(i)) + _pairs(np.bincount(j)) - both
    return both / either if either else 1.0


def rwcp(truth: NDArray[np.integer], labels: NDArray[np.integer]) -> float:
    """Return the ratio of well categorised items, each cluster matched with one class so that the ratio is largest.

    >>> rwcp(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 3]))
    0.75
    """
    return accuracy(truth, labels)


def _pairs(sizes: NDArray[np.integer]) -> int:
    return int((sizes * (sizes - 1) // 2).sum())
