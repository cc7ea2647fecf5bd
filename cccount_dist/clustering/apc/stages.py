"""Which tests are due, best first: pairs of clusters above a falling threshold P_l, and at the end the outliers.

Outliers are FPC's clusters of one or two items. Merge probabilities are kept from stage to stage, because a cluster's number
always means the same items. Time of a stage: its new pairs, and O(outliers · k) at the end.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cccount_dist.clustering.apc.clusters import Clusters, Looks, candidate_pairs
from cccount_dist.clustering.apc.probability import (
    Floats,
    Ints,
    PairMap,
    distances,
    entropy_drop,
    likeliest,
    merge_probability,
    thinned,
)
from cccount_dist.clustering.apc.steps import Ground
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.types import DIFFERENT

OUTLIER = 2  # items of a cluster up to which it is one


@dataclass(frozen=True, slots=True)
class Due:
    """A test that is due: two clusters, what it is expected to gain, and whether the first one is an outlier."""

    first: int
    second: int
    gain: float
    outlier: bool = False


class Stages:
    """Makes one list after the other.

    A stage's list is made once, when every question of the stage before is answered; pairs whose clusters were joined meanwhile
    stand for the joined ones, those of split clusters are dropped.
    """

    def __init__(self, ground: Ground, clusters: Clusters, known: Constraints) -> None:
        self._ground = ground
        self._clusters = clusters
        self._known = known
        self._levels = list(ground.parameters.levels)
        self._at = 0
        self._first_clusters = sum(len(members) > 1 for members in clusters.members.values())
        self._cache: tuple[PairMap, Ints, Floats] = (ground.pairs, np.empty(0, np.int64), np.empty(0))
        self._refused: dict[int, set[int]] = {}  # item of an outlier -> clusters that it was tried with
        self._in_outliers = False

    def following(self, *, asked: bool) -> list[Due]:
        """Return the next list that is not empty; [] if nothing is left. `asked`: whether the last one led to questions."""
        while not self._in_outliers and self._at < len(self._levels):
            found = self._joins(self._levels[self._at], self._candidates())
            # The last threshold stands until it leads to nothing: clusters that were joined have new pairs.
            if self._at + 1 < len(self._levels) or not (asked and found):
                self._at += 1
            asked = True
            if found:
                return found
        if not self._ground.parameters.outliers or (self._in_outliers and not asked):
            return []
        self._in_outliers = True
        return self._outliers(self._refused)

    def coming(self) -> Iterator[Due]:
        """Yield what later lists would hold if nothing changed any more, the next list first; changes nothing."""
        if not self._in_outliers and self._at < len(self._levels):
            candidates = self._candidates()  # for all levels: nothing changes between them
            for level in self._levels[self._at :]:
                yield from self._joins(level, candidates)
        if self._ground.parameters.outliers:
            yield from self._outliers({item: set(refused) for item, refused in self._refused.items()})

    def _candidates(self) -> tuple[Ints, Ints, Floats]:
        """The pairs of clusters that may be one and about which nothing is settled, and their merge probabilities."""
        ground = self._ground
        first, second = candidate_pairs(ground.vectors, ground.neighbors, self._clusters, ground.parameters.centroids)
        open_ = np.array([not self._settled(a, b) for a, b in zip(first.tolist(), second.tolist(), strict=True)], bool)
        first, second = first[open_], second[open_]
        return first, second, self._probabilities(first, second)

    def _joins(self, level: float, candidates: tuple[Ints, Ints, Floats]) -> list[Due]:
        ground, clusters = self._ground, self._clusters
        first, second, p = candidates
        if ground.parameters.recall == "top":
            chosen = np.sort(np.argsort(-p, kind="stable")[: self._first_clusters])
        else:
            chosen = np.flatnonzero(p > level)
        first, second, p = first[chosen], second[chosen], p[chosen]
        sizes = [np.array([clusters.size(int(c)) for c in side], float) for side in (first, second)]
        gain = p * entropy_drop(sizes[0], sizes[1], len(clusters.label)) if len(p) else p
        order = np.argsort(-gain, kind="stable")
        return [Due(int(first[at]), int(second[at]), float(gain[at])) for at in order if gain[at] >= ground.parameters.stop]

    def _settled(self, first: int, second: int) -> bool:
        leaders = self._clusters.leader
        if first not in leaders or second not in leaders:
            return False
        return self._known.known(leaders[first], leaders[second]) == DIFFERENT

    def _probabilities(self, first: Ints, second: Ints) -> Floats:
        """The merge probabilities; those of pairs that were there before are not worked out again."""
        ground = self._ground
        key = first << 32 | second
        pairs, old, values = self._cache
        if pairs is not ground.pairs:
            old, values = old[:0], values[:0]
        at = np.minimum(np.searchsorted(old, key), max(len(old) - 1, 0))
        have = old[at] == key if len(old) else np.zeros(len(key), bool)
        p = np.empty(len(key))
        p[have] = values[at[have]]
        if not have.all():
            p[~have] = self._new(first[~have], second[~have])
        order = np.argsort(key)
        self._cache = (ground.pairs, key[order], p[order])
        return p

    def _new(self, first: Ints, second: Ints) -> Floats:
        ground, clusters = self._ground, self._clusters
        numbers, inverse = np.unique(np.concatenate([first, second]), return_inverse=True)
        members = [thinned(clusters.members[int(c)]) for c in numbers]
        start = np.concatenate([[0], np.cumsum([len(one) for one in members])]).astype(np.int64)
        parameters = ground.parameters
        central = np.zeros(len(numbers), np.int64)
        if parameters.probability == "centre":
            central[:] = [clusters.leader.get(int(c)) or Looks(ground.vectors, ground.pairs, m).leader
                          for c, m in zip(numbers, members, strict=True)]  # fmt: skip
        wanted = inverse[: len(first)], inverse[len(first) :]
        return merge_probability(
            parameters.probability, ground.vectors, ground.pairs, (np.concatenate(members), start), wanted, central,
            parameters.nearest, parameters.added,
        )  # fmt: skip

    def _outliers(self, tried: dict[int, set[int]]) -> list[Due]:
        """Each outlier and the cluster that it is nearest to among those that it was not tried with, the best gain first."""
        ground, clusters = self._ground, self._clusters
        found: list[Due] = []
        for number, members in clusters.members.items():
            if len(members) > OUTLIER:
                continue
            item = int(members[0])
            refused = tried.setdefault(item, set())
            if (chosen := _target(ground, clusters, number, refused)) is not None:
                refused.add(chosen[0])
                sizes = np.array([len(members)], float), np.array([clusters.size(chosen[0])], float)
                gain = chosen[1] * float(entropy_drop(*sizes, len(clusters.label))[0])
                found.append(Due(number, chosen[0], gain, outlier=True))
        return sorted((due for due in found if due.gain >= ground.parameters.stop), key=lambda due: (-due.gain, due.first))


def attached(ground: Ground, label: Ints, loose: Ints) -> Ints:
    """Return the labels with each loose item in the cluster of highest P₊, if that is high enough.

    FPC leaves an item alone if its log-odds with all members of every cluster add up to less than nothing; P₊ with the nearest
    members often says more.
    """
    firm = np.ones(len(label), bool)
    firm[loose] = False
    pairs, parameters = ground.pairs, ground.parameters
    found = likeliest(
        ground.vectors, ground.neighbors, loose, firm, label, pairs.same, pairs.low, pairs.scale,
        parameters.nearest, parameters.added, parameters.attach,
    )  # fmt: skip
    out = label.copy()
    out[loose] = np.where(found >= 0, found, label[loose])
    return out


def _target(ground: Ground, clusters: Clusters, number: int, refused: set[int]) -> tuple[int, float] | None:
    """Return the cluster of the nearest neighbour that is no outlier and not refused, and the probability of that pair."""
    near, p = _likeness(ground, int(clusters.members[number][0]))
    for other, same in zip(clusters.label[near].tolist(), p.tolist(), strict=True):
        if other != number and other not in refused and clusters.size(other) > OUTLIER:
            return other, same
    return None


def _likeness(ground: Ground, item: int) -> tuple[Ints, Floats]:
    """The neighbours of an item, and the probabilities that they are the same."""
    near = ground.neighbors[item][ground.neighbors[item] >= 0]
    squared = distances(ground.vectors, np.full(len(near), item), near)
    return near, ground.pairs.same[ground.pairs.bins(squared)]
