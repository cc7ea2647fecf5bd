"""The random order in which items are drawn, and how new items are drawn into it when a collection grows.

An order of a collection that never grew is one permutation. New items are put at random places between the old ones: the old ones
keep their order, so what was answered about the first of them is worth what it was, and if the old order was uniform, so is the
new one: a prefix of it is a simple random sample of the grown collection. Memory and time O(n) for each time that it grew.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def random_order(seed: int, items: int, earlier: Sequence[int] = ()) -> NDArray[np.int64]:
    """Return a uniformly random order of the places 0 … items - 1; `earlier`: how many there were before, the oldest first.

    >>> old, new = random_order(7, 5), random_order(7, 8, [5])
    >>> [place for place in new.tolist() if place < 5] == old.tolist()
    True
    """
    sizes = [*earlier, items]
    root = np.random.SeedSequence(seed)
    order = np.random.Generator(np.random.PCG64(root)).permutation(sizes[0])
    for number, size in enumerate(sizes[1:]):
        if size > len(order):
            random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(number,))))
            order = _with_more(order, size, random)
        else:
            order = order[order < size]  # items that can no longer be asked about leave the others in their order
    return order


def _with_more(order: NDArray[np.int64], size: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Put the places len(order) … size - 1 between the others: which positions they get, and in which order, is uniform."""
    grown = np.full(size, -1, np.int64)
    positions = random.choice(size, size - len(order), replace=False)  # in random order
    grown[positions] = np.arange(len(order), size)
    grown[grown < 0] = order
    return grown


__all__ = ["random_order"]
