"""How well found clusters agree with labels: accuracy (equation 12 of the NIS paper), NMI, ARI; JCC and RWCP of the HACC paper.

A negative label or cluster is a missing one: the item is left out. Accuracy takes O(K K̂) memory for the table, O(K³) time; JCC
O(n log n) time and O(n) memory.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from storage.errors import InputError

Sizes = NDArray[np.int64]


def accuracy(labels: NDArray[np.integer], found: NDArray[np.integer]) -> float:
    """Return the share of items that are right under the best one-to-one match of found clusters and labels.

    A found cluster without a partner is wrong altogether, so too many clusters cost as much as too few.

    >>> accuracy(np.array([0, 0, 1, 1]), np.array([7, 7, 7, 3]))
    0.75
    """
    from scipy.optimize import linear_sum_assignment

    labels, found = _both(labels, found)
    _, row = np.unique(labels, return_inverse=True)
    _, column = np.unique(found, return_inverse=True)
    table = np.zeros((row.max() + 1, column.max() + 1))
    np.add.at(table, (row, column), 1.0)
    best = linear_sum_assignment(table, maximize=True)
    return float(table[best].sum() / len(labels))


def nmi(labels: NDArray[np.integer], found: NDArray[np.integer]) -> float:
    """Return the normalised mutual information, divided by the mean of both entropies; 1 for one cluster and one label.

    scikit-learn has it, too, and takes a second to load: as long as all the rest of a step.

    >>> round(nmi(np.array([0, 0, 1, 1]), np.array([7, 7, 7, 3])), 4)
    0.3437
    """
    both, one, other = _shared(*_both(labels, found))
    if len(one) == len(other) == 1:
        return 1.0
    joint, first, second = map(_entropy, (both, one, other))
    mutual = first + second - joint
    return 0.0 if mutual <= np.finfo(np.float64).eps else float(mutual / (0.5 * (first + second)))


def ari(labels: NDArray[np.integer], found: NDArray[np.integer]) -> float:
    """Return the adjusted Rand index: 1 for equal partitions, 0 on average for random ones.

    >>> ari(np.array([0, 0, 1, 1]), np.array([7, 7, 7, 3]))
    0.0
    """
    both, one, other = _shared(*_both(labels, found))
    items = int(one.sum())
    together, first, second, pairs = _pairs(both), _pairs(one), _pairs(other), items * (items - 1) // 2
    if together == first == second:
        return 1.0
    # Of whole numbers, multiplied out: they are too large for floats.
    return float(Fraction(2 * (together * pairs - first * second), (first + second) * pairs - 2 * first * second))


def _shared(labels: NDArray[np.integer], found: NDArray[np.integer]) -> tuple[Sizes, Sizes, Sizes]:
    """How many items each label and cluster that meet have in common, and how many each label and each cluster has."""
    _, i = np.unique(labels, return_inverse=True)
    _, j = np.unique(found, return_inverse=True)
    return np.unique(i * (int(j.max()) + 1) + j, return_counts=True)[1], np.bincount(i), np.bincount(j)


def _entropy(sizes: Sizes) -> float:
    """Of a partition into parts of these sizes, in nats."""
    share = sizes / max(sizes.sum(), 1)
    return abs(float((share * np.log(share)).sum()))


def entropy(found: NDArray[np.integer]) -> float:
    """Return the entropy of the cluster sizes in nats; 0 if there is one cluster or none.

    >>> round(entropy(np.array([0, 0, 1, 1, -1])), 4)
    0.6931
    """
    return _entropy(np.unique(found[found >= 0], return_counts=True)[1])


def jcc(one: NDArray[np.integer], other: NDArray[np.integer]) -> float:
    """Return JCC = SS / (SS + SD + DS): pairs together in both, over pairs together in either; 1 if no pair is in either.

    >>> jcc(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 3]))
    0.25
    """
    if one.shape != other.shape:
        raise InputError(f"the clusterings are of {one.shape} and {other.shape} items: they must be of the same items")
    valid = (one >= 0) & (other >= 0)
    if not valid.any():
        return 1.0
    both, first, second = map(_pairs, _shared(one[valid], other[valid]))
    either = first + second - both
    return both / either if either else 1.0


def rwcp(truth: NDArray[np.integer], labels: NDArray[np.integer]) -> float:
    """Return the ratio of well categorised items, each cluster matched with one class so that the ratio is largest.

    >>> rwcp(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 3]))
    0.75
    """
    return accuracy(truth, labels)


def _both(labels: NDArray[np.integer], found: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    if labels.shape != found.shape or labels.ndim != 1:
        raise InputError(f"labels and clusters must be of the same items, not of shapes {labels.shape} and {found.shape}")
    known = (labels >= 0) & (found >= 0)
    if not known.any():
        raise InputError("no item has a label: agreement cannot be measured")
    return labels[known], found[known]


def _pairs(sizes: NDArray[np.integer]) -> int:
    return int((sizes * (sizes - 1) // 2).sum())
