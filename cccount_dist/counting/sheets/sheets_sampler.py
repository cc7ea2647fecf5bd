"""`sheets`: the collection is grouped by sheets, as in `clustering/catalogue`, and items of a random order say what is missing.

Three kinds of sheets take turns. One is about the next item of a uniform random order that is in no group yet: beside the groups
that it may belong to, and others that may be the same. One compares a group with the nearest others that it was never compared
with. One is what moves most items, as in `catalogue`: it finds classes much faster than a random sample does. So it is known of
each class of the random order whether sheets had found it before (`searched.py`); groups may be parts of others (`parts.py`).
When every item is in a group, what was found is the number. Memory and time of a glance as in `catalogue`, and O(K² p) for a
comparison of K groups; of a result some tenths of a second.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.choice import choose
from cccount_dist.clustering.catalogue.fitting import begun
from cccount_dist.clustering.catalogue.parameters import CatalogueParameters
from cccount_dist.clustering.catalogue.rates import SheetRates
from cccount_dist.clustering.catalogue.sheet import Sheet
from cccount_dist.clustering.catalogue.sheet_sampler import SheetSampler
from cccount_dist.clustering.catalogue.space import base_of
from cccount_dist.clustering.catalogue.state import State
from cccount_dist.counting.corrected import SEARCHED
from cccount_dist.counting.intervals import check_level
from cccount_dist.counting.order import random_order
from cccount_dist.counting.population import Population
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.sheets.parts import expected_parts, loose_groups
from cccount_dist.counting.sheets.searched import Searched, number_of
from storage.errors import InputError

JOINS = 0.8  # how likely a mark has to make it that an item belongs to a group
FEWEST = 4  # sheets about random items, before which nothing is said


class SheetsSampler(SheetSampler[CountResult]):
    """The sampler.

    Parameters
    ----------
    vectors : (n, d), an array or a memory map
    neighbors : (n, k), most similar first; -1 for an item without a vector
    degree : (n,), NaN for an item that is not counted
    given : the parameters, those of `catalogue`
    rates : how often cells are missed and falsely marked; None: learned
    right : whether answers are always right
    earlier : how many items there were before the collection grew, the oldest number first (`order.py`)
    """

    def __init__(
        self,
        vectors: NDArray[np.float32],
        neighbors: NDArray[np.int32],
        degree: NDArray[np.float64],
        given: CatalogueParameters,
        *,
        seed: int = 0,
        level: float = 0.95,
        rates: SheetRates | None = None,
        right: bool = False,
        earlier: Sequence[int] = (),
    ) -> None:
        population = Population(np.where(neighbors[:, 0] >= 0, degree, np.nan))
        if population.items < 2:
            raise InputError(f"counting needs at least 2 items with a vector, not {population.items}")
        if seed < 0:
            raise InputError(f"seed must not be negative, and is {seed}")
        self._level, self._right, self._all = check_level(level), right, population.items
        present = population.to_items(np.arange(self._all))
        number = np.full(len(neighbors) + 1, -1, np.int32)  # the last entry is that of -1
        number[present] = np.arange(self._all, dtype=np.int32)
        everybody = self._all == len(neighbors)
        lists = neighbors if everybody else number[neighbors[present]]
        self._order = random_order(seed, self._all, earlier)
        self._place = np.empty(self._all, np.int64)  # of each item in the order
        self._place[self._order] = np.arange(self._all)
        state = begun(base_of(vectors if everybody else vectors[present], lists), lists, given, seed, rates)
        state.sure = JOINS
        super().__init__(state, present, given.open, rates)

    def result(self) -> CountResult:
        """Return the estimate."""
        state = self._look()
        answered = sum(value is not None for value in self._said.values())
        found, placed = self._searched(state), len(state.book.clusters.placed)
        loose, seen = loose_groups(state), len(state.book.clusters.live)
        if found is None or 2 * loose > seen:  # nothing can be said of groups that nobody compared
            return CountResult(None, 1.0, float(self._all), self._level, 0, answered)
        exact = self._right and not found.left and self.done
        parts = 0.0 if exact else expected_parts(state)
        said = number_of(found, parts, self._level)
        low, stop_low = (max(end - loose, 1.0) for end in (said.low, said.stop[0]))
        details = {
            "items_placed": float(placed),
            "items_set_aside": float(found.left),
            SEARCHED: float(found.drawn),
            "stop_low": stop_low,
            "stop_high": said.stop[1],
            "false_splits": parts,
            "clusters_found": max(seen - parts, 1.0),
            "miss_rate": state.fit.rates.miss,
            "false_same_rate": state.fit.rates.false,
        }
        sizes = np.unique(state.book.clusters.size[state.book.clusters.live], return_counts=True)
        known = dict(zip(sizes[0].tolist(), sizes[1].tolist(), strict=True))
        certain = max(float(seen) - np.ceil(parts) - loose, 1.0)
        return CountResult(said.estimate, low, said.high, self._level, placed, answered, certain, details, known)

    def partition(self) -> list[list[int]]:
        """Return the groups that were found, each with its items; items that no sheet was about are in none."""
        clusters = self._look().book.clusters
        return [self._present[clusters.members[group]].tolist() for group in clusters.live.tolist()]

    def _chosen(self, state: State) -> tuple[State, Sheet | None]:
        return state, choose(state, self._order, counting=True)

    def _searched(self, state: State) -> Searched | None:
        """What random items and the sheets said of the classes; None before there are some."""
        book, clusters = state.book, state.book.clusters
        live, left = clusters.live, len(clusters.unplaced)
        if len(book.drawn) < FEWEST:
            return None
        end = np.array([self._place[item] for item, _, _ in book.drawn])  # of the random order, at each of its sheets
        drawn = self._order[: end[-1] + 1]
        label = clusters.label[drawn]
        there = np.flatnonzero(label >= 0)
        seen, first, counts = np.unique(label[there], return_index=True, return_counts=True)
        eldest = np.full(len(clusters.members), len(clusters.members))
        np.minimum.at(eldest, clusters.alias[: len(eldest)], np.arange(len(eldest)))
        sheet = np.searchsorted(end, there[first])  # by which the first item of each class was gone over
        founded, glance = np.array([row[1:] for row in book.drawn]).T[:, sheet]
        time = glance / max(len(state.asked), 1)
        return Searched(counts, eldest[seen] < founded, time, len(live) - len(seen), len(there), self._all, left)
