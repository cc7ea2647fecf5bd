"""Which item is in which cluster, and what is known of each cluster: members, mean, size.

A mean is always made from the members in the order of their numbers, so that it is the same, bit for bit, whatever way led to
them. Memory O(n + K p); time of a change O(size p).
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
UNPLACED = -1
_FEW = 16


@dataclass
class Clusters:
    """Clusters are numbered in the order in which they were founded; one that was merged keeps its number as an alias."""

    rows: NDArray[np.float32]  # (n, p) of the present space
    label: NDArray[np.int32]  # (n,)
    members: list[Ints] = field(default_factory=list)  # of each cluster, in order; replaced, never changed
    centre: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))  # (at least K, p)
    size: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # (at least K,); 0: merged, or emptied
    alias: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))  # (at least K,) what a cluster became
    changed: set[int] = field(default_factory=set)  # clusters since `settled` was called …
    moved: set[int] = field(default_factory=set)  # … and items, also those with new votes

    @classmethod
    def none(cls, rows: NDArray[np.float32]) -> "Clusters":
        width = rows.shape[1]
        empty = np.full(len(rows), UNPLACED, np.int32)
        size, alias = np.zeros(_FEW, np.int64), np.arange(_FEW, dtype=np.int32)
        return cls(rows, empty, [], np.zeros((_FEW, width), np.float32), size, alias)

    def copy(self) -> "Clusters":
        arrays = self.centre.copy(), self.size.copy(), self.alias.copy()
        return Clusters(self.rows, self.label.copy(), list(self.members), *arrays, set(self.changed), set(self.moved))

    @property
    def live(self) -> Ints:
        """The clusters that have members."""
        return np.flatnonzero(self.size[: len(self.members)] > 0)

    @property
    def placed(self) -> Ints:
        return np.flatnonzero(self.label >= 0)

    @property
    def unplaced(self) -> Ints:
        return np.flatnonzero(self.label < 0)

    def settled(self) -> None:
        self.changed.clear()
        self.moved.clear()

    def found(self, item: int) -> int:
        """Make an unplaced item a cluster of its own, and return its number."""
        number = len(self.members)
        self.members.append(np.array([], np.int64))
        if number == len(self.size):
            self.centre = np.concatenate([self.centre, np.zeros_like(self.centre)])
            self.size = np.concatenate([self.size, np.zeros_like(self.size)])
            self.alias = (
                np.arange(2 * number, dtype=np.int32)
                if not number
                else np.concatenate([self.alias, np.arange(number, 2 * number, dtype=np.int32)])
            )
        self.place([item], number)
        return number

    def place(self, items: list[int], cluster: int) -> None:
        """Move items into a cluster, or (-1) out of theirs."""
        new = np.array([item for item in items if self.label[item] != cluster], np.int64)
        for old in np.unique(self.label[new]).tolist():
            if old >= 0:
                self._set(old, np.setdiff1d(self.members[old], new))
        self.label[new] = cluster
        self.moved.update(new.tolist())
        if cluster >= 0 and len(new):
            self._set(cluster, np.union1d(self.members[cluster], new))

    def merge(self, a: int, b: int) -> tuple[int, int]:
        """Make two clusters one; return the number that stays, that of the larger one, and the other."""
        into, gone = (a, b) if self.size[a] >= self.size[b] else (b, a)
        self.place(self.members[gone].tolist(), into)
        self.alias[self.alias == gone] = into
        return into, gone

    def moved_to(self, rows: NDArray[np.float32]) -> None:
        """Make all means again, in another space."""
        self.rows = rows
        for cluster in self.live.tolist():
            self._set(cluster, self.members[cluster])

    def _set(self, cluster: int, members: Ints) -> None:
        self.members[cluster] = members
        self.size[cluster] = len(members)
        if len(members):
            self.centre[cluster] = self.rows[members].mean(axis=0, dtype=np.float64)
        self.changed.add(cluster)
