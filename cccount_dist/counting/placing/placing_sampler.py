"""`placing`: draw items uniformly without replacement, place each among the clusters found so far, extrapolate (`richness.py`).

Questions follow from answers, so only as many are asked at once as there are items under way: up to `lanes`, which are begun as
questions are wanted. However many are under way, items count in their random order: the estimate rests on those up to the first
that is not placed yet, a random sample as ever. An answer that is replaced (people undo, votes settle) makes the engine run again
over all answers, item by item: with several lanes the questions after it are not those that there would have been without the
first answer. Memory O(t d + D²) for t items drawn and D clusters
seen; time O(D) for an answer, O(16 D d) for an item, some milliseconds for a result.
"""

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.intervals import check_level
from cccount_dist.counting.inverse_interval import inverse_result, replicates_in
from cccount_dist.counting.order import random_order
from cccount_dist.counting.parameters import LARGEST_PAGE
from cccount_dist.counting.placing.ahead import AheadEngine
from cccount_dist.counting.placing.estimatedrates import Rates
from cccount_dist.counting.placing.fast import CAREFUL, CLOSED, TRUSTING, Rule
from cccount_dist.counting.placing.looks import Looks
from cccount_dist.counting.placing.recheck import false_splits
from cccount_dist.counting.placing.state import State, Value, Wanted
from cccount_dist.counting.placing.underway import Engine, Key
from cccount_dist.counting.population import Population
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.richness import richness
from cccount_dist.sampling.errorrates import EXACT, GivenRates
from cccount_dist.sampling.types import Answer, KnownAnswer, Question, RepeatedAnswer, WithdrawnAnswer
from cccount_dist.similarity.localscores import LocalScores
from cccount_dist.similarity.sharp import SharpRows
from storage.errors import InputError

LOOKED_AT = 256  # items whose neighbourhoods say whether the vectors are trusted
FEWEST_REPLICATES = 10  # of inverse sampling from the items placed: fewer say nothing


