"""Which images stand in each subcluster: its centroid, images that are known to be the same, and then the nearest ones.

An image stands in one subcluster only. An image that is known to be different from its centroid, or about which nobody could
tell, is replaced by the one that is nearest to any checked image of the subcluster; where nothing is left the place stays empty.
At the start lists of nearest images come from the candidates; for checked images, and when a list is used up, one pass over the
vectors makes them. Time O(K n) for an answer, O(n d) for such a pass; memory O(n).
"""

from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.constraints import Constraints
from cccount_dist.subclustering.candidates import Candidates, Lists
from cccount_dist.subclustering.distances import Int64s
from cccount_dist.subclustering.result import EMPTY

Pair = tuple[int, int]
_LONGER = 4  # times as long is a list that was used up


def pair_of(u: int, v: int) -> Pair:
    """Return two items in one order.

    >>> pair_of(5, 3)
    (3, 5)
    """
    return (u, v) if u < v else (v, u)


class Members:
    """K x n places.

    Parameters
    ----------
    candidates, known : as for `Selection`
    unsure : pairs about which nobody could tell
    chosen : (K,) places of the centroids among the candidates
    """

    def __init__(self, candidates: Candidates, known: Constraints, unsure: Collection[Pair], chosen: Int64s) -> None:
        self._candidates = candidates
        self._known = known
        self._unsure = unsure
        self._chosen = chosen.copy()
        shape = len(chosen), candidates.size
        self.items = np.full(shape, EMPTY, np.int64)
        self.distance = np.full(shape, np.nan)  # to the centroid
        self.reach = np.full(shape, np.nan)  # to the nearest image that was checked when the image was put there
        self._held = np.zeros(candidates.items_in_all, np.bool_)
        self._length = candidates.length
        self._lists: dict[int, Lists] = {}  # of items that are or were checked
        self._exhausted: set[int] = set()  # subclusters for which nothing is left
        self._place_centroids(range(len(chosen)))
        self._share_out()

    def relation(self) -> NDArray[np.int8]:
        """Return for each place: 1 known to be the same as the centroid, 0 different, -1 unknown or empty."""
        found = self._known.relations(self.items[:, 0], np.maximum(self.items, 0))
        found[self.items == EMPTY] = -1
        return found

    def relation_of(self, k: int) -> NDArray[np.int8]:
        """Return the same for one subcluster."""
        found: NDArray[np.int8] = self._known.relations(self.items[k, :1], np.maximum(self.items[k], 0))[0]
        found[self.items[k] == EMPTY] = -1
        return found

    def recentre(self, chosen: Int64s, changed: Collection[int]) -> None:
        """Give the subclusters that have another centroid other images."""
        for k in changed:
            self._held[self.items[k][self.items[k] != EMPTY]] = False
            self.items[k], self.distance[k], self.reach[k] = EMPTY, np.nan, np.nan
        self._exhausted.clear()
        self._chosen = chosen.copy()
        self._place_centroids(changed)
        for k in changed:
            self._fill_nearest(k)

    def _fill_nearest(self, k: int) -> None:
        """Fill a subcluster that has its centroid only: in most cases from the centroid's own list, all at once."""
        first = 1
        if not self._spare(k):
            index, squared = self._lists[int(self.items[k, 0])]
            free = (index >= 0) & ~self._held[index]
            free[free] = self._known.relations(self.items[k, :1], index[free].astype(np.int64))[0] != 0
            if not self._unsure:
                taken = np.flatnonzero(free)[: self.items.shape[1] - 1]
                first = 1 + len(taken)
                self.items[k, 1:first] = index[taken]
                self.distance[k, 1:first] = self.reach[k, 1:first] = self._candidates.real(squared[taken])
                self._held[index[taken]] = True
        for place in range(first, self.items.shape[1]):
            self._fill(k, place)

    def repair(self, answered: Pair) -> None:
        """After an answer about two items, replace what cannot stay; what was not checked makes room for what is."""
        relation = self.relation()
        for k, place in np.argwhere(relation == 0).tolist():
            self._clear(k, place)
            self._fill(k, place)
        if answered in self._unsure:
            for k, place in np.argwhere(relation < 0).tolist():
                if self.items[k, place] in answered and self.items[k, 0] in answered:
                    self._clear(k, place)
                    self._fill(k, place)
        for k, place in np.argwhere(self.items == EMPTY).tolist():
            self._fill(k, place)
        for k in np.flatnonzero(np.isin(self._known.names(self.items[:, 0]), self._known.names(np.array(answered)))).tolist():
            self._use_spare(k)

    def _use_spare(self, k: int) -> None:
        """Put images that are known to be the same and stand nowhere in the place of the farthest unchecked ones."""
        unchecked = np.flatnonzero((self.relation_of(k) < 0) & (self.items[k] != EMPTY))
        places = unchecked[np.argsort(-self.reach[k, unchecked], kind="stable")].tolist()
        for place, item in zip(places, self._spare(k), strict=False):
            self._clear(k, place)
            self._put(k, place, item)

    def _spare(self, k: int) -> list[int]:
        return [item for item in self._known.together(int(self.items[k, 0])) if not self._held[item]]

    def _fill(self, k: int, place: int) -> None:
        spare = self._spare(k)
        item = spare[0] if spare else self._next(k)
        if item is not None:
            self._put(k, place, item)

    def _next(self, k: int) -> int | None:
        """Return the image that is nearest to a checked one, stands nowhere and may stand here."""
        if k in self._exhausted:
            return None
        centroid = int(self.items[k, 0])
        length = self._length
        while True:
            index, squared = self._lists_of(k, length)
            free = ~self._held[index]
            free[free] = self._known.relations(self.items[k, :1], index[free])[0] != 0
            index, squared = index[free], squared[free]
            for at in np.lexsort((index, squared)).tolist():
                if pair_of(centroid, int(index[at])) not in self._unsure:
                    return int(index[at])
            if length >= len(self._held):
                self._exhausted.add(k)
                return None
            length *= _LONGER

    def _lists_of(self, k: int, length: int) -> tuple[Int64s, Int64s]:
        """Return the nearest images of the checked ones of a subcluster, and how near they are."""
        checked = self.items[k][self.relation_of(k) == 1]
        if length > self._length:  # rare: what is near is used up, and the centroid's own list must do
            checked = checked[:1]
            lists = [self._candidates.lists_of(checked, length)]
        else:
            new = np.array([item for item in checked.tolist() if item not in self._lists], np.int64)
            if len(new):
                index, squared = self._candidates.lists_of(new, length)
                self._lists.update(zip(new.tolist(), zip(index, squared, strict=True), strict=True))
            lists = [self._lists[item] for item in checked.tolist()]
        items, distances = (np.concatenate([np.ravel(part[which]) for part in lists]).astype(np.int64) for which in (0, 1))
        return items[items >= 0], distances[items >= 0]

    def _put(self, k: int, place: int, item: int) -> None:
        checked = self.items[k][self.relation_of(k) == 1]
        self.items[k, place] = item
        distances = self._candidates.distances_to(item, checked)
        self.distance[k, place], self.reach[k, place] = distances[0], distances.min()
        self._held[item] = True

    def _clear(self, k: int, place: int) -> None:
        item = int(self.items[k, place])
        if item == EMPTY:
            return
        self.items[k, place] = EMPTY
        self.distance[k, place] = self.reach[k, place] = np.nan
        self._held[item] = False
        wanted_by = [other for other in self._exhausted if self._known.known(int(self.items[other, 0]), item) != 0.0]
        self._exhausted.difference_update(wanted_by)

    def _place_centroids(self, changed: Iterable[int]) -> None:
        for k in changed:
            place = int(self._chosen[k])
            centroid = int(self._candidates.items[place])
            elsewhere = np.argwhere(self.items == centroid).tolist() if self._held[centroid] else []
            for other, at in elsewhere:
                self._clear(other, at)
            self._put_centroid(k, centroid)
            self._lists[centroid] = self._candidates.index[place], self._candidates.squared[place]

    def _put_centroid(self, k: int, centroid: int) -> None:
        self.items[k, 0] = centroid
        self.distance[k, 0] = self.reach[k, 0] = 0.0
        self._held[centroid] = True

    def _share_out(self) -> None:
        """Fill all places at the start: of several subclusters that want an image, the nearest has it."""
        index, squared = self._candidates.index[self._chosen], self._candidates.squared[self._chosen]
        filled = np.ones(len(index), np.int64)
        for number in np.argsort(squared, axis=None, kind="stable").tolist():
            k, item = number // index.shape[1], int(index.flat[number])
            if item >= 0 and filled[k] < self.items.shape[1] and not self._held[item]:
                self._put(k, int(filled[k]), item)
                filled[k] += 1
        for k, place in np.argwhere(self.items == EMPTY).tolist():
            self._fill(k, place)
