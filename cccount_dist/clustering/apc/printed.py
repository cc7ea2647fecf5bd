"""Active probabilistic clustering as it is printed: algorithms 1 and 2 of the paper, equations 2 to 6 and appendix B, N × N.

Where the paper is silent: clusters of one item are FPC's outliers and take no part (appendix C.4 leaves them out of k); a pair of
the list stands for the clusters that its two have become, and falls away if one of them was split; the smaller cluster's items
look for their nearest members in the other one; the closest subcluster is asked about first; K of the pseudo labels is
the elbow of k-means, unless it is told; no probability is surer than 1/10,000. Without a threshold P_l is
chosen as appendix C.1 recommends. Memory 16 N² bytes; time O(k² s²) for a list of k clusters of s items.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.apc.clusters import Clusters
from cccount_dist.clustering.apc.fpc import fpc
from cccount_dist.clustering.apc.parameters import ApcParameters
from cccount_dist.clustering.apc.probability import (
    SURE,
    Floats,
    Ints,
    between,
    entropy_drop,
    fit_map,
    neighbor_pairs,
    pseudo_classes,
)
from cccount_dist.clustering.elbow import kmeans_elbow
from cccount_dist.clustering.present import PresentRows
from cccount_dist.clustering.result import Grouping, numbered
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.programs import Asking, Program
from cccount_dist.sampling.types import DIFFERENT, SAME
from storage.errors import InputError

MOST_ITEMS = 6_000
RECOMMENDED = (0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)  # appendix C.1
_MIDDLE = (0.5, 0.7)  # appendix B.2: ranks from which the purity test's other item is drawn


@dataclass(frozen=True, slots=True)
class PrintedApc:
    """What the algorithm works on."""

    rows: PresentRows
    parameters: ApcParameters
    seed: int

    def begin(self) -> "RunningApc":
        vectors, neighbors = self.rows.vectors, self.rows.neighbors
        if len(vectors) > MOST_ITEMS:
            raise InputError(
                f"the printed form of apc holds n × n probabilities and works up to {MOST_ITEMS:,} items, and there are "
                f"{len(vectors):,}: leave --preset paper out"
            )
        away = between(vectors, np.arange(len(vectors)), np.arange(len(vectors)))
        sample = neighbor_pairs(vectors, neighbors)
        classes = self._pseudo_labels()
        same = sample.same(classes)
        start = fpc(vectors, neighbors, fit_map(sample.squared, same))
        return RunningApc(
            away, isotonic(np.sqrt(sample.squared.astype(np.float64)), same, np.sqrt(away)), start, self.parameters, self.seed
        )

    def _pseudo_labels(self) -> Ints:
        """Appendix B.1, step 1: k-means."""
        vectors, neighbors = self.rows.vectors, self.rows.neighbors
        count = self.parameters.pseudo_classes or kmeans_elbow(vectors, seed=self.seed).clusters
        return pseudo_classes(vectors, neighbors, count, self.seed)


def isotonic(distance: Floats, same: NDArray[np.bool_], wanted: Floats) -> Floats:
    """Return P(e = 1) at the wanted distances (n, n): appendix B.1, step 3, fitted on the neighbour pairs alone."""
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(increasing=False, y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(distance, same.astype(float))
    return np.asarray(np.clip(model.predict(wanted.ravel()).reshape(wanted.shape), SURE, 1.0 - SURE), np.float64)


class RunningApc:
    """The clustering Ω, the matrix P and the constraints, at one moment."""

    def __init__(self, away: Floats, p: Floats, start: Ints, parameters: ApcParameters, seed: int) -> None:
        self.p = p
        self.clusters = Clusters(start)
        self._away = away
        self._parameters = parameters
        self._seed = seed
        self._known = Constraints()
        self._level = parameters.threshold or self._recommended()

    def result(self) -> Grouping:
        return Grouping(numbered(self.clusters.label))

    def program(self) -> Program:
        """Algorithm 1."""
        for _ in range(self._parameters.epochs):
            for first, second in self.ranked(self._level):
                one, other = self.clusters.now(first), self.clusters.now(second)
                if one is None or other is None or one == other:
                    continue
                pure = ((yield from self._is_pure(one)), (yield from self._is_pure(other)))
                for number, passed in zip((one, other), pure, strict=True):
                    if not passed:
                        yield from self._partition(number)
                if not all(pure):
                    continue
                u, v = self.central(self.clusters.members[one])[0], self.central(self.clusters.members[other])[0]
                answer = yield u, v, "join"
                self._take(u, v, answer)
                if answer == SAME:
                    self.clusters.join(one, other)

    def ranked(self, level: float) -> list[tuple[int, int]]:
        """Return the pairs of clusters with a merge probability above P_l, the largest expected gain (equation 5) first."""
        first, second, p = self._probabilities()
        sizes = [np.array([self.clusters.size(int(c)) for c in side], float) for side in (first, second)]
        gain = p * entropy_drop(sizes[0], sizes[1], len(self.p)) if len(p) else p
        above = np.flatnonzero(p > level)
        order = above[np.argsort(-gain[above], kind="stable")]
        return [(int(first[at]), int(second[at])) for at in order]

    def _recommended(self) -> float:
        """Appendix C.1: the threshold with which about as many pairs are recalled as FPC has clusters."""
        _, _, p = self._probabilities()
        wanted = sum(len(members) > 1 for members in self.clusters.members.values())
        return min(RECOMMENDED, key=lambda level: (abs(int(np.count_nonzero(p > level)) - wanted), -level))

    def _probabilities(self) -> tuple[Ints, Ints, Floats]:
        numbers = [c for c in sorted(self.clusters.members) if self.clusters.size(c) > 1]
        pairs = [(a, b) for place, a in enumerate(numbers) for b in numbers[place + 1 :]]
        p = [self.merge_probability(self.clusters.members[a], self.clusters.members[b]) for a, b in pairs]
        both = np.array(pairs, np.int64).reshape(-1, 2)
        return both[:, 0], both[:, 1], np.array(p, np.float64)

    def merge_probability(self, one: Ints, other: Ints) -> float:
        """Return P (2), P× (3), P₊ (4) or P_c of two clusters."""
        kind = self._parameters.probability
        if kind == "centre":
            return float(self.p[self.central(one)[0], self.central(other)[0]])
        if len(one) > len(other):
            one, other = other, one
        p = self.p[np.ix_(one, other)]
        if kind != "all":
            near = np.argsort(self._away[np.ix_(one, other)], axis=1, kind="stable")[:, : self._parameters.nearest]
            p = np.take_along_axis(p, near, axis=1)
        if kind == "plus":
            added = self._parameters.added
            return float((added + p.sum()) / (2 * added + p.size))
        odds = np.clip(np.log(p / (1 - p)).sum(), -700.0, 700.0)
        return float(1 / (1 + np.exp(-odds)))

    def central(self, members: Ints) -> list[int]:
        """Return the members by l(i) = Σ log P/(1 - P), the central item first; equal ones in the order of items."""
        p = self.p[np.ix_(members, members)]
        odds = np.log(p / (1 - p))
        np.fill_diagonal(odds, 0.0)
        return [int(item) for item in members[np.argsort(-odds.sum(axis=1), kind="stable")]]

    def compactness(self, members: Ints) -> float:
        """Equation 6 by appendix B.2: the mean P of each item with the members of the ranks ⌊s/2⌋ to ⌊s/2⌋ + √s."""
        p = self.p[np.ix_(members, members)].copy()
        np.fill_diagonal(p, 2.0)  # an item is nearest to itself
        ranked = -np.sort(-p, axis=1)
        low = len(members) // 2
        return float(ranked[:, low : low + int(np.sqrt(len(members))) + 1].mean())

    def _is_pure(self, number: int) -> Generator[Asking, float | None, bool]:
        members = self.clusters.members[number]
        if len(members) == 1 or self.compactness(members) > self._parameters.compactness:
            return True
        first = self.central(members)[0]
        others = members[members != first]
        ranked = others[np.argsort(-self.p[first, others], kind="stable")]  # rank 1, 2, …: the central item has rank 0
        low, high = (int(share * len(members)) for share in _MIDDLE)
        # The draw depends on the cluster and the seed alone: a test that is repeated asks nothing new.
        chance = np.random.default_rng([self._seed, first, len(members)])
        second = int(ranked[chance.integers(max(low, 1), max(high, low, 1) + 1) - 1])
        answer = yield first, second, "purity"
        self._take(first, second, answer)
        return answer != DIFFERENT

    def _partition(self, number: int) -> Program:
        """Algorithm 2: items from the centre outwards; each is compared with the closest item of every subcluster."""
        members = self.clusters.members[number]
        groups: list[list[int]] = []
        for item in self.central(members):
            closest = [group[int(np.argmin(self._away[item, group]))] for group in groups]
            found = None
            for place in sorted(range(len(groups)), key=lambda at: (self._away[item, closest[at]], at)):
                answer = yield item, closest[place], "split"
                self._take(item, closest[place], answer)
                if answer == SAME:
                    found = place
                    break
            if found is None:
                groups.append([item])
            else:
                groups[found].append(item)
        self.clusters.split(number, [np.array(group) for group in groups])

    def _take(self, u: int, v: int, answer: float | None) -> None:
        """Algorithm 3, and P ← 1 - ε or ε for every pair that the answer settles."""
        if answer is None:
            return
        self._known.add(u, v, answer, str(len(self._known)))
        mine, others = np.array(self._known.together(u)), np.array(self._known.together(v))
        epsilon = self._parameters.epsilon
        if answer == SAME:
            self._set(mine, mine, 1 - epsilon)
            everybody = np.arange(len(self.p))
            apart = everybody[self._known.relations(mine[:1], everybody)[0] == 0]
            self._set(mine, apart, epsilon)
        else:
            self._set(mine, others, epsilon)

    def _set(self, one: Ints, other: Ints, p: float) -> None:
        self.p[np.ix_(one, other)] = p
        self.p[np.ix_(other, one)] = p
