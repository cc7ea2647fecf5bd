"""Placing an item when answers may be wrong: every cluster keeps odds, which each answer multiplies, until one wins or none.

A "same" multiplies the odds of a cluster by (1 - miss)/false_same, a "different" by miss/(1 - false_same). The next question is
about the likeliest cluster that was never asked, is still above 2 %, or whose "same" answers are not in the minority. So a first
"different" of a likely cluster and every "same" of an unlikely one are asked again. A cluster is accepted above 99 %; if nothing
is left to ask, the item founds one. Unsure multiplies by 1. Where a pair may not be asked for ever (`State.same_pair`), a cluster
whose members are all used up is accepted above 90 %, and at the end above 50 %.
"""

from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.placing.fast import Skip
from cccount_dist.counting.placing.repeats import Repeats
from cccount_dist.counting.placing.state import LIKELY, PAGE_COST, TURN, Placing, Prospects, State, Turn, Value, Wanted
from cccount_dist.sampling.types import CONFIRM, VOTE

ACCEPT, AGAIN, MOST = 0.99, 0.02, 7  # accepted above; asked again above; answers on one pair of item and cluster
_USED_UP, _AT_LAST = 0.9, 0.5  # what is accepted of a cluster that has no other member to ask about: at once, and at the end
_RETIRED = 99


