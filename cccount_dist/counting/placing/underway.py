"""Several items under way at once, counted in their random order; questions are numbered by the sampler around this.

The engine is a function of the answers it is given: thrown away and run again over the same answers it stands where it stood.
That is how an answer that was taken back is handled: the engine is run again without it.
"""

from collections import deque
from dataclasses import dataclass

from cccount_dist.counting.placing.exactplacing import ExactPlacing
from cccount_dist.counting.placing.odds import PlacingByOdds
from cccount_dist.counting.placing.recheck import Recheck
from cccount_dist.counting.placing.state import PAGE_COST, Placing, State, Turn, Value, Wanted

Key = tuple[int, int, int]  # two items, and how often the pair had been asked before
EAGER = 16  # if no more may be under way, so many always are; if more may be, an item is begun when its question is wanted


@dataclass(slots=True, eq=False)
class Lane:
    """A placement and what it waits for: answers to `keys`, or its turn."""

    work: Placing
    keys: list[Key]
    item: int = -1  # none if it re-checks
    wanted: Wanted | None = None
    since: int = 0  # how many wishes there had been before this one
    waits_for_turn: bool = False
    over: bool = False


class Engine:
    """Runs placements as far as the answers reach. `requests` are the questions that are wanted and have no answer."""

    def __init__(self, state: State, order: list[int], lanes: int, answers: dict[Key, Value]) -> None:
        self.state = state
        self._order = order
        self._next = 0
        self._most = lanes
        self._eager = lanes if lanes <= EAGER else 1
        self._answers = answers
        self._asked: dict[tuple[int, int], int] = {}
        self._lanes: deque[Lane] = deque()
        self._recheck: Lane | None = None
        self.requests: list[tuple[list[Key], Wanted]] = []
        self._waiting: dict[Key, Lane] = {}
        self._wishes = 0
        self._advance()

    @property
    def done(self) -> bool:
        """True if every item was drawn and settled."""
        return self._next >= len(self._order) and not self._lanes and self._recheck is None

    def answered(self, key: Key) -> None:
        """Go on after an answer that was not there before."""
        lane = self._waiting.pop(key, None)
        if lane is not None and all(key in self._answers for key in lane.keys):
            self._run(lane, [self._answers[key] for key in lane.keys])
            self._advance()

    def _advance(self) -> None:
        while self._step():
            pass

    def _step(self) -> bool:
        """Let the first item count if it is its turn, or open a lane; False if all wait for answers."""
        if self._recheck is not None and self._recheck.over:
            self._recheck = None
            return True
        if self._recheck is None and self._lanes and self._lanes[0].waits_for_turn:
            head = self._lanes[0]
            self._run(head, [])
            if head.over:
                self._lanes.popleft()
                self._after_commit()
            return True
        return len(self._lanes) < self._eager and self._begin_next()

    def ask_more(self) -> bool:
        """Begin one more item, because its question is wanted; return whether that was possible."""
        if len(self._lanes) >= self._most or not self._begin_next():
            return False
        self._advance()
        return True

    def _begin_next(self) -> bool:
        if self._next >= len(self._order):
            return False
        self._open(self._order[self._next])
        self._next += 1
        return True

    def _open(self, item: int) -> None:
        lane = self._lane_of(item)
        self._lanes.append(lane)
        self._run(lane, [])

    def _lane_of(self, item: int) -> Lane:
        return Lane(ExactPlacing(self.state, item) if self.state.rates.exact else PlacingByOdds(self.state, item), [], item)

    def _after_commit(self) -> None:
        """Refit now and then; with wrong answers, re-check after it. No item counts until that is through."""
        if self.state.refit_due() and (self.state.shortcut.skipped or not self.state.rates.exact):
            self._recheck = Lane(Recheck(self.state), [])
            self._run(self._recheck, [])

    def _run(self, lane: Lane, values: list[Value]) -> None:
        """Run a placement until it waits for an answer that is not there, waits for its turn, or is over."""
        lane.waits_for_turn = False
        self._go_on(lane, lane.work.go_on(values))

    def _go_on(self, lane: Lane, wanted: Wanted | Turn | None) -> None:
        while isinstance(wanted, Wanted):
            lane.keys = [self._key(wanted.item, other) for other in wanted.others]
            lane.wanted, lane.since = wanted, self._wishes
            self._wishes += 1
            self.state.effort += PAGE_COST if wanted.paged else len(lane.keys)
            missing = [key for key in lane.keys if key not in self._answers]
            if missing:
                self._request(missing, wanted)
                self._waiting.update(dict.fromkeys(missing, lane))
                return
            wanted = lane.work.go_on([self._answers[key] for key in lane.keys])
        lane.waits_for_turn, lane.over = isinstance(wanted, Turn), wanted is None

    def _request(self, missing: list[Key], wanted: Wanted) -> None:
        self.requests.append((missing, wanted))

    def _key(self, u: int, v: int) -> Key:
        if self.state.same_pair:
            self.state.shown[min(u, v), max(u, v)] += 1
        times = self._asked.get((u, v), 0)
        self._asked[u, v] = times + 1
        return u, v, times
