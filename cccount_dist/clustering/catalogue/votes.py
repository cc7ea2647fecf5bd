"""Votes: how often an item was marked, and not marked, beside a cluster; and the same for two clusters.

What a vote is worth follows from how often cells are missed and falsely marked, which is learned: so votes are counted here and
weighed where they are used. Memory O(cells answered); time of a vote O(votes on its item), of a merge O(pairs of clusters).
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]
Said = tuple[float, float]  # marks, and cells that were not marked


def pair_of(a: int, b: int) -> Pair:
    return (a, b) if a < b else (b, a)


@dataclass
class Votes:
    """Votes on items form chains in a pool, along which compiled code walks; clusters are named as they were when it was said."""

    head: NDArray[np.int32]  # (n,) place of an item's first entry; -1: none
    following: NDArray[np.int32]  # (e,) place of the next one
    cluster: NDArray[np.int32]  # (e,)
    said: NDArray[np.float32]  # (e, 2)
    used: int = 0
    pairs: dict[Pair, Said] = field(default_factory=dict)  # of clusters that are there now

    @classmethod
    def none(cls, items: int) -> "Votes":
        return cls(np.full(items, -1, np.int32), np.zeros(64, np.int32), np.zeros(64, np.int32), np.zeros((64, 2), np.float32))

    def copy(self) -> "Votes":
        arrays = (self.head.copy(), self.following.copy(), self.cluster.copy(), self.said.copy())
        return Votes(*arrays, self.used, dict(self.pairs))

    def add(self, item: int, cluster: int, *, marked: bool) -> None:
        """Count a vote on an item beside a cluster."""
        place = int(self.head[item])
        while place >= 0 and self.cluster[place] != cluster:
            place = int(self.following[place])
        if place < 0:
            place = self._appended(item, cluster)
        self.said[place, 0 if marked else 1] += 1.0

    def add_pair(self, a: int, b: int, *, marked: bool, times: float = 1.0) -> None:
        """Count a vote on two clusters."""
        yes, no = self.pairs.get(pair_of(a, b), (0.0, 0.0))
        self.pairs[pair_of(a, b)] = (yes + times, no) if marked else (yes, no + times)

    def on(self, item: int, alias: NDArray[np.int32]) -> dict[int, Said]:
        """Return the votes on an item by cluster; `alias` says what a cluster has become."""
        found: dict[int, Said] = {}
        place = int(self.head[item])
        while place >= 0:
            cluster = int(alias[self.cluster[place]])
            yes, no = found.get(cluster, (0.0, 0.0))
            found[cluster] = yes + float(self.said[place, 0]), no + float(self.said[place, 1])
            place = int(self.following[place])
        return found

    def merge(self, gone: int, into: int) -> None:
        """Let the votes on pairs with a cluster count for the one that it became."""
        for pair in [pair for pair in self.pairs if gone in pair]:
            said = self.pairs.pop(pair)
            other = pair[0] if pair[1] == gone else pair[1]
            if other != into:
                before = self.pairs.get(pair_of(other, into), (0.0, 0.0))
                self.pairs[pair_of(other, into)] = before[0] + said[0], before[1] + said[1]

    def move(self, items: list[int], old: int, new: int, alias: NDArray[np.int32]) -> None:
        """Let what was said of items beside a cluster count for a part of it that was split off."""
        for item in items:
            place = int(self.head[item])
            while place >= 0:
                if alias[self.cluster[place]] == old:
                    self.cluster[place] = new
                place = int(self.following[place])

    def _appended(self, item: int, cluster: int) -> int:
        place = self.used
        if place == len(self.cluster):
            self.following = np.concatenate([self.following, np.zeros_like(self.following)])
            self.cluster = np.concatenate([self.cluster, np.zeros_like(self.cluster)])
            self.said = np.concatenate([self.said, np.zeros_like(self.said)])
        self.following[place], self.cluster[place] = self.head[item], cluster
        self.head[item] = place
        self.used += 1
        return place