class Trial:
    """The evidence on one item: arrays over the clusters."""

    def __init__(self, state: State, item: int) -> None:
        self.state = state
        self.item = item
        self.slot = state.looks.slot(item)
        self._believe()
        self.features = np.empty((0, state.looks.features))
        self.start = np.empty(0)  # odds before any answer
        self.odds = np.empty(0)
        self.best = np.empty(0, np.int64)
        self.times = np.empty(0, np.int64)
        self.same = np.empty(0, np.int64)
        self.unsure = np.empty(0, np.int64)
        self.paged = np.empty(0, np.bool_)
        self.picked = np.empty(0, np.bool_)  # on the page
        self.last = np.empty(0)  # answer to the latest pair; NaN before it
        self.said: dict[tuple[int, int], float] = {}  # latest answer about a member of a cluster
        self.asked: dict[int, int] = {}  # cluster -> the place of the member that was asked about last
        self.pages = 0
        self.repeats = Repeats()
        self.skip = Skip(state, self.slot)
        self.catch_up()

    def _believe(self) -> None:
        """Take over what is known now about how often clusters are new and answers wrong."""
        state = self.state
        self.drawn = state.drawn
        self.new = max(state.new_rate, 0.5 / (state.drawn + 1))  # odds of a new cluster
        self.miss, self.false_same = state.rates.miss, state.rates.false_same
        self.page_miss, self.page_false = state.rates.page_miss, state.rates.page_false

    def look_again(self) -> None:
        """Judge by what was learnt from the items that were counted since: as if this one was begun now, with its answers."""
        known = len(self.odds)
        evidence = self.odds / np.where(self.start > 0.0, self.start, 1.0)
        self._believe()
        self.catch_up()
        self.features, self.best = self.state.looks.against(self.slot, self.state.clusters)
        chance = self.state.probabilities(self.features, 0)
        self.start = chance / (1.0001 - chance)
        self.odds = self.start.copy()
        self.odds[:known] *= evidence
        self.odds[~self.state.clusters.live[: len(self.odds)]] = 0.0
        self.skip.look_again()

    def copy(self) -> "Trial":
        """One that may be thought on with: what happens to it leaves this one as it is."""
        other = copy(self)
        other.odds, other.times, other.skip = self.odds.copy(), self.times.copy(), copy(self.skip)
        return other

    def catch_up(self) -> None:
        """Take in clusters that were founded since, and leave out those that were merged into others."""
        known, count = len(self.odds), len(self.state.clusters)
        if count > known:
            features, best = self.state.looks.against(self.slot, self.state.clusters, known)
            chance = self.state.probabilities(features, known)
            odds = chance / (1.0001 - chance)
            more = np.zeros(count - known, np.int64)
            self.features = np.concatenate([self.features, features])
            self.start, self.odds = np.concatenate([self.start, odds]), np.concatenate([self.odds, odds])
            self.best = np.concatenate([self.best, best])
            self.times, self.same = np.concatenate([self.times, more]), np.concatenate([self.same, more])
            self.unsure = np.concatenate([self.unsure, more])
            self.last = np.concatenate([self.last, np.full(count - known, np.nan)])
            self.paged = np.concatenate([self.paged, more.astype(np.bool_)])
            self.picked = np.concatenate([self.picked, more.astype(np.bool_)])
        retired = ~self.state.clusters.live[:count]
        self.odds[retired], self.times[retired] = 0.0, _RETIRED

    def next(self) -> int | None:
        """Return the cluster to ask about; None if nothing is left to ask, or so little that it may be skipped (`fast.py`)."""
        share = self.odds / (self.odds.sum() + self.new)
        undecided = (share > AGAIN) | ((self.same > 0) & (2 * self.same >= self.times))
        never, again = self.times == 0, (self.times > 0) & undecided & (self.times < MOST)
        if self.state.same_pair:
            again[[j for j in np.flatnonzero(again).tolist() if self.state.fresh(self.item, j) is None]] = False
        skip = not again.any() and not self.unsure.any() and self.skip.allowed(self.features, np.flatnonzero(never))
        if skip or not (never | again).any():
            return None
        return int(np.argmax(np.where(never | again, self.odds, -1.0)))

    def accepts(self, cluster: int) -> bool:
        share = self.odds[cluster] / (self.odds.sum() + self.new)
        return bool(self.same[cluster] > 0 and share > ACCEPT and self.new < AGAIN * self.odds[cluster])

    def settled(self, least: float) -> int | None:
        """The likeliest cluster, if it was called the same, has no other member to ask about, and is likelier than `least`."""
        if not self.state.same_pair or not len(self.odds):
            return None
        cluster = int(np.argmax(self.odds))
        share = self.odds[cluster] / (self.odds.sum() + self.new)
        likely = bool(self.same[cluster] > 0 and share > least)
        return cluster if likely and self.state.fresh(self.item, cluster) is None else None

    def page(self, best: int) -> NDArray[np.int64]:
        """Return the likeliest clusters that were never asked, for one page; empty where pairs are as cheap."""
        left = np.flatnonzero(self.times == 0)
        likely = self.odds[best] > LIKELY * (self.odds.sum() + self.new)
        if self.state.grid == 1 or self.times[best] > 0 or self.unsure[best] > 0 or likely or len(left) <= PAGE_COST:
            return np.empty(0, np.int64)
        return left[np.argsort(-self.odds[left], kind="stable")][: self.state.grid]

    def pair(self, cluster: int) -> Wanted:
        """The first question is about the first member, the reference; further ones about other members, by turns."""
        purpose = f"{CONFIRM} place" if self.times[cluster] + self.unsure[cluster] else f"{VOTE} place"
        self.asked[cluster] = self.member(cluster)
        return Wanted(self.item, (self.state.item(cluster, self.asked[cluster]),), purpose)

    def first(self, cluster: int) -> int:
        """The place of the member that is shown when a cluster was never asked about."""
        if (early := self.state.early_place(self.item, cluster)) is not None:
            return early
        return (self.state.fresh(self.item, cluster) or 0) if self.state.same_pair else 0

    def member(self, cluster: int) -> int:
        """The place of the member that is asked about next."""
        if (early := self.state.early_place(self.item, cluster)) is not None:
            return early
        place = int(self.times[cluster] + self.unsure[cluster]) % int(self.state.clusters.held[cluster])
        other = self.state.fresh(self.item, cluster, place) if self.state.same_pair else None
        return place if other is None else other

    def take(self, cluster: int, value: float | None, *, paged: bool = False) -> None:
        """Multiply the odds by what an answer says."""
        if value is None:
            self.unsure[cluster] += 1
            if self.state.same_pair and self.unsure[cluster] == 1 and self.state.fresh(self.item, cluster) is None:
                self.unsure[cluster] = 2  # there is no other picture of it
            self.times[cluster] += self.unsure[cluster] > 1  # asked once more, then left
            return
        if not paged:
            self._compare(cluster, value)
        self.times[cluster] += 1
        self.state.clusters.settled[cluster] += 1
        self.paged[cluster] |= paged
        miss, false_same = (self.page_miss, self.page_false) if paged else (self.miss, self.false_same)
        if value >= 0.5:
            self.same[cluster] += 1
            self.picked[cluster] |= paged
            self.odds[cluster] *= (1.0 - miss) / (0.5 * false_same if paged else false_same)
        else:
            self.odds[cluster] *= miss / (1.0 - false_same)

    def _compare(self, cluster: int, value: float) -> None:
        """Note whether an answer differs from the one before it, and how likely that was (`repeats.py`)."""
        member = self.asked.get(cluster, 0) if self.state.same_pair else self.member(cluster)
        again = (cluster, member) in self.said
        before = self.said.get((cluster, member), float(self.last[cluster]))
        self.said[cluster, member] = self.last[cluster] = value
        if np.isnan(before):
            return
        share = float(self.odds[cluster] / (self.odds.sum() + self.new))
        same = share * (1.0 - self.miss) + (1.0 - share) * self.false_same
        self.repeats.add(same_pair=again, differs=value != before, expected=1.0 - same if before >= 0.5 else same)

    def chance_missed(self, hit: int) -> float:
        """Probability that the match would have been missed: as many "different" as it takes until it is not asked again."""
        first = self.page_miss / (1.0 - self.page_false) if self.state.grid > 1 else self.miss / (1.0 - self.false_same)
        total = self.new + float(self.start.sum()) * first
        odds = float(self.start[hit]) * first
        missed = self.page_miss if self.state.grid > 1 else self.miss
        limit = self.state.same_pair
        asks = min(MOST, limit * int(self.state.clusters.held[hit])) if limit else MOST - 1
        for _ in range(min(MOST - 2, asks - 1)):
            if odds <= AGAIN * total:
                break
            odds *= self.miss / (1.0 - self.false_same)
            missed *= self.miss
        return missed


