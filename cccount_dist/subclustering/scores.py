"""How good subclusters are, by labels: the subclustering Jaccard coefficient (SJC, equation 4 of the paper), coverage and purity.

Time and memory grow with the images that stand in subclusters, O(K n), and with the classes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storage.errors import InputError


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
