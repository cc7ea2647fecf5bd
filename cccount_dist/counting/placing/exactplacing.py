"""Placing an item when answers are taken as right: ask about one member of every known cluster, the likeliest first.

The first "same" settles it; an item that differs from every cluster founds one. So the partition of the drawn items is exact.
An unsure answer is asked once more with another member; an item that stays unsure is set aside, never read as different.
"""

from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.placing.fast import Skip
from cccount_dist.counting.placing.state import LIKELY, PAGE_COST, TURN, Placing, Prospects, State, Turn, Value, Wanted

_CERTAINLY = 0.0, 1e9  # what an answer that is taken as right does to odds


class _Search:
    """What is known about one item: arrays over the clusters."""

    def __init__(self, state: State, item: int) -> None:
        self.state = state
        self.item = item
        self.slot = state.looks.slot(item)
        self.features = np.empty((0, state.looks.features))
        self.chance = np.empty(0)
        self.best = np.empty(0, np.int64)
        self.asked = np.empty(0, np.bool_)
        self.unsure = np.empty(0, np.int64)
        self.skip = Skip(state, self.slot)
        self.catch_up()

    def catch_up(self) -> None:
        """Take in clusters that were founded since."""
        known, count = len(self.chance), len(self.state.clusters)
        if count > known:
            features, best = self.state.looks.against(self.slot, self.state.clusters, known)
            self.features = np.concatenate([self.features, features])
            self.chance = np.concatenate([self.chance, self.state.probabilities(features, known)])
            self.best = np.concatenate([self.best, best])
            self.asked = np.concatenate([self.asked, np.zeros(count - known, np.bool_)])
            self.unsure = np.concatenate([self.unsure, np.zeros(count - known, np.int64)])

    def open(self) -> NDArray[np.int64]:
        """Clusters that were not asked about, the likeliest first."""
        left = np.flatnonzero(~self.asked & self.state.clusters.live[: len(self.asked)])
        return left[np.argsort(-self.chance[left], kind="stable")]

    def is_likely(self, cluster: int, left: NDArray[np.int64]) -> bool:
        odds = self.chance[left] / (1.0001 - self.chance[left])
        return bool(self.chance[cluster] / (1.0001 - self.chance[cluster]) > LIKELY * (odds.sum() + self.state.new_rate))

    def ends_here(self, left: NDArray[np.int64]) -> bool:
        """Whether nothing is left to ask, or so little that it may be skipped (`fast.py`)."""
        return (not self.unsure.any() and self.skip.allowed(self.features, left)) or not len(left)

    def member(self, cluster: int) -> int:
        """The place of the member that is asked about next: the most similar one; after it others, by turns."""
        if (early := self.state.early_place(self.item, cluster)) is not None:
            return early
        place = (int(self.best[cluster]) + int(self.unsure[cluster])) % int(self.state.clusters.held[cluster])
        other = self.state.fresh(self.item, cluster, place) if self.state.same_pair else None
        return place if other is None else other

    def wanted(self, chosen: NDArray[np.int64], *, paged: bool) -> Wanted:
        clusters = self.state.clusters
        others, again = [], False
        for cluster in chosen.tolist():
            held, tries = int(clusters.held[cluster]), int(self.unsure[cluster])
            others.append(self.state.item(cluster, self.member(cluster)))
            again = again or (tries > 0 and held == 1)
        return Wanted(self.item, tuple(others), "confirm unsure" if again else "place", paged)


class ExactPlacing(Placing):
    """Places one item; see the module."""

    def __init__(self, state: State, item: int) -> None:
        self._search = _Search(state, item)
        self._chosen = np.empty(0, np.int64)  # clusters that were asked about
        self._hit = -1
        self._waits_for_turn = False

    def go_on(self, values: Sequence[Value] = ()) -> Wanted | Turn | None:
        search = self._search
        if self._hit >= 0:
            _commit(search, self._hit)
            return None
        if self._waits_for_turn:
            search.catch_up()
            if search.ends_here(search.open()):
                _commit(search, self._hit)
                return None
        elif self._take(values):
            return TURN
        return self._next()

    def _take(self, values: Sequence[Value]) -> bool:
        """Take the answers in, and return whether one of them is "same"."""
        search = self._search
        for cluster, value in zip(self._chosen.tolist(), values, strict=True):
            if value is None:
                search.unsure[cluster] += 1
                again = not search.state.same_pair or search.state.fresh(search.item, cluster) is not None
                search.asked[cluster] = search.unsure[cluster] > 1 or not again
            else:
                search.asked[cluster] = True
                search.unsure[cluster] = 0
                search.state.clusters.settled[cluster] += 1
                self._hit = cluster if value >= 0.5 else self._hit
        return self._hit >= 0

    def _next(self) -> Wanted | Turn:
        search, grid = self._search, self._search.state.grid
        search.catch_up()
        left = search.open()
        self._waits_for_turn = search.ends_here(left)
        if self._waits_for_turn:
            return TURN
        early = [cluster for cluster, _, _ in search.state.early_clusters(search.item) if cluster in left]
        if early:  # what was asked before it was its turn comes before anything new is asked
            self._chosen = np.array(early)
            return search.wanted(self._chosen, paged=len(early) > 1)
        paged = grid > 1 and len(left) > PAGE_COST and not search.is_likely(int(left[0]), left)
        self._chosen = left[:grid] if paged else left[:1]
        return search.wanted(self._chosen, paged=paged)

    @property
    def decided(self) -> bool:
        return self._hit >= 0

    def prospects(self) -> Prospects | None:
        if self.decided:
            return None
        search = copy(self._search)
        search.skip = copy(search.skip)
        search.catch_up()
        live = search.state.clusters.live[: len(search.asked)]
        odds = np.where(live & ~search.asked, search.chance / (1.0001 - search.chance), 0.0)
        never = live & ~search.asked & (search.unsure == 0)

        def skips(left: NDArray[np.int64]) -> bool:
            return not search.unsure.any() and search.skip.allowed(search.features, left)

        new = search.state.new_rate
        return Prospects(search.item, search.slot, odds, never, new, _CERTAINLY, "place", search.member, skips)


def _commit(search: _Search, hit: int) -> None:
    state, clusters = search.state, search.state.clusters
    asked = np.flatnonzero(search.asked & (search.unsure == 0))
    unsure = np.flatnonzero((search.unsure > 0) & clusters.live[: len(search.unsure)])
    if hit < 0 and len(unsure):
        state.set_aside(search.item, unsure, settled=len(asked) > 0)
        return
    risk = search.skip.commit(matched=hit >= 0)
    if hit >= 0:
        clusters.join(hit, search.slot)
        state.place(hit, search.slot)
    else:
        founded = clusters.found(search.slot, state.new_rate)
        state.place(founded, search.slot)
        clusters.settled[founded] = len(asked)
        clusters.doubt[founded] = risk
        if state.shortcut.on:
            for cluster in asked.tolist():
                clusters.set_apart(founded, cluster, 1)
    state.placed += 1
    state.chances.learn(search.features[asked], int(np.searchsorted(asked, hit)) if hit >= 0 else None)
