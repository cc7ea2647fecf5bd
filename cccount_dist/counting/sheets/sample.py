"""The space of a random sample, made with the help of the items that are not in it.

A sample of some hundred items has few near neighbours of its own, but the collection has them: every item is drawn towards its
nearest five of all, which are mostly of its class, as in `similarity/sharp.py`. Memory O(n p), p at most 128; time O(n d p), and
O(n² p) up to 8,192 items.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.space import Base, base_of, fitted

NEAREST, SHARE = 5, 0.5  # items that each is drawn to, and the weight of each beside its own
_ALL = 1.0 + NEAREST * SHARE


def sample_base(vectors: NDArray[np.float32], neighbors: NDArray[np.int32], order: NDArray[np.int64]) -> Base:
    """Return the components of all items, in the order in which they are drawn.

    Parameters
    ----------
    vectors : (n, d), of items that all have one
    neighbors : (n, k), most similar first
    order : (n,)
    """
    base = base_of(vectors, neighbors)
    lists = fitted(base, np.full(len(order), -1, np.int32), neighbors).lists
    rows = np.empty_like(base.rows)
    for start in range(0, len(rows), 8192):
        block, near = base.rows[start : start + 8192].astype(np.float64), lists[start : start + 8192, :NEAREST]
        for column in near.T:
            block += SHARE * np.where(column[:, None] >= 0, base.rows[column], base.rows[start : start + 8192])
        rows[start : start + 8192] = block / _ALL
    less = (1.0 + NEAREST * SHARE**2) / _ALL**2  # what a mean of so many has of the scatter of one
    return Base(rows[order], base.within * less)
