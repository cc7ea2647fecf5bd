"""How well found clusters agree with labels: accuracy (equation 12 of the NIS paper), NMI and ARI; SJC for subclusters.

A negative label or cluster is a missing one: the item is left out. Accuracy takes O(K K̂) memory for the table, O(K³) time.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storage.errors import InputError


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
    """Return the normalised mutual information, divided by the mean of both entropies."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(*_both(labels, found)))


def ari(labels: NDArray[np.integer], found: NDArray[np.integer]) -> float:
    """Return the adjusted Rand index: 1 for equal partitions, 0 on average for random ones."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(*_both(labels, found)))


def entropy(found: NDArray[np.integer]) -> float:
    """Return the entropy of the cluster sizes in nats; 0 if there is one cluster or none.

    >>> round(entropy(np.array([0, 0, 1, 1, -1])), 4)
    0.6931
    """
    sizes = np.unique(found[found >= 0], return_counts=True)[1]
    share = sizes / max(sizes.sum(), 1)
    return abs(float((share * np.log(share)).sum()))


@dataclass(frozen=True, slots=True)
class SubclusterScores:
    """How good subclusters are; each between 0 and 1."""

    sjc: float  # equation 4 of the subclustering paper: coverage and purity in one number
    coverage: float  # share of the classes that some subcluster represents, with more than half of its places
    purity: float  # mean share of the images of a subcluster that are of its commonest class


def subcluster_scores(labels: NDArray[np.integer], members: NDArray[np.integer]) -> SubclusterScores:
    """Return the subclustering Jaccard coefficient (SJC) of subclusters (K, n), with its two parts.

    A class is represented by the subcluster with most images of it, if they are more than n / 2: then it counts
    C(images, 2) / C(n, 2). The mean is over all classes of the labels. An empty place (-1) and an image without a label count as
    wrong. With n = 1 there are no pairs: SJC is the coverage.

    >>> scores = subcluster_scores(np.array([0, 0, 0, 1, 1, 1]), np.array([[0, 1, 2], [3, 4, 2]]))
    >>> round(scores.sjc, 3), scores.coverage, round(scores.purity, 3)
    (0.667, 1.0, 0.833)
    """
    classes = np.unique(labels[labels >= 0])
    if not len(classes) or members.ndim != 2 or not members.shape[1]:
        raise InputError(f"{len(classes)} classes and subclusters of shape {members.shape}: there is nothing to compare")
    size = members.shape[1]
    best = np.zeros(int(classes[-1]) + 1, np.int64)
    pure = []
    for row in members:
        found = labels[row[row >= 0]]
        counts = np.bincount(found[found >= 0], minlength=1)
        commonest = int(counts.argmax())
        pure.append(counts[commonest] / max(len(found), 1))
        if 2 * counts[commonest] > size:
            best[commonest] = max(best[commonest], counts[commonest])
    coverage = float(np.count_nonzero(best) / len(classes))
    sjc = float((best * (best - 1)).sum() / (size * (size - 1)) / len(classes)) if size > 1 else coverage
    return SubclusterScores(sjc, coverage, float(np.mean(pure)) if pure else 0.0)


def _both(labels: NDArray[np.integer], found: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    if labels.shape != found.shape or labels.ndim != 1:
        raise InputError(f"labels and clusters must be of the same items, not of shapes {labels.shape} and {found.shape}")
    known = (labels >= 0) & (found >= 0)
    if not known.any():
        raise InputError("no item has a label: agreement cannot be measured")
    return labels[known], found[known]
