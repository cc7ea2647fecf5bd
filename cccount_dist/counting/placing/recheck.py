"""False splits: how many wrong answers have made, which clusters may be parts of others, and asking again about those.

Every old item had its cluster asked, so a match was found with probability 1 - m, and Σ m/(1 - m) over the matches is the number
of false splits made (Horvitz and Thompson), whatever the similarities say. Those only tell where to look, and which share has
been searched: by pairs, or by pages where a suspicion is spread over many clusters. Memory and time O(D²), after each fit.
"""

from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.placing.fast import TOLERATED
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
    return state.missed + (0.0 if state.rates.exact else _START) + state.shortcut.false_splits


def _suspected(state: State) -> float:
    """Return the part of the false splits that was not searched for yet."""
    doubt = float(state.clusters.doubt[: len(state.clusters)].sum())
    return _made(state) * doubt / (doubt + max(state.merges, state.searched) + 1e-9)


def recheck(state: State) -> Placing:
    """Ask again about the likeliest false splits, as long as more are expected than are tolerated."""
    clusters = state.clusters
    odds = _odds(state)
    tolerated = _TOLERATED_BY_PAGES if state.grid > 1 else _TOLERATED
    if state.shortcut.skipped:  # what was allowed to be skipped is not asked after all, until few clusters are seen once
        tolerated = max(tolerated, TOLERATED)
    by_pair, by_page = _gains(odds, state.grid)
    while _suspected(state) > tolerated * (1 + clusters.once) and state.rechecks < _LARGEST_SHARE * state.effort:
        part = int(np.argmax(np.maximum(by_pair, by_page)))
        if by_pair[part] <= 0.0:
            return
        before = float(clusters.doubt[part])
        wholes = np.argsort(-odds[part], kind="stable")[: state.grid if by_page[part] > by_pair[part] else 1]
        wholes = wholes[odds[part, wholes] > 0.0]
        picked = int(wholes[0])
        if len(wholes) > 1:
            yield from _look_at_page(state, odds, part, wholes)
            picked = int(np.argmax(odds[part]))
        merged = False
        if len(wholes) == 1 or odds[part, picked] > _LEAVE:
            merged = yield from _look_at_pair(state, odds, part, picked)
        if merged:
            clusters.merge(part, picked)
            state.merges += 1
            if state.grid > 1 and not state.rates.exact:  # the page at its birth had missed it
                state.rates.page_matches += 1
                state.rates.page_missed += 1
            state.searched += before
            odds[part], odds[:, part] = 0.0, 0.0
            by_pair, by_page = _gains(odds, state.grid)
        else:
            total = float(odds[part].sum())
            clusters.doubt[part] = total / (1.0 + total)
            state.searched += max(0.0, before - float(clusters.doubt[part]))
            (by_pair[part],), (by_page[part],) = _gains(odds[part : part + 1], state.grid)


def _gains(odds: NDArray[np.float64], grid: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return, for each part (row), the doubt that the best pair removes, and what the best page does for the cost of a pair."""
    share = odds / (1.0 + odds.sum(axis=1, keepdims=True))
    count = share.shape[1]
    if grid == 1 or count <= PAGE_COST:
        return share.max(axis=1), np.zeros(len(share))
    top = share if count <= grid else np.partition(share, count - grid, axis=1)[:, count - grid :]
    return share.max(axis=1), top.sum(axis=1) / PAGE_COST


def _look_at_page(state: State, odds: NDArray[np.float64], part: int, wholes: NDArray[np.int64]) -> Placing:
    """Show a member of the part beside the wholes."""
    clusters, rates = state.clusters, state.rates
    same, different = (
        (_factor(state, same=True), _factor(state, same=False))
        if rates.exact
        else ((1.0 - rates.page_miss) / (0.5 * rates.page_false), rates.page_miss / (1.0 - rates.page_false))
    )
    item = state.item(part, int(clusters.apart[part].max()) % int(clusters.held[part]))
    state.rechecks += PAGE_COST
    values = yield Wanted(item, tuple(state.item(whole, 0) for whole in wholes.tolist()), f"{CONFIRM} split", paged=True)
    for whole, value in zip(wholes.tolist(), values, strict=True):
        if value is not None and value >= 0.5:
            odds[part, whole] *= same
        elif value is not None:
            odds[part, whole] *= different
            clusters.set_apart(part, whole, 1)


def _look_at_pair(state: State, odds: NDArray[np.float64], part: int, whole: int) -> Generator[Wanted | Turn, list[Value], bool]:
    """Ask about other and other members until it is a false split, or hardly one; True if they are to be merged."""
    clusters, now = state.clusters, 0.0
    for tries in range(_MOST):
        others = state.item(whole, (tries + 1) % int(clusters.held[whole]))  # not the one that was asked at its birth
        item = state.item(part, tries % int(clusters.held[part]))
        state.rechecks += 1
        value = (yield Wanted(item, (others,), f"{CONFIRM} split"))[0]
        if value is not None:
            odds[part, whole] *= _factor(state, same=value >= 0.5)
            if value < 0.5:
                clusters.set_apart(part, whole, 1)
        now = float(odds[part, whole] / (1.0 + odds[part].sum()))
        if now > ACCEPT or now < _LEAVE:
            break
    if now >= _LEAVE and now <= ACCEPT:  # answers disagree for ever, or nobody can say: look elsewhere
        odds[part, whole] = 0.0
    return now > ACCEPT


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
        chance = state.probabilities(features, 0)
        apart = clusters.apart[part, :count].astype(np.float64)
        evidence = np.where(apart > 0, first * different ** (apart - 1), 1.0)
        row = chance / (1.0001 - chance) / clusters.born[part] * evidence
        numbers = np.arange(count)
        larger = live & ((sizes > sizes[part]) | ((sizes == sizes[part]) & (numbers < part)))
        odds[part] = np.where(larger, row, 0.0)
        total = float(odds[part].sum())
        clusters.doubt[part] = total / (1.0 + total)
    return odds
