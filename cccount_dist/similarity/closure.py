"""How closed neighbourhoods are: what says, without labels and answers, that vectors tell things apart.

Where items of one thing lie together and away from all others, an item and its nearest neighbour have nearly the same list; where
lists of ten lead on and on, first neighbours share half of theirs. Long bursts of nearly equal pictures close lists, too: so what
is trusted because of it must be audited.
"""

import numpy as np
from numpy.typing import NDArray

LENGTH = 10  # of the lists that are compared, or as many as there are


def closure(neighbors: NDArray[np.int32], items: NDArray[np.int64]) -> float:
    """Return which share of its nearest items, itself among them, an item has in common with its first neighbour: the mean.

    Parameters
    ----------
    neighbors : (n, k), most similar first; -1 where a list is shorter
    items : those that are looked at

    >>> two_threes = np.array([[1, 2], [0, 2], [1, 0], [4, 5], [3, 5], [4, 3]], np.int32)
    >>> closure(two_threes, np.arange(6))
    1.0
    """
    lists = np.column_stack([items, np.asarray(neighbors[items, :LENGTH], np.int64)])
    first = lists[:, 1]
    others = np.column_stack([first, np.asarray(neighbors[np.maximum(first, 0), :LENGTH], np.int64)])
    both = (lists[:, :, None] == others[:, None, :]) & (lists[:, :, None] >= 0)
    shares = both.any(axis=2).sum(axis=1) / lists.shape[1]
    return float(np.where(first >= 0, shares, 0.0).mean())
