"""`catalogue`: every item with its class, by sheets; never told how many classes there are.

The sampler holds the state that it last asked from. Answers are only written down by `tell`; the next state follows from the last
one and the sheets that are complete by now, in the order of their numbers, and becomes the last one when a sheet is asked from
it. So neither `result`, nor an `ask` in vain, nor the way in which answers are cut into `tell` calls changes what is asked later.
A replaced answer to a sheet that counted already makes the book again from the whole history. Memory O(n (p + k + 64)): the
space, its lists, and 32 candidates for each item, twice while somebody looks. Time of a glance: the rows that it touched, O(32 n)
for the choice, and now and then a fit (`fitting.py`).
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.answers import asked, renewed, replayed, told
from cccount_dist.clustering.catalogue.candidates import Rows, nearest_means
from cccount_dist.clustering.catalogue.choice import best_value, choose
from cccount_dist.clustering.catalogue.clusters import Clusters
from cccount_dist.clustering.catalogue.fitting import is_due, refitted
from cccount_dist.clustering.catalogue.labels import labels_of
from cccount_dist.clustering.catalogue.parameters import CatalogueParameters
from cccount_dist.clustering.catalogue.posterior import PLAIN, START
from cccount_dist.clustering.catalogue.quality import measured
from cccount_dist.clustering.catalogue.rates import SheetRates
from cccount_dist.clustering.catalogue.space import base_of, fitted
from cccount_dist.clustering.catalogue.state import Book, Fit, State
from cccount_dist.clustering.catalogue.votes import Votes
from cccount_dist.clustering.quality import Quality
from cccount_dist.clustering.result import Grouping, numbered
from cccount_dist.sampling.drive import PAGE_SECONDS
from cccount_dist.sampling.types import Answer, OutsideAnswer, Question
from cccount_dist.similarity.localscores import LocalScores
from storage.errors import InputError

SHEETS_AN_HOUR = 3600 / PAGE_SECONDS


class CatalogueSampler:
    """Asks the sheet whose marks are expected to move most items.

    Parameters
    ----------
    vectors : (n, d), an array or a memory map
    neighbors : (n, k), most similar first; -1 for an item without a vector
    given : the parameters
    rates : how often cells are missed and falsely marked; None: learned
    matches : (n, m) local matches with the first m neighbours; None where pictures were not compared
    """

    def __init__(
        self,
        vectors: NDArray[np.float32],
        neighbors: NDArray[np.int32],
        seed: int,
        given: CatalogueParameters,
        rates: SheetRates | None = None,
        matches: NDArray[np.int16] | None = None,
    ) -> None:
        self._present = np.flatnonzero(neighbors[:, 0] >= 0)
        self._items = len(neighbors)
        self._most_open, self._rates = given.open, rates
        number = np.full(self._items + 1, -1, np.int32)  # the last entry is that of -1
        number[self._present] = np.arange(len(self._present), dtype=np.int32)
        everybody = len(self._present) == self._items
        lists = neighbors if everybody else number[neighbors[self._present]]
        local = None
        if matches is not None:
            local = LocalScores(lists, matches if everybody else matches[self._present])
        base = base_of(vectors if everybody else vectors[self._present], lists, local)
        count = len(self._present)
        space = fitted(base, np.full(count, -1, np.int32), lists)
        clusters = Clusters.none(space.rows)
        weight = START if local is not None else START[:PLAIN]
        fit = Fit(space, nearest_means(space, clusters), weight.copy(), rates=rates or SheetRates())
        book = Book(clusters, Votes.none(count))
        self._state = State(base, fit, book, Rows.empty(count), np.ones(count), given.cells, given.random_every, seed)
        everything = np.arange(count)
        self._state.rows.put(everything, self._state.score(everything))
        self._order = np.random.default_rng([seed, 0]).permutation(count)
        self._said: dict[int, float | None] = {}  # by question: all answers so far
        self._pages: list[int] = []  # page of each question
        self._pending: set[int] = set()  # pages with answers that the state does not know
        self._outside: dict[tuple[int, int], bool | None] = {}  # what was heard from elsewhere since
        self._next: State | None = None

    # -- the sampler's protocol ---------------------------------------------------------------------------------------

    def ask(self, limit: int) -> Sequence[Question]:
        """Return up to `limit` sheets: about different clusters and items, as far as there are enough."""
        state, found = self._look(), list[Question]()
        room = min(limit, self._most_open - len(state.open))
        for _ in range(room):
            sheet = choose(state, self._order)
            if sheet is None:
                break
            if state is not self._state:
                self._adopt(state)
            asked(state, sheet)
            renewed(state)
            self._pages += [sheet.page] * len(sheet.cells)
            found += sheet.questions(self._present.tolist())
        return found

    def preview(self, limit: int) -> Sequence[Question]:
        """Return the cells that would be asked first."""
        sheet = choose(self._look(), self._order)
        return [] if sheet is None else sheet.questions(self._present.tolist())[:limit]

    def tell(self, answers: Sequence[Answer]) -> None:
        """Write answers down. All are checked before the first one counts; unsure counts neither way."""
        for answer in answers:
            self._check(answer)
        for answer in answers:
            self._said[answer.question_id] = answer.value
            self._pending.add(self._pages[answer.question_id])
            self._next = None

    def know(self, answers: Sequence[OutsideAnswer]) -> None:
        """Take in what is known about pairs of items from elsewhere: votes, from which the catalogue begins."""
        place = {int(item): number for number, item in enumerate(self._present)} if answers else {}
        for answer in answers:
            if answer.u in place and answer.v in place and answer.u != answer.v:
                u, v = sorted((place[answer.u], place[answer.v]))
                self._outside[u, v] = None if answer.value is None else answer.value >= 0.5
                self._next = None

    def result(self) -> Grouping:
        """Return the groups: placed items as they are placed, others with their likeliest cluster, or alone."""
        state = self._look()
        labels = np.full(self._items, -1, np.int64)
        labels[self._present] = labels_of(state)
        labels = numbered(labels)
        quality, count, warning = measured(state, labels[self._present])
        least = tuple(self._present[list(quality.least_sure)].tolist())
        quality = replace(quality, least_sure=least, hour=self._next_hour(state, quality))
        return Grouping(labels, warning=warning, quality=quality, count=count)

    def _next_hour(self, state: State, quality: Quality) -> float | None:
        """What an hour of sheets should add to the share that is right: as many as now, and ever fewer as the rest shrinks."""
        if quality.right is None:
            return None
        rest = 1.0 - quality.right.value
        pace = SHEETS_AN_HOUR * (1 - 1 / state.random_every) * best_value(state, self._order) / state.items
        return rest * (1.0 - math.exp(-pace / rest)) if rest > 0.0 else 0.0

    @property
    def done(self) -> bool:
        """True if every sheet is answered and none is worth a glance."""
        state = self._look()
        return not state.open and choose(state, self._order) is None

    # -- from answers to the next state -------------------------------------------------------------------------------

    def _look(self) -> State:
        if self._next is None:
            self._next = self._advanced()
        return self._next

    def _adopt(self, state: State) -> None:
        self._state = self._next = state
        self._pending = {page for page in self._pending if page not in state.values}
        self._outside.clear()

    def _advanced(self) -> State:
        old = self._state
        complete = {page: values for page in sorted(self._pending) if (values := self._values(page)) is not None}
        fresh = [page for page in complete if page not in old.values]
        changed = {page: values for page, values in complete.items() if page in old.values and old.values[page] != values}
        if not fresh and not changed and not self._outside:
            return old
        state = old.copy()
        for pair, said in self._outside.items():
            if said is None:
                state.outside.pop(pair, None)
            else:
                state.outside[pair] = said
        if changed or self._outside:
            state.values |= changed
            replayed(state)
        for page in fresh:
            told(state, page, complete[page])
        if changed or self._outside or is_due(state):
            refitted(state, self._rates)
        else:
            renewed(state)
        return state

    def _values(self, page: int) -> tuple[float | None, ...] | None:
        """The answers of a sheet; None before it is complete."""
        sheet = self._state.asked[page]
        numbers = range(sheet.first, sheet.first + len(sheet.cells))
        return tuple(self._said[number] for number in numbers) if all(number in self._said for number in numbers) else None

    def _check(self, answer: Answer) -> None:
        number = answer.question_id
        if not 0 <= number < len(self._pages):
            raise InputError(f"question {number} was answered, but only the questions 0 to {len(self._pages) - 1} were asked")
        sheet = self._state.asked[self._pages[number]]
        asked_about = {int(self._present[sheet.anchor]), int(self._present[sheet.cells[number - sheet.first]])}
        if {answer.u, answer.v} != asked_about:
            raise InputError(f"question {number} is about {sorted(asked_about)}, and its answer about ({answer.u}, {answer.v})")
        if answer.value is not None and not 0.0 <= answer.value <= 1.0:
            raise InputError(f"question {number} was answered with {answer.value}: an answer is 1, 0 or unsure")
