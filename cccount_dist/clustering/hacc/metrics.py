"""How good a clustering is, by the two measures of the paper: Jaccard's coefficient of pairs, and the ratio of well placed items.

Items with a negative label on either side do not count. Time and memory O(n + clusters · classes).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from storage.errors import InputError


def jcc(one: NDArray[np.integer], other: NDArray[np.integer]) -> float:
    """Return JCC = SS / (SS + SD + DS): pairs together in both, over pairs together in either; 1 if no pair is in either.

    >>> jcc(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 3]))
    0.25
    """
    table = _table(one, other)
    both = _pairs(table)
    either = _pairs(table.sum(axis=0)) + _pairs(table.sum(axis=1)) - both
    return both / either if either else 1.0


def rwcp(truth: NDArray[np.integer], labels: NDArray[np.integer]) -> float:
    """Return the ratio of well categorised items, each cluster matched with one class so that the ratio is largest.

    >>> rwcp(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 3]))
    0.75
    """
    table = _table(truth, labels)
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / max(table.sum(), 1))


def _table(one: NDArray[np.integer], other: NDArray[np.integer]) -> NDArray[np.int64]:
    if one.shape != other.shape:
        raise InputError(f"the clusterings are of {one.shape} and {other.shape} items: they must be of the same items")
    valid = (one >= 0) & (other >= 0)
    rows, i = np.unique(one[valid], return_inverse=True)
    columns, j = np.unique(other[valid], return_inverse=True)
    counts = np.bincount(i * len(columns) + j, minlength=len(rows) * len(columns))
    return counts.reshape(len(rows), len(columns)).astype(np.int64)


def _pairs(sizes: NDArray[np.int64]) -> int:
    return int((sizes * (sizes - 1) // 2).sum())
