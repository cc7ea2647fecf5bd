"""What is known about pairs of items from elsewhere: evidence for the partition, and lessons for the model. O(pairs known)."""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.evidence.micro import Micro
from cccount_dist.clustering.evidence.partition import Builder, Floats, Ints
from cccount_dist.clustering.evidence.worth import Rates


class Outside:
    """The pairs that are known, the newest about each; `heard` counts what was ever said, so that a change is noticed."""

    def __init__(self) -> None:
        self._pairs: dict[tuple[int, int], float] = {}
        self.heard = 0

    def take(self, u: int, v: int, value: float | None) -> None:
        """Take one in; None takes back what was said about the pair."""
        pair = min(u, v), max(u, v)
        if value is None:
            self._pairs.pop(pair, None)
        else:
            self._pairs[pair] = value
        self.heard += 1

    def __len__(self) -> int:
        """Return how many pairs are known."""
        return len(self._pairs)

    def same(self) -> Ints:
        """Return the pairs (s, 2) of items that are the same."""
        return np.array([pair for pair, value in self._pairs.items() if value >= 0.5], np.int64).reshape(-1, 2)

    def evidence(self, micro: Micro, rates: Rates) -> tuple[Ints, Ints, Floats]:
        """Return the micro-clusters of the pairs, and the log-odds that each answer is worth."""
        first, second, same = self._columns(micro)
        return first, second, rates.evidence(same)

    def lessons(self, builder: Builder, rates: Rates) -> tuple[Floats, Floats]:
        """Return the features of the pairs that the model learns from, micro-clusters that are neighbours, and the log-odds."""
        micro = builder.micro
        first, second, same = self._columns(micro)
        if not len(micro.first) or not len(first):
            return np.empty((0, 4)), np.empty(0)
        listed = micro.first.astype(np.int64) * micro.count + micro.second  # in order
        wanted = np.minimum(first, second) * micro.count + np.maximum(first, second)
        at = np.minimum(np.searchsorted(listed, wanted), len(listed) - 1)
        found = listed[at] == wanted
        votes = same[found].astype(np.float64)
        return builder.micro_features(at[found]), rates.lesson(votes, 1.0 - votes)

    def _columns(self, micro: Micro) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """The micro-clusters of both items, and whether they are the same; without items that have no vector."""
        pairs = np.array(list(self._pairs), np.int64).reshape(-1, 2)
        inside = pairs.max(axis=1, initial=0) < len(micro.label)
        labels = np.full(pairs.shape, -1, np.int64)
        labels[inside] = micro.label[pairs[inside]]
        usable = (labels >= 0).all(axis=1)
        same = np.array([value >= 0.5 for value in self._pairs.values()], np.bool_)
        return labels[usable, 0], labels[usable, 1], same[usable]


__all__ = ["Outside"]
