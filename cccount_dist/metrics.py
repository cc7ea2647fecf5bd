"""How well labels agree with known ones: NMI and ARI, by scikit-learn. Items with a negative label are left out."""

import numpy as np
from numpy.typing import NDArray


def nmi(known: NDArray[np.integer], labels: NDArray[np.integer]) -> float:
    """Return normalised mutual information (arithmetic mean), 1 for equal partitions.

    >>> nmi(np.array([0, 0, 1, -1]), np.array([5, 5, 7, 7]))
    1.0
    """
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(*_both(known, labels)))


def ari(known: NDArray[np.integer], labels: NDArray[np.integer]) -> float:
    """Return the adjusted Rand index: 1 for equal partitions, about 0 for unrelated ones.

    >>> ari(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0]))
    0.0
    """
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(*_both(known, labels)))


def _both(known: NDArray[np.integer], labels: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    have = (known >= 0) & (labels >= 0)
    return known[have], labels[have]
