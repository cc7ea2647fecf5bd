"""Active subclustering as it is printed: equations 1 to 3 and algorithm 1 of the paper, if wanted with appendix B.1.

    cost = Σ_k Σ_j d(c_k, I_kj) / λ  +  w Σ_{k<l} -log(1 - P(c_k = c_l)),    P = exp(-d / λ), 1 or 0 once people said so

w = 2 is the product over ordered pairs of equation 1. Where the paper is silent: the first candidates of the random order are the
first centroids; of equal swaps and of equal utilities the first counts, between-class pairs before within-class ones; λ is
guessed from K unless it is told; a pair about which nobody could tell keeps its probability and is not asked again. Subclusters
may overlap, as in the paper; in the result an image stands where its centroid is nearest, and elsewhere a place is
empty. Memory 17 R² bytes for a restricted set of R; time O(K R) for a swap and a question.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cccount_dist.sampling.programs import Program
from cccount_dist.sampling.types import DIFFERENT, SAME
from cccount_dist.subclustering.calibration import first_scale
from cccount_dist.subclustering.candidates import Candidates
from cccount_dist.subclustering.distances import Int64s
from cccount_dist.subclustering.passive import Options
from cccount_dist.subclustering.result import EMPTY, Subclusters
from cccount_dist.subclustering.selection import pair_cost
from storage.errors import InputError

MOST_CANDIDATES = 6_000
BETWEEN, WITHIN = "between", "within"
_LEAST = 1e-9  # what a swap must save: below that it is rounding
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PrintedSubclustering:
    """What the algorithm works on; `thresholding`: a place that is being filled comes first, up to q_th questions."""

    candidates: Candidates
    options: Options
    thresholding: bool = False

    def begin(self) -> "RunningSubclustering":
        if len(self.candidates) > MOST_CANDIDATES:
            raise InputError(
                f"the printed form holds the distances of all {len(self.candidates):,} candidates, and works up to "
                f"{MOST_CANDIDATES:,}: give --parameter restricted={MOST_CANDIDATES}, or leave --preset paper out"
            )
        return RunningSubclustering(self.candidates, self.options, thresholding=self.thresholding)


class RunningSubclustering:
    """The centroids C, the images of their subclusters, and what people said."""

    def __init__(self, candidates: Candidates, options: Options, *, thresholding: bool) -> None:
        self._candidates, self._options, self._thresholding = candidates, options, thresholding
        self.scale = options.scale if options.scale is not None else first_scale(candidates, options.clusters)
        distance = candidates.real(candidates.squared_from(np.arange(len(candidates))))
        self._p: Floats = np.exp(-distance / self.scale)  # P of any two candidates
        self._cost: Floats = options.weight * pair_cost(distance, self.scale)
        np.fill_diagonal(self._cost, 0.0)
        wanted = options.size - 1
        self._own: Floats = candidates.real(candidates.squared[:, :wanted]).sum(axis=1) / self.scale  # step (a)
        self._overlaps = _overlaps(candidates, wanted)
        self.chosen: Int64s = np.arange(options.clusters)
        self._said: dict[tuple[int, int], float | None] = {}
        self.members = np.full((options.clusters, options.size), EMPTY, np.int64)
        self._tries = np.zeros(self.members.shape, np.int64)  # questions in a row about a place that is being filled
        self._asked, self._disagreed = [0, 0], [0, 0]  # within, between
        self.optimise()
        for k in range(options.clusters):
            self._assign(k)

    def result(self) -> Subclusters:
        members = self._without_overlap()
        filled = members != EMPTY
        checked = np.zeros(filled.shape, np.bool_)
        distance = np.full(filled.shape, np.nan)
        for k, (centroid, *_) in enumerate(members.tolist()):
            row = members[k][filled[k]]
            distance[k, filled[k]] = self._candidates.distances_to(centroid, row)
            checked[k, filled[k]] = [item == centroid or self._said.get(_pair(centroid, item)) == SAME for item in row.tolist()]
        surplus = np.zeros(len(members), np.bool_)
        return Subclusters(members, checked, distance, surplus, self.scale, len(self._candidates))

    def _without_overlap(self) -> Int64s:
        """Return the members with each image in one subcluster: its own, or the first of those whose centroid is nearest."""
        members = self.members.copy()
        centroids = members[:, 0]
        for item in np.unique(members[members != EMPTY]).tolist():
            rows = np.flatnonzero((members == item).any(axis=1))
            if len(rows) > 1:
                own = np.flatnonzero(centroids == item)
                kept = int(own[0]) if len(own) else int(rows[self._candidates.distances_to(item, centroids[rows]).argmin()])
                for k in rows[rows != kept].tolist():
                    members[k][members[k] == item] = EMPTY
        return members

    # -- passive: section 4.2 -------------------------------------------------------------------------------------------

    def optimise(self) -> None:
        """Steps (c) to (e): make the valid replacement that lowers the cost most, until there is none."""
        while (found := self._best_replacement()) is not None:
            self.chosen[found[0]] = found[1]

    def _best_replacement(self) -> tuple[int, int] | None:
        endless, finite = np.isinf(self._cost), np.where(np.isinf(self._cost), 0.0, self._cost)
        mine = self.chosen
        overlaps = self._overlaps[mine]
        without = overlaps.sum(axis=0) - overlaps  # (K, R): how many of the others r would overlap with, in the place of k
        allowed = without <= np.diag(without[:, mine])[:, None]
        allowed[:, mine] = False
        sums = self._own + finite[mine].sum(axis=0) - finite[mine]
        counts = endless[mine].sum(axis=0) - endless[mine]
        change = sums - np.diag(sums[:, mine])[:, None]
        fewer = counts - np.diag(counts[:, mine])[:, None]
        allowed &= (fewer < 0) | ((fewer == 0) & (change < -_LEAST))
        if not allowed.any():
            return None
        allowed &= fewer == fewer[allowed].min()
        k, r = np.unravel_index(int(np.where(allowed, change, np.inf).argmin()), change.shape)
        return int(k), int(r)

    def _assign(self, k: int) -> None:
        """Give a subcluster the n - 1 images that are closest to its centroid, without those that are known to differ."""
        place = int(self.chosen[k])
        centroid = int(self._candidates.items[place])
        self.members[k], self._tries[k] = EMPTY, 0
        self.members[k, 0] = centroid
        for at in range(1, self.members.shape[1]):
            self.members[k, at] = self._closest(k, set(self.members[k].tolist()))

    def _closest(self, k: int, but: set[int]) -> int:
        """Return the image closest to the centroid that is none of these and not known to differ from it; -1 if none is left."""
        place, length = int(self.chosen[k]), self._candidates.length
        centroid = int(self._candidates.items[place])
        items = self._candidates.index[place]
        while True:
            for item in items.tolist():
                if item >= 0 and item not in but and self._said.get(_pair(centroid, item)) != DIFFERENT:
                    return int(item)
            if (items < 0).any() or length >= self._candidates.items_in_all - 1:
                return EMPTY
            length = min(4 * length, self._candidates.items_in_all - 1)
            items = self._candidates.lists_of(np.array([centroid]), length)[0][0]

    # -- active: section 5 and algorithm 1 ------------------------------------------------------------------------------

    def program(self) -> Program:
        while (found := self._most_useful()) is not None:
            purpose, k, at = found
            u, v = (
                self._candidates.items[self.chosen[[k, at]]].tolist() if purpose == BETWEEN else self.members[k, [0, at]].tolist()
            )
            answer = yield u, v, purpose
            self._said[_pair(u, v)] = answer
            self._count(purpose == BETWEEN, answer)
            if purpose == BETWEEN:
                self._learn_between(k, at, answer)
            elif answer == DIFFERENT:
                self._tries[k, at] += 1
                self.members[k, at] = self._closest(k, {EMPTY, *self.members.ravel().tolist()})
            else:
                self._tries[k, at] = 0

    def _learn_between(self, i: int, j: int, answer: float | None) -> None:
        if answer is None:
            return
        a, b = self.chosen[[i, j]]
        self._p[a, b] = self._p[b, a] = answer
        self._cost[a, b] = self._cost[b, a] = np.inf if answer == SAME else 0.0
        if answer == SAME:
            before = self.chosen.copy()
            self.optimise()
            for k in np.flatnonzero(before != self.chosen).tolist():
                self._assign(k)

    def utilities(self) -> tuple[Floats, Floats]:
        """Return U of all pairs of centroids (K, K) and of all images with their centroids (K, n): equation 3."""
        between = self._p[np.ix_(self.chosen, self.chosen)].copy()
        np.fill_diagonal(between, 0.0)
        within = np.zeros(self.members.shape)
        stays = 1.0 - between.max(axis=1, initial=0.0)
        for k, row in enumerate(self.members.tolist()):
            others = np.array([item for item in row[1:] if item != EMPTY], np.int64)
            p = np.exp(-self._candidates.distances_to(row[0], others) / self.scale)
            within[k, 1:][self.members[k, 1:] != EMPTY] = (1.0 - p) * stays[k]
        return between, within

    def _most_useful(self) -> tuple[str, int, int] | None:
        """Return the pair that nobody was asked about with the largest utility; None if everybody was."""
        between, within = self.utilities()
        centroids = self._candidates.items[self.chosen].tolist()
        open_between = np.array([[i < j and _pair(u, v) not in self._said for j, v in enumerate(centroids)]
                                 for i, u in enumerate(centroids)], np.bool_)  # fmt: skip
        open_within = np.array([[item != EMPTY and item != row[0] and _pair(row[0], item) not in self._said for item in row]
                                for row in self.members.tolist()], np.bool_)  # fmt: skip
        if self._thresholding:
            waits = self._tries >= self._limit()
            if (open_within & (self._tries > 0) & ~waits).any():
                open_between[:], open_within = False, open_within & (self._tries > 0) & ~waits
            within = np.where(waits, -1.0, within)  # asked about later
        best_between, best_within = _largest(between, open_between), _largest(within, open_within)
        if best_between is not None and (best_within is None or between[best_between] >= within[best_within]):
            return BETWEEN, *best_between
        return None if best_within is None else (WITHIN, *best_within)

    def _limit(self) -> float:
        """q_th = H_bc / H_wc: questions for each disagreement, between classes and within them."""
        within, between = (asked / max(no, 1) for asked, no in zip(self._asked, self._disagreed, strict=True))
        return max(1.0, between / within) if within else 1.0

    def _count(self, between: bool, answer: float | None) -> None:  # noqa: FBT001
        self._asked[between] += 1
        self._disagreed[between] += answer == (SAME if between else DIFFERENT)


def _overlaps(candidates: Candidates, wanted: int) -> NDArray[np.int64]:
    """Return which candidates' subclusters would have an image in common (R, R), each with itself included."""
    images = np.column_stack([candidates.items, candidates.index[:, :wanted]])
    images = np.where(images < 0, images[:, :1], images)
    rows = np.repeat(np.arange(len(images)), images.shape[1])
    ones = np.ones(images.size, np.int32)
    held = csr_array((ones, (rows, images.ravel())), shape=(len(images), candidates.items_in_all))
    return ((held @ held.T).toarray() > 0).astype(np.int64)


def _largest(values: Floats, allowed: NDArray[np.bool_]) -> tuple[int, int] | None:
    if not allowed.any():
        return None
    row, column = np.unravel_index(int(np.where(allowed, values, -np.inf).argmax()), values.shape)
    return int(row), int(column)


def _pair(u: int, v: int) -> tuple[int, int]:
    return (u, v) if u < v else (v, u)
