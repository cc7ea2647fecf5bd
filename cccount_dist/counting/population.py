"""The items that a count is about: those that have a vector. Others can be neither anchor nor draw, and are not counted."""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.rows import Items
from storage.errors import InputError


class Population:
    """Items with a vector, by their place 0, 1, 2, … among themselves."""

    def __init__(self, degree: NDArray[np.float64]) -> None:
        if np.any(np.isinf(degree)) or np.any(degree < 0):
            raise InputError("degrees must be 0 or more, and NaN for an item without a vector: run `cccount neighbors` again")
        self._items = np.flatnonzero(~np.isnan(degree))
        self._all = len(degree)
        self.degree: NDArray[np.float64] = degree[self._items]

    @property
    def items(self) -> int:
        return len(self._items)

    def item(self, place: int) -> int:
        return int(self._items[place])

    def place(self, item: int) -> int:
        return int(np.searchsorted(self._items, item))

    def to_items(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._items[places].astype(np.int64)

    def at(self, places: Items) -> Items:
        """Return the items at these places, as a slice where nobody is left out: a slice of vectors is read without a copy."""
        if isinstance(places, slice) and self.items == self._all:
            return places
        return self._items[places].astype(np.int64)
