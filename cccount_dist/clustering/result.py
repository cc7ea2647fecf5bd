"""What every grouping sampler returns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Grouping:
    """A cluster number for every item, from 0 by first appearance; -1 without a vector, or before a grouping is known."""

    labels: NDArray[np.int64]  # (n,)

    @property
    def note(self) -> str:
        """What a reader must know before using the groups; empty if there is nothing."""
        return ""

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return int(self.labels.max(initial=-1)) + 1


def numbered(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the labels numbered by first appearance; negative ones become -1.

    >>> numbered(np.array([7, 7, -3, 2, 7])).tolist()
    [0, 0, -1, 1, 0]
    """
    known = labels >= 0
    values, first, inverse = np.unique(labels[known], return_index=True, return_inverse=True)
    rank = np.empty(len(values), np.int64)
    rank[np.argsort(first)] = np.arange(len(values))
    out = np.full(len(labels), -1, np.int64)
    out[known] = rank[inverse]
    return out
