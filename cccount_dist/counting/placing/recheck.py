"""False splits: how many wrong answers have made, which clusters may be parts of others, and asking again about those.

Every old item had its cluster asked, so a match was found with probability 1 - m, and Σ m/(1 - m) over the matches is the number
of false splits made (Horvitz and Thompson), whatever the similarities say. Those only tell where to look, and which share has
been searched: by pairs, or by pages where a suspicion is spread over many clusters. Memory and time O(D²), after each fit.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.placing.odds import ACCEPT
from cccount_dist.counting.placing.state import PAGE_COST, Placing, State, Turn, Value, Wanted
from cccount_dist.sampling.types import CONFIRM

# Expected false splits for each cluster seen once: fewer are left, because subtracting them is enough. With pages, which settle
# many doubts at one glance, it pays to leave fewer.
_TOLERATED, _TOLERATED_BY_PAGES = 0.05, 0.02
_LARGEST_SHARE = 0.25  # of all questions
_LEAVE, _MOST = 0.3, 9  # odds at which a suspected split is left alone; answers on it
_START = 0.25  # false splits before the first match
_CERTAIN = 1e9  # what an answer does to odds that is taken as right
_OVERLOOKED = 0.08  # share of the false splits that re-checks do not find, however sure the doubts are


def false_splits(state: State) -> float:
    """Return the expected number of clusters seen that are parts of others."""
    if state.rates.exact and not state.shortcut.skipped:
        return 0.0
    return max(_suspected(state), _made(state) * _OVERLOOKED)


def _made(state: State) -> float:
    """Return how many false splits were made, found ones included."""
    found = state.merges if state.shortcut.rule.trusting else 0  # whose risk is only of those that are left
    return state.missed + (0.0 if state.rates.exact else _START) + state.shortcut.false_splits + found


def _suspected(state: State) -> float:
    """Return the part of the false splits that was not searched for yet."""
    doubt = float(state.clusters.doubt[: len(state.clusters)].sum())
    left = doubt / (doubt + max(state.merges, state.searched) + 1e-9)
    if not state.shortcut.rule.trusting:
        return _made(state) * left
    missed = 0.0 if state.rates.exact else (state.missed + _START) * left
    return missed + state.shortcut.false_splits


class Recheck(Placing):
    """Asks again about the likeliest false splits, as long as more are expected than are tolerated.

    A part is compared with the wholes that it may belong to on a page, and then with the likeliest one by pairs.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._odds = _odds(state)
        self._tolerated = _TOLERATED_BY_PAGES if state.grid > 1 else _TOLERATED
        if state.shortcut.skipped:  # what was allowed to be skipped is not asked after all, until few clusters are seen once
            self._tolerated = max(self._tolerated, state.shortcut.rule.tolerated)
        self._by_pair, self._by_page = _gains(self._odds, state.grid)
        self._part = -1
        self._before = 0.0  # doubt about the part
        self._wholes = np.empty(0, np.int64)
        self._factors: tuple[float, float] | None = None  # of "same" and "different" on the page that is being looked at
        self._tries: int | None = None  # pairs that were asked about, if that is what is going on

    def go_on(self, values: Sequence[Value] = ()) -> Wanted | Turn | None:
        if self._factors is not None:
            return self._after_page(self._factors, values)
        return self._begin() if self._tries is None else self._after_pair(values[0])

    def _begin(self) -> Wanted | None:
        state, odds = self._state, self._odds
        clusters = state.clusters
        if _suspected(state) > self._tolerated * (1 + clusters.once) and state.rechecks < _LARGEST_SHARE * state.effort:
            self._part = part = int(np.argmax(np.maximum(self._by_pair, self._by_page)))
            if self._by_pair[part] <= state.shortcut.rule.gain:
                return None
            self._before = float(clusters.doubt[part])
            count = state.grid if self._by_page[part] > self._by_pair[part] else 1
            wholes = np.argsort(-odds[part], kind="stable")[:count]
            self._wholes = wholes[odds[part, wholes] > 0.0]
            if state.same_pair and not self._can_ask():
                return self._begin()
            return self._page() if len(self._wholes) > 1 else self._pair(int(self._wholes[0]), 0)
        return None

    def _can_ask(self) -> bool:
        """Keep only the wholes that have a member beside which one of the part may be shown; False if none is left.

        The doubt about the others stays, and widens the interval: nobody can say more about them.
        """
        part, odds = self._part, self._odds
        used_up = [whole for whole in self._wholes.tolist() if _other_pair(self._state, part, whole) is None]
        if used_up:
            odds[part, used_up] = 0.0
            (self._by_pair[part],), (self._by_page[part],) = _gains(odds[part : part + 1], self._state.grid)
        self._wholes = np.array([whole for whole in self._wholes.tolist() if whole not in used_up], np.int64)
        return len(self._wholes) > 0

    def _page(self) -> Wanted:
        """Show a member of the part beside the wholes."""
        state, rates, clusters, part = self._state, self._state.rates, self._state.clusters, self._part
        self._factors = (
            (_factor(state, same=True), _factor(state, same=False))
            if rates.exact
            else ((1.0 - rates.page_miss) / (0.5 * rates.page_false), rates.page_miss / (1.0 - rates.page_false))
        )
        item = state.item(part, int(clusters.apart[part].max()) % int(clusters.held[part]))
        state.rechecks += PAGE_COST
        places = [(state.fresh(item, whole) if state.same_pair else 0) for whole in self._wholes.tolist()]
        if any(place is None for place in places):  # other members of the part have some left: by pairs
            state.rechecks -= PAGE_COST
            self._factors = None
            return self._pair(int(self._wholes[0]), 0)
        others = tuple(state.item(whole, place or 0) for whole, place in zip(self._wholes.tolist(), places, strict=True))
        return Wanted(item, others, f"{CONFIRM} split", paged=True)

    def _after_page(self, factors: tuple[float, float], values: Sequence[Value]) -> Wanted | None:
        same, different = factors
        part, odds = self._part, self._odds
        self._factors = None
        for whole, value in zip(self._wholes.tolist(), values, strict=True):
            if value is not None and value >= 0.5:
                odds[part, whole] *= same
            elif value is not None:
                odds[part, whole] *= different
                self._state.clusters.set_apart(part, whole, 1)
        picked = int(np.argmax(odds[part]))
        if self._state.same_pair and _other_pair(self._state, part, picked) is None:
            return self._end(picked if odds[part, picked] / (1.0 + odds[part].sum()) > ACCEPT else None)
        return self._pair(picked, 0) if odds[part, picked] > _LEAVE else self._end(None)

    def _pair(self, whole: int, tries: int) -> Wanted:
        """Ask about other and other members until it is a false split, or hardly one."""
        state, clusters, part = self._state, self._state.clusters, self._part
        self._wholes, self._tries = np.array([whole]), tries
        others = state.item(whole, (tries + 1) % int(clusters.held[whole]))  # not the one that was asked at its birth
        item = state.item(part, tries % int(clusters.held[part]))
        if state.same_pair and (pair := _other_pair(state, part, whole)) is not None:
            item, others = pair
        state.rechecks += 1
        return Wanted(item, (others,), f"{CONFIRM} split")

    def _after_pair(self, value: Value) -> Wanted | None:
        part, whole, odds = self._part, int(self._wholes[0]), self._odds
        if value is not None:
            odds[part, whole] *= _factor(self._state, same=value >= 0.5)
            if value < 0.5:
                self._state.clusters.set_apart(part, whole, 1)
        now = float(odds[part, whole] / (1.0 + odds[part].sum()))
        tries = (self._tries or 0) + 1
        asks = tries < _MOST and not (self._state.same_pair and _other_pair(self._state, part, whole) is None)
        if asks and not (now > ACCEPT or now < _LEAVE):
            return self._pair(whole, tries)
        self._tries = None
        if _LEAVE <= now <= ACCEPT:  # answers disagree for ever, or nobody can say: look elsewhere
            odds[part, whole] = 0.0
        return self._end(whole if now > ACCEPT else None)

    def _end(self, merged: int | None) -> Wanted | None:
        """Merge the part, or doubt it less; then look for the next one."""
        state, clusters, part, odds = self._state, self._state.clusters, self._part, self._odds
        if merged is not None:
            clusters.merge(part, merged)
            state.merges += 1
            if state.grid > 1 and not state.rates.exact:  # the page at its birth had missed it
                state.rates.page_matches += 1
                state.rates.page_missed += 1
            state.searched += self._before
            odds[part], odds[:, part] = 0.0, 0.0
            self._by_pair, self._by_page = _gains(odds, state.grid)
        else:
            total = float(odds[part].sum())
            clusters.doubt[part] = total / (1.0 + total)
            state.searched += max(0.0, self._before - float(clusters.doubt[part]))
            (self._by_pair[part],), (self._by_page[part],) = _gains(odds[part : part + 1], state.grid)
        return self._begin()


