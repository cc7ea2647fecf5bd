"""The items that a count is about: those that have a vector. Others can be neither anchor nor draw, and are not counted."""

import numpy as np
from numpy.typing import NDArray

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

    def restrict(self, row: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the entries of a row over all items that belong to items of the population."""
        return row if self.items == self._all else row[self._items]
