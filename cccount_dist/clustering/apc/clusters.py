"""The clusters at one moment. A number always means the same items: joining and splitting make new numbers.

Memory O(n); joining and splitting cost the members of the clusters that they touch.
"""

from collections.abc import Sequence

import numpy as np

from cccount_dist.clustering.apc.probability import Ints


class Clusters:
    """Who is with whom, which item speaks for a cluster, and what became of clusters that are no more."""

    def __init__(self, labels: Ints) -> None:
        order = np.argsort(labels, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(labels))])
        self.members: dict[int, Ints] = {c: order[bounds[c] : bounds[c + 1]] for c in range(len(bounds) - 1)}
        self.label = labels.astype(np.int64)
        self.leader: dict[int, int] = {}  # of clusters that passed the purity test
        self._became: dict[int, int] = {}
        self._next = len(self.members)

    def size(self, number: int) -> int:
        return len(self.members[number])

    def now(self, number: int) -> int | None:
        """Return the cluster that this one is a part of now; None if it was split."""
        while number in self._became:
            number = self._became[number]
        return number if number in self.members else None

    def join(self, first: int, second: int) -> int:
        """Make one cluster of two; the leader of the larger one speaks for it."""
        larger, smaller = (first, second) if self.size(first) >= self.size(second) else (second, first)
        number = self._new(np.concatenate([self.members.pop(larger), self.members.pop(smaller)]))
        self._became[first] = self._became[second] = number
        leader = self.leader.pop(larger, None)
        other = self.leader.pop(smaller, None)
        if leader is not None or other is not None:
            self.leader[number] = int(leader if leader is not None else other)  # type: ignore[arg-type]
        return number

    def split(self, number: int, parts: Sequence[Ints]) -> list[int]:
        """Make one cluster of each part; together they are the members."""
        del self.members[number]
        self.leader.pop(number, None)
        return [self._new(part) for part in parts]

    def _new(self, members: Ints) -> int:
        number = self._next
        self._next += 1
        self.members[number] = np.sort(members)
        self.label[members] = number
        return number