def _other_pair(state: State, part: int, whole: int) -> tuple[int, int] | None:
    """Members of two clusters that were least shown beside each other, of equals the first; None if none may be again."""
    found: tuple[int, int] | None = None
    least = state.same_pair
    for place in range(int(state.clusters.held[part])):
        item = state.item(part, place)
        if (at := state.fresh(item, whole)) is not None:
            other = state.item(whole, at)
            if (times := state.shown[min(item, other), max(item, other)]) < least:
                found, least = (item, other), times
    return found


def _gains(odds: NDArray[np.float64], grid: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return, for each part (row), the doubt that the best pair removes, and what the best page does for the cost of a pair."""
    share = odds / (1.0 + odds.sum(axis=1, keepdims=True))
    count = share.shape[1]
    if grid == 1 or count <= PAGE_COST:
        return share.max(axis=1), np.zeros(len(share))
    top = share if count <= grid else np.partition(share, count - grid, axis=1)[:, count - grid :]
    return share.max(axis=1), top.sum(axis=1) / PAGE_COST


def _factor(state: State, *, same: bool) -> float:
    if state.rates.exact:
        return _CERTAIN if same else 1.0 / _CERTAIN
    miss, false_same = state.rates.miss, state.rates.false_same
    return (1.0 - miss) / false_same if same else miss / (1.0 - false_same)


def _odds(state: State) -> NDArray[np.float64]:
    """Odds that a cluster (row) is a part of another that is not smaller (column); the doubt about each is set from them."""
    clusters, count = state.clusters, len(state.clusters)
    live, sizes = clusters.live[:count], clusters.size[:count]
    odds = np.zeros((count, count))
    different = _factor(state, same=False)
    paged = state.grid > 1 and not state.rates.exact
    first = state.rates.page_miss / (1.0 - state.rates.page_false) if paged else different
    for part in np.flatnonzero(live).tolist():
        features, _ = state.looks.against(int(clusters.members[part, 0]), clusters)
        chance = state.probabilities(features, 0, state.shortcut.rule.floor if state.shortcut.rule.trusting else None)
        apart = clusters.apart[part, :count].astype(np.float64)
        evidence = np.where(apart > 0, first * different ** (apart - 1), 1.0)
        row = chance / (1.0001 - chance) / clusters.born[part] * evidence
        numbers = np.arange(count)
        larger = live & ((sizes > sizes[part]) | ((sizes == sizes[part]) & (numbers < part)))
        odds[part] = np.where(larger, row, 0.0)
        total = float(odds[part].sum())
        clusters.doubt[part] = total / (1.0 + total)
    return odds
