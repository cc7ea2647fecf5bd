"""Inverse sampling: draw u by weight, then v by weight until v is in the cluster of u. The number of draws has mean K, exactly.

For any weights w > 0: the cluster C is that of u with probability W_C/W, and then takes W/W_C draws on average; the sum over
all clusters is K. No similarity, no reciprocal of a noisy size. One replicate scatters by K at least, so R replicates, about
R · K questions, give an error of K/√R. Memory O(n + draws); time O(log n) for a question, O(replicates) for `result`.
"""

import bisect
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.intervals import check_level
from cccount_dist.counting.inverse_interval import inverse_result
from cccount_dist.counting.parameters import MOST_REPLICATES
from cccount_dist.counting.population import Population
from cccount_dist.counting.result import CountResult
from cccount_dist.sampling.types import SAME, Answer, Question
from cccount_dist.similarity.draws import WeightedDraws
from storage.errors import InputError

_OPEN, _UNSURE, _DIFFERENT, _SAME = range(4)
_AHEAD = 4  # one more question ahead for each 4 that were answered, and one more replicate for each 4 that are complete


class _Replicate:
    """One u and its draws, with its own stream of random numbers."""

    def __init__(self, draws: WeightedDraws, population: Population, seed: int, index: int) -> None:
        self._draws = draws
        self._population = population
        self._random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(index,))))
        self.u, *self._items = self._more(8)  # u, and the draws
        self.state = np.empty(8, np.int8)
        self.issued = 0
        self.settled = 0  # draws before the first one that is open
        self.length = 0  # of those, the ones that count: up to the first "same", without unsure ones
        self.complete = False

    def _more(self, count: int) -> list[int]:
        items: list[int] = self._population.to_items(self._draws.at(self._random.random(count))).tolist()
        return items

    @property
    def may_issue(self) -> bool:
        return not self.complete and self.issued < self.settled + 1 + self.settled // _AHEAD and not self.ends_by_itself

    @property
    def ends_by_itself(self) -> bool:
        """Whether the last draw was u itself: nothing after it can count."""
        return self.issued > 0 and self._items[self.issued - 1] == self.u

    @property
    def next(self) -> int:
        """The item that the next draw falls on."""
        if self.issued == len(self._items):
            self._items += self._more(len(self._items))
        return self._items[self.issued]

    def issue(self) -> None:
        """Make the next draw; one of u itself is "same" without a question."""
        if self.issued == len(self.state):
            self.state = np.concatenate([self.state, np.empty_like(self.state)])
        itself = self.next == self.u
        self.state[self.issued] = _SAME if itself else _OPEN
        self.issued += 1
        if itself:
            self.refresh()

    def refresh(self) -> None:
        state = self.state[: self.issued]
        is_open = np.flatnonzero(state == _OPEN)
        self.settled = int(is_open[0]) if len(is_open) else self.issued
        same = np.flatnonzero(state[: self.settled] == _SAME)
        self.complete = len(same) > 0
        stop = int(same[0]) + 1 if self.complete else self.settled
        self.length = int(np.count_nonzero(state[:stop] != _UNSURE))