class PlacingByOdds(Placing):
    """Places one item; see the module."""

    def __init__(self, state: State, item: int) -> None:
        self._trial = Trial(state, item)
        self._chosen: list[int] = []  # clusters that were asked about
        self._paged = False
        self._hit: int | None = None
        self._waits_for_turn = False

    def go_on(self, values: Sequence[Value] = ()) -> Wanted | Turn | None:
        trial = self._trial
        if self._hit is not None:
            _commit(trial, self._hit)
            return None
        if self._waits_for_turn:
            self._waits_for_turn = False
            trial.catch_up()
            if trial.next() is None:
                _commit(trial, trial.settled(_AT_LAST))
                return None
        else:
            if trial.state.keeps_up and trial.drawn != trial.state.drawn:
                trial.look_again()
            trial.pages += self._paged
            for cluster, value in zip(self._chosen, values, strict=True):
                trial.take(cluster, value, paged=self._paged)
        return self._next()

    def _next(self) -> Wanted | Turn:
        trial = self._trial
        trial.catch_up()
        self._hit = trial.settled(_USED_UP)
        if self._hit is not None:
            return TURN
        cluster = trial.next()
        if cluster is None:
            self._waits_for_turn = True
            return TURN
        if trial.accepts(cluster):
            self._hit = cluster
            return TURN
        early = [one for one in trial.state.early_clusters(trial.item) if trial.times[one[0]] == 0 and trial.unsure[one[0]] == 0]
        if early and trial.times[cluster] == 0:  # what was asked before it was its turn comes before anything new is asked
            paged = all(on_page for _, _, on_page in early)
            self._chosen, self._paged = [one for one, _, on_page in early if on_page == paged], paged
            if not paged:
                self._chosen = [max(self._chosen, key=lambda one: trial.odds[one])]
                return trial.pair(self._chosen[0])
            others = tuple(trial.state.item(one, place) for one, place, _ in early)
            return Wanted(trial.item, others, f"{VOTE} place", paged=True)
        page = trial.page(cluster).tolist()
        self._chosen, self._paged = page or [cluster], bool(page)
        if not page:
            return trial.pair(cluster)
        return Wanted(trial.item, tuple(trial.state.item(j, trial.first(j)) for j in page), f"{VOTE} place", paged=True)

    @property
    def decided(self) -> bool:
        return self._hit is not None

    def prospects(self) -> Prospects | None:
        if self.decided:
            return None
        trial = self._trial.copy()
        trial.catch_up()
        odds = trial.odds
        never = (trial.times == 0) & (trial.unsure == 0)
        factors = trial.miss / (1.0 - trial.false_same), (1.0 - trial.miss) / trial.false_same

        def skips(left: NDArray[np.int64]) -> bool:
            return trial.skip.allowed(trial.features, left)

        return Prospects(trial.item, trial.slot, odds, never, trial.new, factors, f"{VOTE} place", trial.first, skips)


def _commit(trial: Trial, hit: int | None) -> None:
    state, clusters, rates = trial.state, trial.state.clusters, trial.state.rates
    asked = (trial.times > 0) & (trial.times < _RETIRED)
    unsure = np.flatnonzero((trial.unsure > 1) & clusters.live[: len(trial.unsure)])
    if hit is None and len(unsure):
        state.set_aside(trial.item, unsure, settled=bool((asked & (trial.unsure == 0)).any()))
        return
    refuted = asked & ~trial.paged & (2 * trial.same <= trial.times)
    false_picks = asked & trial.picked
    if hit is not None:
        refuted[hit] = false_picks[hit] = False
        rates.repeats += int(trial.times[hit]) - 1
        rates.missed += int(trial.times[hit] - trial.same[hit] - (trial.paged[hit] and not trial.picked[hit]))
        rates.page_matches += bool(trial.paged[hit])
        rates.page_missed += bool(trial.paged[hit] and not trial.picked[hit])
    rates.refuted += int(trial.times[refuted].sum())
    rates.false += int(trial.same[refuted].sum())
    rates.pages += trial.pages
    rates.false_picks += int(np.count_nonzero(false_picks))
    rows = np.flatnonzero(asked)
    state.chances.learn(trial.features[rows], None if hit is None else int(np.searchsorted(rows, hit)))
    state.placed += 1
    state.repeats.join(trial.repeats)
    trial.skip.commit(matched=hit is not None)
    if hit is not None:
        state.place(hit, trial.slot)
        missed = trial.chance_missed(hit)
        state.missed += missed / (1.0 - missed)
        clusters.join(clusters.root(hit), trial.slot)
        return
    # Answers at the birth of a cluster are evidence that it differs from the others. Those of later items are none: an item
    # joins a false part of a cluster because the whole of it said "different" by mistake.
    founded = clusters.found(trial.slot, trial.new)
    state.place(founded, trial.slot)
    clusters.settled[founded] = len(rows)
    total = float(trial.odds.sum())
    clusters.doubt[founded] = total / (total + trial.new)
    for cluster in rows.tolist():
        if (net := int(trial.times[cluster] - 2 * trial.same[cluster])) > 0:
            clusters.set_apart(founded, cluster, net)
