"""A sampler that asks sheets: what `catalogue` and the count by sheets have in common.

The sampler holds the state that it last asked from. Answers are only written down by `tell`; the next state follows from the last
one and the sheets that are complete by now, in the order of their numbers, and becomes the last one when a sheet is asked from
it. So neither `result`, nor an `ask` in vain, nor the way in which answers are cut into `tell` calls changes what is asked later.
A replaced answer to a sheet that counted already makes the book again from the whole history. Memory: the state, twice while
somebody looks. Time of a glance: the rows that it touched, O(32 n) for the choice, and now and then a fit (`fitting.py`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.answers import asked, renewed, replayed, told
from cccount_dist.clustering.catalogue.fitting import is_due, refitted
from cccount_dist.clustering.catalogue.rates import SheetRates
from cccount_dist.clustering.catalogue.sheet import Sheet
from cccount_dist.clustering.catalogue.state import State
from cccount_dist.sampling.types import Answer, OutsideAnswer, Question
from storage.errors import InputError

ResultT = TypeVar("ResultT")


class SheetSampler(ABC, Generic[ResultT]):
    """Asks sheets, and takes their answers in.

    Parameters
    ----------
    state : in which nothing was asked yet
    names : (n,) the collection's number of each item that the state may ever know, in its order
    most_open : sheets that may be open at a time
    rates : how often cells are missed and falsely marked; None: learned
    """

    def __init__(self, state: State, names: NDArray[np.int64], most_open: int, rates: SheetRates | None) -> None:
        self._state, self._present, self._most_open, self._rates = state, names, most_open, rates
        self._said: dict[int, float | None] = {}  # by question: all answers so far
        self._pages: list[int] = []  # page of each question
        self._pending: set[int] = set()  # pages with answers that the state does not know
        self._outside: dict[tuple[int, int], bool | None] = {}  # what was heard from elsewhere since
        self._next: State | None = None

    @abstractmethod
    def result(self) -> ResultT:
        """Return what is known by now."""

    @abstractmethod
    def _chosen(self, state: State) -> tuple[State, Sheet | None]:
        """Return the next sheet, None if nothing is worth a glance, and the state that it is asked from."""

    # -- the sampler's protocol ---------------------------------------------------------------------------------------

    def ask(self, limit: int) -> Sequence[Question]:
        """Return up to `limit` sheets: about different clusters and items, as far as there are enough."""
        state, found = self._look(), list[Question]()
        room, names = min(limit, self._most_open - len(state.open)), self._present.tolist()
        for _ in range(room):
            chosen, sheet = self._chosen(state)
            if sheet is None:
                break
            state = chosen
            if state is not self._state:
                self._adopt(state)
            asked(state, sheet)
            renewed(state)
            self._pages += [sheet.page] * len(sheet.cells)
            found += sheet.questions(names)
        return found

    def preview(self, limit: int) -> Sequence[Question]:
        """Return the cells that would be asked first."""
        _, sheet = self._chosen(self._look())
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

    @property
    def done(self) -> bool:
        """True if every sheet is answered and none is worth a glance."""
        state = self._look()
        return not state.open and self._chosen(state)[1] is None

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
