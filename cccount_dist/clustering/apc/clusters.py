"""The clusters at one moment, which of them may be one, and whether one of them is a single class.

Compactness is equation 6 and appendix B.2 of the paper. Memory O(n); joining and splitting cost the members of the clusters that
they touch, a look at one is quadratic in the members, of which at most 300 are looked at.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.apc.probability import Floats, Ints, PairMap, between, thinned
from cccount_dist.similarity.inmemory import neighbors_in_memory

EDGES = 20  # neighbours of an item whose clusters are candidates
SMALL = 4  # a cluster up to this size that fails is not split by questions: the odd item leaves
_ROWS = 2**16  # items whose edges are looked at at a time
_MIDDLE = (0.5, 0.7)  # ranks by closeness to the central item from which the pair's other item is drawn


class Clusters:
    """Who is with whom, which item speaks for a cluster, and what became of clusters that are no more.

    A number always means the same items: joining and splitting make new numbers. The members follow from the labels, and are read
    from them again after a snapshot: tens of thousands of small arrays take longer to keep than all the rest.
    """

    __unsaved__: ClassVar = ("_members",)

    def __init__(self, labels: Ints) -> None:
        self.label = labels.astype(np.int64)
        self.leader: dict[int, int] = {}  # of clusters that passed the purity test
        self._became: dict[int, int] = {}
        self._next = int(labels.max(initial=-1)) + 1
        self._members: dict[int, Ints] | None = None

    @property
    def members(self) -> dict[int, Ints]:
        """The items of each cluster in ascending order; clusters in the order of their numbers."""
        if self._members is None:
            order = np.argsort(self.label, kind="stable")
            numbers, start = np.unique(self.label[order], return_index=True)
            ends = [*start[1:].tolist(), len(order)]
            self._members = {c: order[a:b] for c, a, b in zip(numbers.tolist(), start.tolist(), ends, strict=True)}
        return self._members

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


def candidate_pairs(
    vectors: NDArray[np.float32], neighbors: NDArray[np.int32], clusters: Clusters, centroids: int, least: int = 2
) -> tuple[Ints, Ints]:
    """Return pairs of clusters of `least` and more items, first < second, in order: those that may be one.

    They are the clusters that neighbour edges join and those of the nearest centroids, never all k² of them: O(n · edges +
    k · centroids) pairs. The centroids' neighbours take O(k² d / 2) time.
    """
    numbers = np.array([c for c, members in clusters.members.items() if len(members) >= least], np.int64)
    if len(numbers) < 2:
        return numbers[:0], numbers[:0]
    place = np.full(max(clusters.members) + 1, -1, np.int64)
    place[numbers] = np.arange(len(numbers))
    label = place[clusters.label]
    keys = [np.unique(np.concatenate([_edges(label, neighbors, part, len(numbers)) for part in _parts(len(neighbors))]))]
    if centroids:
        count = min(centroids, len(numbers) - 1)
        centres = np.stack([vectors[clusters.members[int(c)]].mean(axis=0, dtype=np.float64) for c in numbers])
        near = neighbors_in_memory(centres.astype(np.float32), count, "euclidean").index.astype(np.int64)
        keys.append(_keys(np.repeat(np.arange(len(numbers)), count), near.ravel(), len(numbers)))
    key = np.unique(np.concatenate(keys))
    return numbers[key // len(numbers)], numbers[key % len(numbers)]


def _parts(items: int) -> Iterator[slice]:
    return (slice(start, start + _ROWS) for start in range(0, items, _ROWS))


def _edges(label: Ints, neighbors: NDArray[np.int32], part: slice, count: int) -> Ints:
    """Return the keys of the pairs of clusters that neighbour edges of some items join."""
    linked = neighbors[part, :EDGES]
    a, b = np.repeat(label[part], linked.shape[1]), np.where(linked >= 0, label[linked], -1).ravel()
    usable = (a >= 0) & (b >= 0) & (a != b)
    return _keys(a[usable], b[usable], count)


def _keys(a: Ints, b: Ints, count: int) -> Ints:
    return np.unique(np.minimum(a, b) * count + np.maximum(a, b))


class Looks:
    """One look at a cluster: the probabilities of all pairs of its (at most 300) members, and the pair that people are asked."""

    def __init__(self, vectors: NDArray[np.float32], pairs: PairMap, members: Ints) -> None:
        self.members = thinned(members)
        bins = pairs.bins(between(vectors, self.members, self.members))
        self._same: Floats = pairs.same[bins]
        odds = pairs.odds[bins]
        np.fill_diagonal(odds, 0.0)
        # l(i) = Σ log p/(1-p), largest first; equal ones in the order of items
        self.central: Ints = self.members[np.argsort(-odds.sum(axis=1), kind="stable")]

    @property
    def leader(self) -> int:
        return int(self.central[0])

    def compactness(self) -> float:
        """Return the mean probability of each item with the members of middle rank."""
        size = len(self.members)
        ranked = -np.sort(-self._same, axis=1)
        low = size // 2
        return float(ranked[:, low : max(low + 1, low + int(np.sqrt(size)))].mean())

    def other(self, seed: int) -> int:
        """Return the item of middle rank that people compare the central one with."""
        at = int(np.flatnonzero(self.members == self.leader)[0])
        ranked = self.members[np.argsort(-self._same[at], kind="stable")]
        ranked = ranked[ranked != self.leader]
        low, high = (int(share * len(self.members)) for share in _MIDDLE)
        low = min(low, len(ranked) - 1)
        # The draw depends on the cluster and the seed alone: not on what was asked before it.
        chance = np.random.default_rng([seed, self.leader, len(self.members)])
        return int(ranked[chance.integers(low, min(max(high, low + 1), len(ranked)))])
