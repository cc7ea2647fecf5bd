"""The restricted set R: items that may become centroids, drawn at random, each with a list of its nearest items.

The lists are all that is kept of R × n distances (`distances.py`). The set grows along one random order, so a larger set begins
with the smaller one. A class with a share p of the items is absent from R with probability (1 - p)^R: hence 25 for each cluster.
Memory O(R (list + d)) and 8 bytes an item for the order.
"""

from copy import copy

import numpy as np
from numpy.typing import NDArray

from cccount_dist.subclustering.distances import (
    BLOCK_ROWS,
    Floats,
    Int32s,
    Int64s,
    nearest_items,
    nearest_items_on_all_cores,
    unit,
    whole_rows,
)
from storage.errors import InputError

FOR_EACH_CLUSTER = 25

Lists = tuple[Int32s, Int32s]  # index (m, length) and squared distance (m, length)


def list_length(size: int) -> int:
    """Return how many nearest items of a candidate are kept: enough that replacing members seldom needs another pass.

    >>> list_length(10)
    40
    """
    return max(4 * size, 32)


def candidate_order(usable: Int64s, seed: int) -> Int64s:
    """Return all usable items in the order in which they become candidates."""
    return usable[np.random.Generator(np.random.Philox(key=seed)).permutation(len(usable))]


def restricted_size(usable: int, clusters: int, wanted: int | None = None) -> int:
    """Return the size of the restricted set to begin with."""
    size = FOR_EACH_CLUSTER * clusters if wanted is None else wanted
    if not 1 <= clusters <= usable:
        raise InputError(f"clusters is {clusters}, but {usable:,} items have a vector: use 1 to {usable}")
    if size < clusters:
        raise InputError(f"the restricted set has {size} items, too few for {clusters} centroids: use {clusters} or more")
    return min(size, usable)


class Candidates:
    """The restricted set.

    Parameters
    ----------
    vectors : (n, d) prepared rows; may be a memory map
    order : the items in the order in which they become candidates (`candidate_order`); others are near nobody
    count : how many of them are candidates at first
    size : images of a subcluster
    lists : their nearest items, if they were found elsewhere already
    """

    def __init__(self, vectors: Floats, order: Int64s, count: int, size: int, lists: Lists | None = None) -> None:
        if size < 1:
            raise InputError(f"size is {size}: a subcluster has 1 image or more")
        self._vectors = vectors
        self._order = order
        self._among: NDArray[np.bool_] | None = None
        if len(order) < len(vectors):
            self._among = np.zeros(len(vectors), np.bool_)
            self._among[order] = True
        self.size = size
        self.length = min(list_length(size), len(order) - 1)
        self._unit = unit(vectors.shape[1])
        self.items = order[:0]
        self.rows = whole_rows(np.asarray(vectors[self.items]))
        self.index = np.empty((0, self.length), np.int32)
        self.squared = np.empty((0, self.length), np.int32)
        self._place = np.full(len(vectors), -1, np.int32)
        self._grow_to(count, lists)

    def __len__(self) -> int:
        return len(self.items)

    def __deepcopy__(self, memo: dict[int, object]) -> "Candidates":
        """One that may grow by itself: growing replaces every array but one, and the others are shared."""
        other = copy(self)
        other._place = self._place.copy()
        memo[id(self)] = other
        return other

    @property
    def items_in_all(self) -> int:
        """How many items the collection has, those without a vector included."""
        return len(self._vectors)

    @property
    def can_grow(self) -> bool:
        return len(self.items) < len(self._order)

    def grow(self) -> None:
        """Double the restricted set."""
        self._grow_to(min(2 * len(self.items), len(self._order)))

    def _grow_to(self, count: int, lists: Lists | None = None) -> None:
        new = self._order[len(self.items) : count]
        index, squared = nearest_items_on_all_cores(self._vectors, new, self.length, self._among) if lists is None else lists
        self._place[new] = np.arange(len(self.items), count)
        self.items = self._order[:count]
        self.rows = whole_rows(np.asarray(self._vectors[self.items]))
        self.index = np.concatenate([self.index, index])
        self.squared = np.concatenate([self.squared, squared])

    def place(self, items: NDArray[np.integer]) -> Int32s:
        """Return the place of each item among the candidates, -1 for one that is none."""
        found: Int32s = self._place[items]
        return found

    def real(self, squared: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the distances that squared whole numbers stand for."""
        return np.asarray(np.sqrt(squared.astype(np.float64)) / self._unit)

    def squared_from(self, places: Int64s) -> Int32s:
        """Return the squared distances of some candidates to all candidates."""
        return self.rows.take(places).squared_to(self.rows)

    def distances(self) -> Floats:
        """Return the distances of all candidates to each other: 4 R² bytes, for a warm start."""
        found = np.empty((len(self), len(self)), np.float32)
        for start in range(0, len(self), BLOCK_ROWS):
            block = self.rows.take(np.arange(start, min(start + BLOCK_ROWS, len(self))))
            found[start : start + BLOCK_ROWS] = self.real(block.squared_to(self.rows))
        return found

    def distances_to(self, item: int, others: Int64s) -> NDArray[np.float64]:
        """Return the distances of any item to some others."""
        one, rest = (whole_rows(np.asarray(self._vectors[items])) for items in (np.array([item]), others))
        distances: NDArray[np.float64] = self.real(one.squared_to(rest))[0]
        return distances

    def lists_of(self, items: Int64s, count: int) -> Lists:
        """Return the `count` nearest items of any items: one pass over the vectors."""
        return nearest_items(self._vectors, items, min(count, len(self._order) - 1), self._among)
