"""Nested sampling of the number of clusters: anchors u from Q, draws v from q_u, and equations 6 and 7 of the NIS paper.

    estimate = mean over anchors of  1/Q(u) · 1/(1 + d̂(u)),      d̂(u) = mean over draws of  s(u, v) / q_u(v)

What Q and q are is the proposal's business (`nis.py`, `nested_mc.py`), and `released.py` has the authors' other form. Memory
O(draws); time: an anchor's draws cost one row of similarity whenever their number doubles, `result` O(draws).
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.intervals import check_level, mean_interval
from cccount_dist.counting.parameters import ALPHA, RATIO
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.schedule import Schedule
from cccount_dist.sampling.types import Answer, Question
from storage.errors import InputError

_OPEN, _UNSURE, _ANSWERED = 0, 1, 2
_FIRST_DRAWS = 256
_FEWEST = 65_536  # draws that may pass before the first question, and
_MOST = 64  # draws for each further one: beyond that nearly all draws are of the anchor itself


class Proposal(Protocol):
    """The two distributions of a nested sampler."""

    @property
    def name(self) -> str:
        """Stands at the beginning of each question's purpose."""

    @property
    def items(self) -> int:
        """How many items are counted: the number of clusters is certainly not larger."""

    def anchor(self, uniform: float) -> tuple[int, float]:
        """Return the item u that a uniform random number falls on, and Q(u)."""

    def draw(self, u: int, uniform: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the items v that rows of two uniform random numbers fall on, and q_u(v). Only the released form draws u, too."""


class _Anchor:
    """One draw of u, with its own stream of random numbers: draw j is the same however far the sequence is read."""

    def __init__(self, proposal: Proposal, seed: int, index: int) -> None:
        self._proposal = proposal
        self._random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(index,))))
        self.u, self.weight = proposal.anchor(float(self._random.random()))
        self.v = np.empty(0, np.int64)
        self.q = np.empty(0, np.float64)

    def reach(self, draws: int) -> None:
        """Make at least so many draws, and as many again: each extension computes the row of u anew."""
        have = len(self.v)
        if draws > have:
            wanted = max(_FIRST_DRAWS, 2 * draws)
            v, q = self._proposal.draw(self.u, self._random.random((wanted - have, 2)))
            self.v, self.q = np.concatenate([self.v, v]), np.concatenate([self.q, q])


class NestedSampler:
    """The sampler: its questions do not depend on answers, on the budget or on how they are cut into batches.

    An unsure answer is left out of M: it is never read as "different". An anchor with nothing but unsure answers is left out.
    A draw of the anchor itself needs no question.
    """

    def __init__(self, proposal: Proposal, *, seed: int, level: float = 0.95, ratio: float = RATIO, alpha: float = ALPHA) -> None:
        if proposal.items < 2:
            raise InputError(f"counting needs at least 2 items with a vector, not {proposal.items}")
        if seed < 0:
            raise InputError(f"seed must not be negative, and is {seed}")
        self._proposal = proposal
        self._seed = seed
        self._level = check_level(level)
        self._schedule = Schedule(ratio, alpha)
        self._anchors: list[_Anchor] = []
        # One entry for each draw made so far; the arrays are longer and double when they are full.
        self._drawn = 0
        self._anchor = np.empty(0, np.int64)
        self._v = np.empty(0, np.int64)
        self._q = np.empty(0, np.float64)
        self._state = np.empty(0, np.int8)
        self._value = np.empty(0, np.float64)
        self._place: list[int] = []  # of each question among the draws

    @property
    def done(self) -> bool:
        """False: each further question makes the interval narrower. True only where nearly all draws are of the anchor itself."""
        return self._drawn >= self._most_draws

    @property
    def _most_draws(self) -> int:
        return _MOST * len(self._place) + _FEWEST

    def ask(self, limit: int) -> Sequence[Question]:
        """Return the next `limit` questions of the sequence."""
        questions: list[Question] = []
        while len(questions) < limit and not self.done:
            start, stop = self._drawn, min(self._drawn + limit - len(questions), self._most_draws)
            self._extend(stop)
            for place in range(start, stop):
                u, v = self._anchors[self._anchor[place]].u, int(self._v[place])
                if u == v:
                    self._state[place], self._value[place] = _ANSWERED, 1.0
                    continue
                purpose = f"{self._proposal.name} anchor {self._anchor[place]}"
                questions.append(Question(len(self._place), u, v, "same", purpose))
                self._place.append(place)
        return questions

    def _extend(self, stop: int) -> None:
        """Make the draws of the sequence up to place stop - 1."""
        start = self._drawn
        self._make_room(stop)
        anchor, draw = self._schedule.locate(start, stop)
        while len(self._anchors) < self._schedule.anchors_after(stop):
            self._anchors.append(_Anchor(self._proposal, self._seed, len(self._anchors)))
        for index in np.unique(anchor):
            mine = anchor == index
            source = self._anchors[index]
            source.reach(int(draw[mine].max()) + 1)
            self._v[start:stop][mine] = source.v[draw[mine]]
            self._q[start:stop][mine] = source.q[draw[mine]]
        self._anchor[start:stop] = anchor
        self._drawn = stop

    def tell(self, answers: Sequence[Answer]) -> None:
        """Take answers in. All are checked before the first one counts."""
        for answer in answers:
            self._check(answer)
        for answer in answers:
            place = self._place[answer.question_id]
            self._state[place] = _UNSURE if answer.value is None else _ANSWERED
            self._value[place] = 0.0 if answer.value is None else answer.value

    def result(self) -> CountResult:
        """Return the estimate from the anchors that are complete at the level reached, with all their answers."""
        # Draws of the anchor itself behind the last question are left out: how many there are depends on the limits of `ask`.
        made = self._place[-1] + 1 if self._place else 0
        anchor, state = self._anchor[:made], self._state[:made]
        count = len(self._anchors)
        answered = state == _ANSWERED
        asked = np.zeros(made, bool)
        asked[self._place] = True
        mine = np.bincount(anchor[answered & asked], minlength=count)
        unsure = (np.bincount(anchor[asked], minlength=count) > 0) & (mine == 0)
        settled = np.bincount(anchor[state != _OPEN], minlength=count)
        reached = self._schedule.level_reached(settled)
        drawn = np.bincount(anchor[answered], minlength=count)
        hits = np.bincount(anchor, weights=self._value[:made] / self._q[:made], minlength=count)
        enters = (settled >= self._schedule.draws_of_each(reached)) & ~unsure if reached else np.zeros(count, bool)
        terms = [
            1.0 / (self._anchors[index].weight * self._size(self._anchors[index].u, hits[index], int(drawn[index])))
            for index in np.flatnonzero(enters).tolist()
        ]
        answers = int(mine.sum())
        certain = (1.0, float(self._proposal.items))
        if len(terms) < 2:
            return CountResult(float(terms[0]) if terms else None, *certain, self._level, len(terms), answers)
        estimate, low, high = self._interval(terms)
        return CountResult(estimate, low, high, self._level, len(terms), answers)

    def _size(self, u: int, hits: float, drawn: int) -> float:  # noqa: ARG002 (the released form needs the anchor)
        """Return the estimated size of the anchor's cluster from Σ s/q over its draws: equation 7, and 1 for the anchor."""
        return 1.0 + hits / drawn

    def _interval(self, terms: Sequence[float]) -> tuple[float, float, float]:
        return mean_interval(terms, self._level)

    def _check(self, answer: Answer) -> None:
        number = answer.question_id
        if not 0 <= number < len(self._place):
            raise InputError(f"question {number} was answered, but only the questions 0 to {len(self._place) - 1} were asked")
        u, v = self._anchors[self._anchor[self._place[number]]].u, int(self._v[self._place[number]])
        if {answer.u, answer.v} != {u, v}:
            raise InputError(f"question {number} is about ({u}, {v}), and its answer about ({answer.u}, {answer.v})")
        if answer.value is not None and not 0.0 <= answer.value <= 1.0:
            raise InputError(f"question {number} was answered with {answer.value}: an answer is 1, 0 or unsure")

    def _make_room(self, draws: int) -> None:
        have = len(self._v)
        if draws > have:
            more = max(draws, 2 * have) - have
            self._anchor = np.concatenate([self._anchor, np.zeros(more, np.int64)])
            self._v = np.concatenate([self._v, np.zeros(more, np.int64)])
            self._q = np.concatenate([self._q, np.ones(more)])
            self._state = np.concatenate([self._state, np.zeros(more, np.int8)])
            self._value = np.concatenate([self._value, np.zeros(more)])
