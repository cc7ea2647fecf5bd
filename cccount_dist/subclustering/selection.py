"""K centroids among the candidates, improved one swap at a time: equation 2 of the paper, exactly.

    cost = Σ_k Σ_j d(c_k, I_kj) / λ  +  w Σ_{k<l} q(c_k, c_l),      q = -log(1 - exp(-d / λ))

A pair that is known to be the same, or has distance 0, costs infinitely much: costs are (number of such pairs, finite sum),
compared in this order. A pair that is known to be different costs nothing. Between candidates with others that are known to be
the same, d is the least distance of any two. The best swap is found by `swaps.py`. Memory O(K R), never R × R.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.constraints import Constraints
from cccount_dist.subclustering.candidates import Candidates
from cccount_dist.subclustering.distances import Int32s, Int64s
from cccount_dist.subclustering.swaps import Costs, Marks, Sums, best_swap


def pair_cost(distance: Costs, scale: float) -> Costs:
    """Return -log(1 - exp(-d / λ)), without losing digits where d is small; infinite where it is 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(-np.expm1(-distance / scale)))


class Selection:
    """The chosen candidates, under everything that is known.

    Parameters
    ----------
    candidates : the restricted set; it grows when no allowed swap is left
    known : what people said; nothing yet for passive subclustering
    chosen : (K,) places of the first centroids among the candidates
    scale : λ
    weight : of the second part of the cost; 2 is the paper's product over ordered pairs
    """

    def __init__(self, candidates: Candidates, known: Constraints, chosen: Int64s, scale: float, weight: float = 1.0) -> None:
        self.candidates = candidates
        self.chosen = chosen.copy()
        self.scale = scale
        self._known = known
        self._weight = weight
        self._touched: set[int] = set()  # items that answers are about, those that they are the same as included
        self._mark = np.zeros(candidates.items_in_all, np.bool_)
        self._rebuild()
        self._first_part()

    @property
    def centroids(self) -> Int64s:
        """The items that are centroids."""
        return self.candidates.items[self.chosen]

    @property
    def places(self) -> int:
        """K x R: how large it is."""
        return self._pairs.size

    @property
    def infinite_pairs(self) -> int:
        """How many pairs of centroids are known to be the same, or cannot be told apart by their vectors."""
        return int(self._infinite[:, self.chosen].sum()) // 2

    def cost(self) -> tuple[int, float]:
        """Return the cost of the present centroids."""
        self._first_part()
        return self.infinite_pairs, float(self._own[self.chosen].sum() + self._pairs[:, self.chosen].sum() / 2)

    def overlap(self) -> int:
        """Return how many pairs of subclusters have a nearest image in common."""
        return int(self._overlaps[:, self.chosen].sum() - len(self.chosen)) // 2

    def between(self, rows: Int64s | None = None) -> Costs:
        """Return the distances of all centroids to each other (K, K), or of some to all."""
        squared = self._squared if rows is None else self._squared[rows]
        return self.candidates.real(squared[:, self.chosen])

    def surplus(self) -> NDArray[np.bool_]:
        """Return which subclusters have a centroid that an earlier one has as well, as far as is known."""
        return np.asarray(np.tril(self._infinite[:, self.chosen], -1).any(axis=1))

    def set_scale(self, scale: float) -> None:
        self.scale = scale
        self._rebuild()

    def relate(self, u: int, v: int, *, revised: bool = False) -> None:
        """Take in an answer about two items; `revised`: another answer was taken back, so any pair may have changed."""
        sets = [np.array(items) for items in sorted({tuple(self._known.together(item)) for item in (u, v)})]
        for items in sets:
            self._touched.update(items.tolist())
        if revised:
            self._rebuild()
            return
        for items in sets:
            for name in items.tolist():  # a set is named after one of its items: names of merged sets fall away
                self._sets.pop(name, None)
            self._name_sets(items)
        groups = [places[places >= 0].astype(np.int64) for places in map(self.candidates.place, sets)]
        affected = np.isin(self.chosen, np.concatenate(groups))
        for k in np.flatnonzero(affected):
            self._row(int(k))
        others = np.flatnonzero(~affected)
        for places in groups:
            if len(places):
                self._columns(places, others)

    def optimise(self) -> None:
        """Swap until no allowed swap lowers the cost."""
        self._improve(thoroughly=True)

    def separate(self) -> list[int]:
        """Swap until no two centroids are known to be the same, and return which are others now.

        To go on to the optimum, as the paper does, moves centroids whose images were checked, and is slower; of three runs
        that were compared it took more questions in one and fewer in another.
        """
        before = self.chosen.copy()
        self._improve(thoroughly=False)
        return [int(k) for k in np.flatnonzero(before != self.chosen)]

    def _improve(self, *, thoroughly: bool) -> None:
        """Make the best swaps. Where infinite pairs are left the overlap rule is given up, and then the restricted set grows; if
        all that does not help there are fewer classes than centroids."""
        sums = self._sums()
        while thoroughly or self.infinite_pairs:
            if self.swap(sums):
                continue
            if not self.infinite_pairs:
                break
            if self.swap(sums, any_overlap=True):
                continue
            if not self.candidates.can_grow:
                break
            self.candidates.grow()
            self._rebuild()
            sums = self._sums()

    def swap(self, sums: Sums | None = None, *, any_overlap: bool = False) -> bool:
        """Make the swap that lowers the cost most, and return whether there was one."""
        sums = sums or self._sums()
        k, r = best_swap(self._own, self._pairs, self._infinite, self._overlaps, self.chosen, sums, any_overlap=any_overlap)
        if k < 0:
            return False
        sums.without(k)
        self.chosen[k] = r
        self._row(k)
        sums.with_(k)
        return True

    def _sums(self) -> Sums:
        self._first_part()
        return Sums(self._pairs, self._infinite, self._overlaps)

    def _rebuild(self) -> None:
        candidates = self.candidates
        shape = len(self.chosen), len(candidates)
        self._pairs, self._infinite, self._overlaps = np.empty(shape), np.empty(shape, np.int8), np.empty(shape, np.int8)
        self._squared = np.empty(shape, np.int32)
        # What each candidate would have as its subcluster. A place that nothing can fill holds the candidate once more.
        nearest = np.column_stack([candidates.items, candidates.index[:, : candidates.size - 1]])
        self._nearest = np.where(nearest < 0, nearest[:, :1], nearest)
        self._sets: dict[int, Int64s] = {}
        self._name_sets(np.array(sorted(self._touched), np.int64))
        for k in range(len(self.chosen)):
            self._row(k)

    def _name_sets(self, items: Int64s) -> None:
        """Write down which of these candidates are known to be the same: sets of two and more, by name."""
        places = self.candidates.place(items)
        items, places = items[places >= 0], places[places >= 0].astype(np.int64)
        names = self._known.names(items)
        for name in np.unique(names).tolist():
            if np.count_nonzero(names == name) > 1:
                self._sets[name] = places[names == name]
        sizes = [len(places) for places in self._sets.values()]
        self._starts = np.cumsum([0, *sizes])[:-1]
        self._grouped = np.concatenate(list(self._sets.values())) if sizes else np.empty(0, np.int64)

    def _first_part(self) -> None:
        """Compute the first part of the cost. Images known to be different leave, those known to be the same cost nothing."""
        candidates, wanted = self.candidates, self.candidates.size - 1
        self._own = candidates.real(candidates.squared[:, :wanted]).sum(axis=1) / self.scale
        touched = np.array(sorted(self._touched), np.int64)
        places = candidates.place(touched)
        items, places = touched[places >= 0], places[places >= 0]
        if not len(items) or not wanted:
            return
        names, sizes = np.unique(self._known.names(touched), return_counts=True)
        same = sizes[np.searchsorted(names, self._known.names(items))] - 1
        index = candidates.index[places].astype(np.int64)
        relation = self._known.relations(items, np.maximum(index, 0))
        unknown = (relation < 0) & (index >= 0)
        distance = candidates.real(candidates.squared[places])
        needed = np.maximum(wanted - same, 0)[:, None]
        used = unknown & (np.cumsum(unknown, axis=1) <= needed)
        # Beyond the list nothing is nearer than its end.
        lacking = needed[:, 0] - used.sum(axis=1)
        self._own[places] = ((distance * used).sum(axis=1) + lacking * distance[:, -1]) / self.scale

    def _row(self, k: int) -> None:
        candidates, place = self.candidates, int(self.chosen[k])
        relation = self._known.relations(candidates.items[place : place + 1], candidates.items)[0]
        self._squared[k] = self._set_distances(place)
        self._pairs[k], self._infinite[k] = self._costs(self._squared[k], relation)
        self._pairs[k, place], self._infinite[k, place] = 0.0, 0
        self._mark[self._nearest[place]] = True
        self._overlaps[k] = self._mark[self._nearest].any(axis=1)
        self._mark[self._nearest[place]] = False

    def _set_distances(self, place: int) -> Int32s:
        """Return the squared distance of each candidate to one of them: the least of any two that are known to be the same."""
        candidates = self.candidates
        own = self._sets.get(self._name(place), np.array([place]))
        squared: Int32s = candidates.squared_from(own).min(axis=0)
        if len(self._grouped):
            least = np.minimum.reduceat(squared[self._grouped], self._starts)
            squared[self._grouped] = np.repeat(least, np.diff(np.append(self._starts, len(self._grouped))))
        return squared

    def _name(self, place: int) -> int:
        return int(self._known.names(self.candidates.items[place : place + 1])[0])

    def _columns(self, places: Int64s, rows: Int64s) -> None:
        """Renew what candidates that are known to be the same cost beside the centroids of some rows."""
        squared = self._squared[np.ix_(rows, places)].min(axis=1)
        relation = self._known.relations(self.candidates.items[places[:1]], self.centroids[rows])[0]
        cost, infinite = self._costs(squared, relation)
        at = np.ix_(rows, places)
        self._squared[at], self._pairs[at], self._infinite[at] = squared[:, None], cost[:, None], infinite[:, None]

    def _costs(self, squared: Int32s, relation: Marks) -> tuple[Costs, Marks]:
        cost = self._weight * pair_cost(self.candidates.real(squared), self.scale)
        infinite = (relation == 1) | ((relation < 0) & (squared == 0))
        cost[infinite | (relation == 0)] = 0.0
        return cost, infinite.astype(np.int8)
