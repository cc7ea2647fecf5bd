"""Which questions are asked before all answers are in: those that will be needed most likely, over all items under way.

One by one an item would be compared with the likeliest cluster, then with the next one, until one is the same. So its next
question is needed if it is in none of the clusters that it was or is being compared with: nearly surely where it founds a
cluster, hardly where it clearly is in one. An item under way before it may found a cluster, too: comparing the two is needed as
far as it does. Answers lie ready until the placement comes to them in its own order, so what is decided, and how, is as ever.
Choosing changes nothing but what is asked. Time O(L D + L²) for L items under way and D clusters, for each `ask`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.placing.state import LIKELY, PAGE_COST, Prospects, State, Value, Wanted
from cccount_dist.counting.placing.underway import Engine, Key, Lane
from cccount_dist.sampling.types import CONFIRM

BEGUN = 0.8  # what a question about an item that would be begun for it is worth: what is begun and never finished was for nothing
_FOUNDS = 0.02  # an item that hardly founds a cluster is nothing to compare others with


@dataclass(frozen=True, slots=True)
class Founder:
    """An item under way that founds a cluster with some probability."""

    item: int
    slot: int
    chance: float


class Plan:
    """What to ask next about one item, and how likely that is needed.

    founds : how likely the item founds a cluster
    worth : how likely the question is needed; 0 if there is nothing to ask
    """

    def __init__(
        self, state: State, found: Prospects, shown: Collection[int], founders: Sequence[Founder], answers: Mapping[Key, Value]
    ) -> None:
        odds, left = found.odds.copy(), found.open.copy()
        early = state.early.get(found.item, {})
        for cluster, other in state.clusters_of([*shown, *early]):
            if left[cluster]:
                left[cluster] = False
                odds[cluster] *= _factor(found, answers.get((found.item, other, 0)))
        beside = _odds_beside(state, found.slot, founders)
        free = np.array([one.item not in early for one in founders], np.bool_)
        for number in np.flatnonzero(~free).tolist():
            beside[number] *= _factor(found, answers.get((found.item, founders[number].item, 0)))
        total = float(odds.sum() + beside.sum() + found.new)
        self.founds = found.new / total
        self.worth, self.wanted = 0.0, Wanted(found.item, (), found.purpose)
        clusters, others = np.flatnonzero(left), np.flatnonzero(free)
        if found.skips(clusters):
            clusters = clusters[:0]
        if not len(clusters) + len(others):
            return
        chance = np.concatenate([odds[clusters], beside[others]])
        exists = np.concatenate([np.ones(len(clusters)), [founders[number].chance for number in others.tolist()]])
        order = np.argsort(-chance, kind="stable")
        needed = (float(chance.sum()) + found.new - np.concatenate([[0.0], np.cumsum(chance[order])[:-1]])) / total
        paged = state.grid > 1 and len(order) > PAGE_COST and bool(chance[order[0]] <= LIKELY * total)
        worth = needed * exists[order]
        first = 0 if paged else int(np.argmax(worth))
        chosen = order[first : first + (state.grid if paged else 1)]
        self.worth = float(needed[0] * exists[chosen].max()) if paged else float(worth[first])
        items = tuple(
            state.item(int(clusters[one]), found.place(int(clusters[one])))
            if one < len(clusters)
            else founders[int(others[one - len(clusters)])].item
            for one in chosen.tolist()
        )
        self.wanted = Wanted(found.item, items, found.purpose, paged=paged)


def _keys(plan: Plan) -> list[Key]:
    return [(plan.wanted.item, other, 0) for other in plan.wanted.others]


def _factor(found: Prospects, value: Value) -> float:
    """What an answer that came early does to the odds; nothing while there is none."""
    return 1.0 if value is None else found.factors[value >= 0.5]


def _odds_beside(state: State, slot: int, others: Sequence[Founder]) -> NDArray[np.float64]:
    """Odds that an item is in the cluster that each of the others would found."""
    if not others:
        return np.empty(0)
    chance = state.chance_beside(slot, np.array([one.slot for one in others], np.int32))
    return np.asarray(chance / (1.0001 - chance) * np.array([one.chance for one in others]))


@dataclass(slots=True)
class _Planned:
    """An item under way, what may be asked about it, and the items before it that may found clusters."""

    lane: Lane
    found: Prospects
    founders: Sequence[Founder]
    plan: Plan


class AheadEngine(Engine):
    """An engine that asks what is needed most likely. `numbers`, `on_pages`: what was asked, and on pages; the sampler's."""

    def __init__(
        self,
        state: State,
        order: list[int],
        lanes: int,
        answers: dict[Key, Value],
        numbers: Mapping[Key, int],
        on_pages: set[Key],
    ) -> None:
        self._numbers = numbers
        self._runs_again = bool(answers)
        for u, v, times in numbers:
            if not times:
                state.early.setdefault(u, {})[v] = None
        state.keeps_up, state.on_pages = True, on_pages
        super().__init__(state, order, lanes, answers)
        self._begin_what_is_known()

    def answered(self, key: Key) -> None:
        super().answered(key)
        self._begin_what_is_known()

    def to_ask(self) -> Iterator[tuple[list[Key], Wanted]]:
        """Go through what to ask now, what is needed most likely first; items are begun for it. Each is asked before the next."""
        yield from self._needed()
        planned: list[_Planned] = []
        for lane in self._lanes:
            self._plan(lane, planned)
        while True:
            best = max(planned, key=lambda one: one.plan.worth, default=None)  # of equals the oldest item
            worth = 0.0 if best is None else best.plan.worth
            if worth < BEGUN and (fresh := self._next_lane()) is not None:
                more = list(planned)
                self._plan(fresh, more)
                # Nothing is begun for a question that is asked already: what is begun must follow from what was asked.
                if more[-1].plan.worth * BEGUN > worth and self._unasked(_keys(more[-1].plan)):
                    self._begin(fresh)
                    planned, best = more, more[-1]
            if best is None or best.plan.worth <= 0.0:
                return
            wanted = best.plan.wanted
            keys = self._unasked(_keys(best.plan))
            if not keys:  # they were asked for another reason, when clusters were merged
                best.plan.worth = 0.0
                continue
            for key in keys:
                if key not in best.lane.keys:
                    self.state.early.setdefault(wanted.item, {})[key[1]] = None
            yield keys, wanted
            best.plan = self._plan_of(best.lane, best.found, best.founders)

    def needs(self, key: Key) -> bool:
        """Whether an answer to what was asked may still help: an item waits for it, or is not decided and was compared early."""
        item, other, times = key
        if key in self._waiting:
            return True
        return (
            not times
            and other in self.state.early.get(item, {})
            and any(lane.item == item and not lane.work.decided for lane in self._lanes)
        )

    def asked(self, key: Key) -> None:
        """Note that somebody was asked this, before it was its turn; it was not known here."""
        item, other, times = key
        if not times and (item, other) not in self._asked:
            self.state.early.setdefault(item, {})[other] = None

    def withdrawn(self, key: Key) -> None:
        """Forget that this was asked early. A further question about the pair was not: the first one is still known."""
        item, other, times = key
        if not times:
            self.state.early.get(item, {}).pop(other, None)

    def _needed(self) -> Iterator[tuple[list[Key], Wanted]]:
        """What is wanted whatever others say: by a re-check, by the item whose turn it is, and to confirm; in order of wishes."""
        lanes = [*self._lanes] if self._recheck is None else [self._recheck, *self._lanes]
        for lane in sorted(lanes, key=lambda lane: lane.since):
            if lane.wanted is None or lane.waits_for_turn:
                continue
            sure = lane is self._recheck or lane is self._lanes[0] or lane.wanted.purpose.startswith(CONFIRM)
            if sure and (missing := self._unasked(lane.keys)):
                yield missing, lane.wanted

    def _plan(self, lane: Lane, planned: list[_Planned]) -> None:
        """Add the plan of an item that comes after those that were planned."""
        found = lane.work.prospects()
        if found is not None:
            founders = [Founder(one.found.item, one.found.slot, one.plan.founds) for one in planned if one.plan.founds > _FOUNDS]
            planned.append(_Planned(lane, found, founders, self._plan_of(lane, found, founders)))

    def _plan_of(self, lane: Lane, found: Prospects, founders: Sequence[Founder]) -> Plan:
        shown = [other for item, other, times in lane.keys if not times and (item, other, times) in self._numbers]
        return Plan(self.state, found, shown, founders, self._answers)

    def _unasked(self, keys: Sequence[Key]) -> list[Key]:
        return [key for key in keys if key not in self._answers and key not in self._numbers]

    def _next_lane(self) -> Lane | None:
        """The item that would be begun next; it is not yet."""
        free = self._next < len(self._order) and len(self._lanes) < self._most
        return self._lane_of(self._order[self._next]) if free else None

    def _begin(self, lane: Lane) -> None:
        self._next += 1
        self._lanes.append(lane)
        self._run(lane, [])

    def _begin_what_is_known(self) -> None:
        """Begin items whose first answers are there, because an answer before them was taken back: no question begins them."""
        while self._runs_again and self._next < len(self._order) and len(self._lanes) < self._most:
            first = self._lane_of(self._order[self._next]).work.go_on()
            if not isinstance(first, Wanted) or any((first.item, other, 0) not in self._answers for other in first.others):
                return
            self._begin(self._lane_of(first.item))
            self._advance()

    def _request(self, missing: list[Key], wanted: Wanted) -> None:
        """What is wanted is asked when it is looked for."""

    def _key(self, u: int, v: int) -> Key:
        if u in self.state.early:
            self.state.early[u].pop(v, None)
        return super()._key(u, v)
