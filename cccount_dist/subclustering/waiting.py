"""What may be asked while other questions are open, so that no answers can imply an answer to one of them.

Sets of items that are known to be the same are joined to trees by the open questions. A question may join two trees if no item
of one is known to be different from an item of the other. Then two items of a tree are connected by one path of open questions,
and by nothing that is known: whatever some answers are, the others do not follow. O(trees · items) to look at.
"""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.constraints import Constraints

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Trees:
    """The trees of the open questions, over the items that a question may be about."""

    def __init__(self, known: Constraints, open_pairs: Collection[tuple[int, int]], items: Int64s) -> None:
        ends = np.array(sorted(open_pairs), np.int64).reshape(-1, 2)
        up: dict[int, int] = {}

        def root(name: int) -> int:
            while (above := up.get(name, name)) != name:
                name = above
            return name

        for first, second in known.names(ends).tolist():
            up[root(first)] = root(second)
        self.of_item: Int64s = np.array([root(name) for name in known.names(items).tolist()], np.int64)
        of_end = np.array([root(name) for name in known.names(ends).ravel().tolist()], np.int64)
        everything = np.concatenate([items, ends.ravel()])
        trees = np.concatenate([self.of_item, of_end])
        self.apart: dict[int, Int64s] = {}  # tree of several sets -> trees that it may not be joined to
        for tree in np.unique(of_end).tolist():
            different = (known.relations(ends.ravel()[of_end == tree], everything) == 0).any(axis=0)
            self.apart[tree] = np.append(np.unique(trees[different]), tree)

    def joinable(self, first: Int64s, second: Int64s) -> Bools:
        """Return whether a question may join the trees `first` (m, 1) and `second` (m, k), or the same (1, k) for all."""
        allowed = first != second
        for tree, apart in self.apart.items():
            allowed &= ~((first == tree) & np.isin(second, apart))
            allowed &= ~((second == tree) & np.isin(first, apart))
        return np.asarray(allowed)