class InverseSampler:
    """Replicates in order. Some questions are asked ahead: those behind a "same" are wasted, about one in ten.

    The estimate uses the replicates up to the first that is not complete, in order, so that being quick is no reason to be
    counted. If all `replicates` are complete it is their mean, and exactly unbiased; before, it is what a budget has cut
    (`inverse_interval.py`). An unsure answer counts as no draw at all.
    """

    def __init__(
        self, weights: NDArray[np.float64], *, seed: int = 0, level: float = 0.95, replicates: int = MOST_REPLICATES
    ) -> None:
        if seed < 0:
            raise InputError(f"seed must not be negative, and is {seed}")
        if np.any(weights <= 0) or np.any(np.isinf(weights)):
            raise InputError("weights must be above 0 and finite, and NaN for an item that is not counted")
        self._population = Population(weights)
        if self._population.items < 2:
            raise InputError(f"counting needs at least 2 items with a vector, not {self._population.items}")
        counted = self._population.degree  # the weights of the items that are counted
        self._draws = WeightedDraws.of(counted / counted.max())
        self._seed = seed
        self._level = check_level(level)
        self._most = replicates
        self._replicates: list[_Replicate] = []
        self._unfinished: list[int] = []  # replicates that were begun and are not complete, in order
        self._where: list[tuple[int, int, int]] = []  # of each question: replicate, draw, v
        self._answers = 0
        self._position = 0  # in `_unfinished`: where to look for what is due
        self._due()

    @property
    def done(self) -> bool:
        return len(self._replicates) == self._most and not self._unfinished

    def ask(self, limit: int) -> Sequence[Question]:
        """Return up to `limit` draws that are due, in the order of the replicates."""
        questions: list[Question] = []
        while len(questions) < limit and (index := self._due()) is not None:
            replicate = self._replicates[index]
            questions.append(Question(len(self._where), replicate.u, replicate.next, "same", f"inverse replicate {index}"))
            self._where.append((index, replicate.issued, replicate.next))
            replicate.issue()
        self._due()
        return questions

    def _due(self) -> int | None:
        """Return the first replicate whose next draw is a question that is due, and make the draws before it that are none.

        Called after every question and every answer: so the state follows from them and their order, and from nothing else.
        """
        while (index := self._first_due()) is not None:
            replicate = self._replicates[index]
            if replicate.next != replicate.u:
                return index
            replicate.issue()
            if replicate.complete:
                self._unfinished.remove(index)
        return None

    def _first_due(self) -> int | None:
        """Return the first replicate that may make a draw; begin one if it is time."""
        while self._position < len(self._unfinished):
            if self._replicates[self._unfinished[self._position]].may_issue:
                return self._unfinished[self._position]
            self._position += 1  # until answers come, none before this place may make a draw
        begun, complete = len(self._replicates), len(self._replicates) - len(self._unfinished)
        if begun == self._most or len(self._unfinished) > complete // _AHEAD:
            return None
        self._replicates.append(_Replicate(self._draws, self._population, self._seed, begun))
        self._unfinished.append(begun)
        return begun

    def tell(self, answers: Sequence[Answer]) -> None:
        """Take answers in, each by itself: what they come together with is not in a log. All are checked before the first counts.

        A replicate that was begun stays: after an answer was replaced there may be more of them than without the first one.
        """
        for answer in answers:
            self._check(answer)
        for answer in answers:
            index, draw, _ = self._where[answer.question_id]
            state = self._replicates[index].state
            self._answers -= int(state[draw] > _UNSURE)
            state[draw] = _UNSURE if answer.value is None else _SAME if answer.value == SAME else _DIFFERENT
            self._answers += int(state[draw] > _UNSURE)
            self._look_at(index)
            self._due()

    def _look_at(self, index: int) -> None:
        """See whether a replicate is complete now."""
        replicate = self._replicates[index]
        before = replicate.complete
        replicate.refresh()
        place = bisect.bisect_left(self._unfinished, index)
        if replicate.complete and not before:
            del self._unfinished[place]
        elif before and not replicate.complete:
            self._unfinished.insert(place, index)
        self._position = min(self._position, place)  # nothing has changed before it

    def result(self) -> CountResult:
        """Return the estimate from the replicates up to the first that is not complete, and from what that one has so far."""
        complete = self._unfinished[0] if self._unfinished else len(self._replicates)
        lengths = [replicate.length for replicate in self._replicates[:complete]]
        cut = None if complete == self._most else self._replicates[complete].length if complete < len(self._replicates) else 0
        estimate, low, high = inverse_result(lengths, cut, self._population.items, self._level)
        return CountResult(estimate, low, high, self._level, complete, self._answers)

    def _check(self, answer: Answer) -> None:
        number = answer.question_id
        if not 0 <= number < len(self._where):
            raise InputError(f"question {number} was answered, but only the questions 0 to {len(self._where) - 1} were asked")
        index, _, v = self._where[number]
        u = self._replicates[index].u
        if {answer.u, answer.v} != {u, v}:
            raise InputError(f"question {number} is about ({u}, {v}), and its answer about ({answer.u}, {answer.v})")
        if answer.value not in (None, 0.0, 1.0):
            raise InputError(f"question {number} was answered with {answer.value}: an answer is 1, 0 or unsure")


def inverse(
    degree: NDArray[np.float64], *, seed: int = 0, level: float = 0.95, alpha: float = 0.0, replicates: int = MOST_REPLICATES
) -> InverseSampler:
    """Return the sampler with the weights (1 + degree)^-alpha: uniform at 0; larger values favour isolated items.

    Parameters
    ----------
    degree : (n,) float64, NaN for an item without a vector, which is not counted; with alpha = 0 nothing else of it is used
    replicates : how many, fixed in advance: the sampler is done when they are complete
    """
    if not 0.0 <= alpha <= 2.0:
        raise InputError(f"alpha of inverse must lie between 0 and 2, and is {alpha}")
    return InverseSampler(
        (1.0 + degree) ** -alpha * np.where(np.isnan(degree), np.nan, 1.0), seed=seed, level=level, replicates=replicates
    )