class PlacingSampler:
    """The sampler.

    Parameters
    ----------
    vectors : (n, d) float32, prepared
    degree : (n,), NaN for an item that is not counted
    mean_square : the Euclidean scale, if that is the metric
    grid : up to how many clusters one page shows; 1 for pairs only
    rates : of wrong answers; None to estimate them on the way; EXACT takes answers as they are
    lanes : items under way at once; more than 16 at most so many, begun when questions are wanted
    fast : skip clusters that an item is hardly in, where that is safe (`fast.py`)
    trusting : skip them earlier where neighbourhoods are closed (`similarity/closure.py`); needs `sharp`, and pairs
    sharp : rows of a second space, which knows more about who is alike; None to look at the vectors alone
    local : scores of local matches between pictures; None where they were not compared
    earlier : how many items there were before the collection grew, the oldest number first (`order.py`)
    same_pair : how often the very same pair may be asked about; confirmations then show other members as long as there are
        any; 0: as often as it helps
    likely : of all items under way, ask what is needed most likely (`ahead.py`), and not one question about each of them
    one_posterior : give the interval of one posterior, not the widest of three ways to count (`richness.py`)
    """

    def __init__(
        self,
        vectors: NDArray[np.float32],
        degree: NDArray[np.float64],
        mean_square: float | None = None,
        *,
        seed: int = 0,
        level: float = 0.95,
        grid: int = 1,
        rates: GivenRates | None = EXACT,
        lanes: int = 1,
        fast: bool = False,
        trusting: bool = False,
        sharp: SharpRows | None = None,
        local: LocalScores | None = None,
        earlier: Sequence[int] = (),
        same_pair: int = 0,
        likely: bool = False,
        one_posterior: bool = False,
    ) -> None:
        if not 1 <= grid <= LARGEST_PAGE:
            raise InputError(f"a page shows 1 to {LARGEST_PAGE} clusters, not {grid}")
        if seed < 0:
            raise InputError(f"seed must not be negative, and is {seed}")
        if lanes < 1:
            raise InputError(f"at least 1 item must be under way, not {lanes}")
        population = Population(degree)
        if population.items < 2:
            raise InputError(f"counting needs at least 2 items with a vector, not {population.items}")
        self._items = population.items
        self._level = check_level(level)
        self._order = population.to_items(random_order(seed, population.items, earlier))
        self._vectors, self._mean_square, self._sharp, self._local = vectors, mean_square, sharp, local
        self._grid, self._rates, self._lanes, self._fast, self._same_pair = grid, rates, lanes, fast, same_pair
        self._trusting, self._one_posterior = trusting, one_posterior
        self._likely = likely and lanes > 1
        self._answers: dict[Key, Value] = {}
        self._keys: list[Key] = []  # of each question asked
        self._numbers: dict[Key, int] = {}  # of what was asked and not withdrawn
        self._open: dict[int, Key] = {}  # asked and neither answered nor withdrawn; only where questions are asked early
        self._on_pages: set[Key] = set()  # of them, those on pages; only where questions are asked early
        self._queue: deque[tuple[list[Key], Wanted]] = deque()
        self._answered = 0  # same or different
        self._known: list[KnownAnswer | RepeatedAnswer] = []
        self._stale = False
        self._result: CountResult | None = None
        self._engine = self._new_engine()

    @property
    def done(self) -> bool:
        """True if every item has been placed."""
        self._refresh()
        return self._engine.done

    @property
    def placed(self) -> int:
        """How many items count."""
        self._refresh()
        return self._engine.state.placed

    def ask(self, limit: int) -> Sequence[Question]:
        """Return up to `limit` of the questions and pages that the items under way wait for."""
        self._refresh()
        asked: list[Question] = []
        requests = self._requests()
        while limit > 0 and (request := next(requests, None)) is not None:
            keys, wanted = request
            fresh = [key for key in keys if key not in self._numbers]  # the others were asked before answers were taken back
            page = len(self._keys) if wanted.paged else None
            for key in fresh:
                self._numbers[key] = len(self._keys)
                asked.append(Question(len(self._keys), key[0], key[1], "same", wanted.purpose, page))
                self._keys.append(key)
            if self._likely:
                self._open.update({self._numbers[key]: key for key in fresh})
            if self._likely and wanted.paged:
                self._on_pages.update(fresh)
            limit -= bool(fresh)
        self._prepare()
        return asked

    def _requests(self) -> Iterator[tuple[list[Key], Wanted]]:
        """What to ask now; each is numbered before the next is looked for."""
        if isinstance(self._engine, AheadEngine):
            yield from self._engine.to_ask()
            return
        while self._has_more():
            yield self._queue.popleft()

    def _prepare(self) -> None:
        if not isinstance(self._engine, AheadEngine):
            self._has_more()

    def _has_more(self) -> bool:
        """Whether a question is in the queue, if need be that of an item that is begun for it.

        Looked at after every answer and at the end of every `ask`: so which items are begun follows from what was asked and
        answered, and not from how many questions somebody wished for in vain.
        """
        while True:
            self._queue.extend(self._engine.requests)
            self._engine.requests.clear()
            if self._queue or not self._engine.ask_more():
                return bool(self._queue)

    def tell(self, answers: Sequence[Answer]) -> None:
        """Take answers in, one after another. All are checked before the first one counts. Checks only say how people err."""
        for answer in answers:
            if not isinstance(answer, KnownAnswer | RepeatedAnswer):
                self._check(answer)
        for answer in answers:
            self._result = None
            if isinstance(answer, KnownAnswer | RepeatedAnswer):
                if answer.value is not None:
                    self._refresh()
                    self._known.append(answer)
                    _know(self._engine.state.rates, answer)
                continue
            key = self._keys[answer.question_id]
            if self._likely:
                if isinstance(answer, WithdrawnAnswer):
                    self._withdraw(answer.question_id)
                    continue
                self._open.pop(answer.question_id, None)
                if key not in self._numbers:  # withdrawn, and answered by who had it on the screen
                    self._ahead().asked(key)
                    self._numbers[key] = answer.question_id
            before = self._answers.get(key)
            self._answered += (answer.value is not None) - (before is not None)
            if key not in self._answers:
                self._refresh()
                self._answers[key] = answer.value
                self._engine.answered(key)
                self._prepare()
            elif before != answer.value:
                self._answers[key] = answer.value
                self._stale = True

    def needless(self) -> Sequence[int]:
        """Numbers of questions that are asked, are not answered, and help no more (`sampling/types.py`)."""
        if not self._likely:
            return []
        engine = self._ahead()
        return sorted(number for number, key in self._open.items() if key in self._answers or not engine.needs(key))

    def _withdraw(self, number: int) -> None:
        """Take a question back, and what was said to it and taken back since; it may be asked again by another number."""
        engine, key = self._ahead(), self._keys[number]
        self._open.pop(number, None)
        if self._numbers.get(key) != number:
            return
        del self._numbers[key]
        self._on_pages.discard(key)
        engine.withdrawn(key)
        if key in self._answers:
            self._answered -= self._answers.pop(key) is not None
            self._stale = True

    def _ahead(self) -> AheadEngine:
        """The engine, run again if an answer was replaced: before anything is taken back, and not only when somebody looks.

        What was looked at is in no log. So where the engine stands follows from questions and answers alone, in any process.
        """
        self._refresh()
        if not isinstance(self._engine, AheadEngine):
            raise TypeError("only an engine that asks ahead takes questions back")
        return self._engine

    def result(self) -> CountResult:
        """Return the estimate from the items that have been placed."""
        if self._result is None:
            self._refresh()
            self._result = self._estimate()
        return self._result

    def partition(self) -> list[list[int]]:
        """Return the clusters found, each with its items in the order in which they were placed."""
        self._refresh()
        state = self._engine.state
        found: dict[int, list[int]] = {}
        for cluster, slot in zip(state.sequence, state.slots, strict=True):
            if state.clusters.live[root := state.clusters.root(cluster)]:
                found.setdefault(root, []).append(state.looks.items[slot])
        return [found[cluster] for cluster in sorted(found)]

    def _new_engine(self) -> Engine:
        looks = Looks(self._vectors, self._order, self._mean_square, self._sharp, self._local)
        rates = Rates(self._rates)
        for answer in self._known:
            _know(rates, answer)
        state = State(looks, rates, self._grid, fast=self._rule(), same_pair=self._same_pair)
        if self._likely:
            return AheadEngine(state, self._order.tolist(), self._lanes, self._answers, self._numbers, self._on_pages)
        return Engine(state, self._order.tolist(), self._lanes, self._answers)

    def _rule(self) -> Rule | None:
        """How far clusters may be skipped: farther, if wanted, where neighbourhoods say that the vectors tell clusters apart."""
        if not self._fast:
            return None
        if self._trusting and self._grid == 1 and self._sharp is not None:
            return TRUSTING if self._sharp.closure(self._order[:LOOKED_AT]) > CLOSED else CAREFUL
        return CAREFUL

    def _refresh(self) -> None:
        if self._stale:
            self._stale = False
            self._queue.clear()
            self._engine = self._new_engine()

    def _estimate(self) -> CountResult:
        state = self._engine.state
        counts = state.clusters.counts
        if not len(counts) or state.placed < 2:
            return CountResult(None, 1.0, float(self._items), self._level, state.placed, self._answered)
        splits = false_splits(state)
        unplaced = len(state.doubtful)
        found = richness(counts, self._items, self._level, false_splits=splits, unplaced=unplaced, one=self._one_posterior)
        details = {
            "items_placed": float(state.placed),
            "items_set_aside": float(len(state.doubtful)),
            "false_splits": splits,
            "clusters_found": max(len(counts) - splits, 1.0),
            "skipped": float(state.shortcut.skipped),
            "audited_found": float(state.shortcut.audited_found),
            "audited_risk": state.shortcut.audited_risk,
            "miss_rate": state.rates.miss,
            "false_same_rate": state.rates.false_same,
            "repeats_same_pair": float(state.repeats.same_differ),
            "repeats_same_pair_expected": state.repeats.same_expected,
            "repeats_other_pair": float(state.repeats.other_differ),
            "repeats_other_pair_expected": state.repeats.other_expected,
            "repeating_errors": float(state.repeats.suspicious),
            **self._inverse(),
            **found.details,
        }
        unsure = max(state.shortcut.skipped - state.merges, 0)  # may be parts: not asked about all others
        certain = float(len(counts) - unsure)
        values, times = np.unique(counts, return_counts=True)
        sizes = dict(zip(values.tolist(), times.tolist(), strict=True))
        return CountResult(
            found.estimate, found.low, found.high, self._level, state.placed, self._answered, certain, details, sizes
        )

    def _inverse(self) -> dict[str, float]:
        """Inverse sampling from the same items, as long as few of all were drawn: it was made for draws with replacement."""
        clusters = self._engine.state.clusters
        drawn = [root for cluster in self._engine.state.sequence if clusters.live[root := clusters.root(cluster)]]
        lengths, cut = replicates_in(drawn)
        if len(lengths) < FEWEST_REPLICATES or 2 * len(drawn) > self._items:
            return {}
        estimate, low, high = inverse_result(lengths, cut, self._items, self._level)
        return {"inverse": estimate or 1.0, "inverse_low": low, "inverse_high": high}

    def _check(self, answer: Answer) -> None:
        number = answer.question_id
        if not 0 <= number < len(self._keys):
            raise InputError(f"question {number} was answered, but only the questions 0 to {len(self._keys) - 1} were asked")
        u, v, _ = self._keys[number]
        if {answer.u, answer.v} != {u, v}:
            raise InputError(f"question {number} is about ({u}, {v}), and its answer about ({answer.u}, {answer.v})")
        if answer.value is not None and answer.value not in (0.0, 1.0):
            raise InputError(f"question {number} was answered with {answer.value}: an answer is 1, 0 or unsure")


def _know(rates: Rates, answer: KnownAnswer | RepeatedAnswer) -> None:
    if isinstance(answer, RepeatedAnswer):
        rates.know_twice(answer.before, float(answer.value or 0.0), answer.times)
        return
    rates.know(answer.truth, float(answer.value or 0.0), paged=answer.paged, times=answer.times)
