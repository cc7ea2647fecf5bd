"""False splits: how many wrong answers have made, which clusters may be parts of others, and asking again about those.

Every old item had its cluster asked, so a match was found with probability 1 - m, and Σ m/(1 - m) over the matches is the number
of false splits made (Horvitz and Thompson), whatever the similarities say. Those only tell where to look, and which share has
been searched. Memory and time O(D²), after each fit.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.placing.odds import ACCEPT
from cccount_dist.counting.placing.state import Placing, State, Wanted
from cccount_dist.sampling.types import CONFIRM

_TOLERATED = 0.05  # expected false splits for each cluster seen once: fewer are left, because subtracting them is enough
_LARGEST_SHARE = 0.25  # of all questions
_LEAVE, _MOST = 0.3, 9  # odds at which a suspected split is left alone; answers on it
_START = 0.25  # false splits before the first match
_OVERLOOKED = 0.08  # share of the false splits that re-checks do not find, however sure the doubts are


def false_splits(state: State) -> float:
    """Return the expected number of clusters seen that are parts of others."""
    if state.rates.exact:
        return 0.0
    return max(_suspected(state), (state.missed + _START) * _OVERLOOKED)


def _suspected(state: State) -> float:
    """Return the part of the false splits that was not searched for yet."""
    doubt = float(state.clusters.doubt[: len(state.clusters)].sum())
    return (state.missed + _START) * doubt / (doubt + max(state.merges, state.searched) + 1e-9)


def recheck(state: State) -> Placing:
    """Ask again about the likeliest false splits, as long as more are expected than are tolerated."""
    clusters = state.clusters
    odds = _odds(state)
    while _suspected(state) > _TOLERATED * (1 + clusters.once) and state.rechecks < _LARGEST_SHARE * state.effort:
        share = odds / (1.0 + odds.sum(axis=1, keepdims=True))
        part, whole = (int(number) for number in np.unravel_index(np.argmax(share), share.shape))
        if share[part, whole] <= 0.0:
            return
        before = float(clusters.doubt[part])
        for tries in range(_MOST):
            others = state.item(whole, tries % int(clusters.held[whole]))
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
        if now > ACCEPT:
            clusters.merge(part, whole)
            state.merges += 1
            if state.grid > 1:  # the page at its birth had missed it
                state.rates.page_matches += 1
                state.rates.page_missed += 1
            state.searched += before
            odds[part], odds[:, part] = 0.0, 0.0
        else:
            if now >= _LEAVE:  # answers disagree for ever, or nobody can say: look elsewhere
                odds[part, whole] = 0.0
            total = float(odds[part].sum())
            clusters.doubt[part] = total / (1.0 + total)
            state.searched += max(0.0, before - float(clusters.doubt[part]))


def _factor(state: State, *, same: bool) -> float:
    miss, false_same = state.rates.miss, state.rates.false_same
    return (1.0 - miss) / false_same if same else miss / (1.0 - false_same)


def _odds(state: State) -> NDArray[np.float64]:
    """Odds that a cluster (row) is a part of another that is not smaller (column); the doubt about each is set from them."""
    clusters, count = state.clusters, len(state.clusters)
    live, sizes = clusters.live[:count], clusters.size[:count]
    odds = np.zeros((count, count))
    different = _factor(state, same=False)
    first = state.rates.page_miss / (1.0 - state.rates.page_false) if state.grid > 1 else different
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
