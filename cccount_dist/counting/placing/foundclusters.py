"""The clusters found so far. Numbers never change: a cluster that was merged into another keeps its number and is no longer live.

Memory O(D² + 16 D) bytes for D clusters: one byte for each pair of them counts the "different" answers on record.
"""

import numpy as np
from numpy.typing import NDArray

HELD = 16  # members that are compared with: the first, and the latest ones
_MOST = 30  # "different" answers on record for a pair of clusters; more do not matter


class Clusters:
    """Arrays with one entry for each cluster; their length doubles, `len()` is what is used."""

    def __init__(self) -> None:
        self._count = 0
        self.size = np.zeros(8, np.int64)  # items placed in it
        self.members = np.zeros((8, HELD), np.int32)  # slots
        self.held = np.zeros(8, np.int64)
        self.live = np.zeros(8, np.bool_)
        self.born = np.ones(8)  # rate of new clusters when it was founded
        self.doubt = np.zeros(8)  # probability that it is a part of another one
        self.settled = np.zeros(8, np.int64)  # answers same or different about its members
        self.unsure = np.zeros(8, np.int64)  # items that people could not tell from it
        self.apart = np.zeros((8, 8), np.int8)  # "different" answers at the birth of the younger one and in re-checks
        self._into: dict[int, int] = {}

    def __len__(self) -> int:
        return self._count

    @property
    def counts(self) -> NDArray[np.int64]:
        """Sizes of the live clusters."""
        return self.size[: self._count][self.live[: self._count]]

    @property
    def once(self) -> int:
        """Live clusters with a single item."""
        return int(np.count_nonzero(self.counts == 1))

    def root(self, cluster: int) -> int:
        """Return the live cluster that this one became a part of."""
        while cluster in self._into:
            cluster = self._into[cluster]
        return cluster

    def found(self, slot: int, born: float) -> int:
        """Add a cluster with one item."""
        number = self._count
        if number == len(self.size):
            self._grow()
        self._count += 1
        self.size[number] = self.held[number] = 1
        self.members[number, 0] = slot
        self.live[number] = True
        self.born[number] = born
        return number

    def join(self, cluster: int, slot: int) -> None:
        """Add an item. The first member stays as the reference; of the others the latest are held."""
        held = int(self.held[cluster])
        if held < HELD:
            self.members[cluster, held] = slot
            self.held[cluster] += 1
        else:
            self.members[cluster, 1 + int(self.size[cluster]) % (HELD - 1)] = slot
        self.size[cluster] += 1

    def set_apart(self, a: int, b: int, answers: int) -> None:
        """Put "different" answers between two clusters on record."""
        self.apart[a, b] = self.apart[b, a] = min(_MOST, int(self.apart[a, b]) + answers)

    def merge(self, part: int, whole: int) -> None:
        """Make one cluster a part of another."""
        for slot in self.members[part, : self.held[part]].tolist():
            if self.held[whole] < HELD:
                self.members[whole, self.held[whole]] = slot
                self.held[whole] += 1
        self.size[whole] += self.size[part]
        self.settled[whole] += self.settled[part]
        self.born[whole] = max(self.born[whole], self.born[part])
        for other in np.flatnonzero(self.apart[part, : self._count] > 0).tolist():
            if other != whole:
                self.set_apart(whole, other, int(self.apart[part, other]))
        self._retire(part)
        self._into[part] = whole

    def dissolve(self, cluster: int) -> None:
        """Take a cluster out: nobody can tell what its only item is."""
        self._retire(cluster)

    def _retire(self, cluster: int) -> None:
        self.live[cluster] = False
        self.doubt[cluster] = 0.0
        self.apart[cluster] = 0
        self.apart[:, cluster] = 0

    def _grow(self) -> None:
        have = len(self.size)
        for name in ("size", "members", "held", "live", "born", "doubt", "settled", "unsure"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros_like(array)]))
        wider = np.zeros((2 * have, 2 * have), np.int8)
        wider[:have, :have] = self.apart
        self.apart = wider
