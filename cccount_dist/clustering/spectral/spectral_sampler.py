"""Active spectral clustering as a sampler: asks for the rating that would move the least certain item most.

    score of a pair = deviation of its weight · |d margin(k) / dw|,    k the item with the smallest margin

First it connects: while the graph of ratings has several parts it asks pairs between them, and there is no grouping. Then, if
interleaved, every second question is a random pair. A question that waits for its answer holds its item k, and the next one is
about the next least certain item. Ratings of a pair may be repeated up to a maximum; what they are worth is in `ratings.py`. A
rating that is replaced is forgotten, but not what it said about the noise if that was looked at while it held.
Time of a question: one spectrum and K - 1 linear solves; memory O(n K + pairs asked), O(n²) for S&T.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.spectral.assigning import Placing, mostly_near_0, place, unexplained
from cccount_dist.clustering.spectral.filled import filled
from cccount_dist.clustering.spectral.graph import Floats, RatedGraph
from cccount_dist.clustering.spectral.parameters import Begin, Estimate, Missing, Repeating
from cccount_dist.clustering.spectral.randompairs import Pair, connecting_pair, generator, random_pair
from cccount_dist.clustering.spectral.ratedgroups import SpectralGrouping, grouping, no_grouping
from cccount_dist.clustering.spectral.ratings import UNKNOWN, Ratings
from cccount_dist.clustering.spectral.scan import best_of_matrix, best_pair
from cccount_dist.clustering.spectral.sensitivity import all_changes, sensitivity
from cccount_dist.clustering.spectral.spectrum import Spectrum, spectrum
from cccount_dist.sampling.types import Answer, Question

Rule = Literal["iu-red", "s-and-t", "random"]
NOBODY = -1  # in place of the item that a question is about, for random ones


@dataclass(frozen=True, slots=True)
class Prior:
    """Similarities of some pairs that hold until the pair is rated."""

    first: NDArray[np.int64]  # (m,)
    second: NDArray[np.int64]  # (m,)
    weight: Floats  # (m,)


@dataclass(frozen=True, slots=True)
class Way:
    """How ratings are asked for and what they are taken for; the defaults are ours.

    begin : pairs that connect the items come first; `identity`: while λ2 is not simple, where eq. (7) says nothing, any pair
    estimate : `median`, of all ratings of a pair, as in section 5 of the paper; `auto`: see `ratings.py`
    repeating : `always`: each pair as often as it may be rated, one after the other (figure 5a of the paper)
    most_open : questions that may be open at a time; 0: as many as are wanted
    """

    begin: Begin = "connect"
    estimate: Estimate = "auto"
    repeating: Repeating = "active"
    most_open: int = 0


@dataclass(frozen=True, slots=True)
class _Planned:
    pair: Pair
    purpose: str
    item: int = NOBODY


class SpectralSampler:
    """Ask, tell, result, done: see `cccount_dist.sampling.types.Sampler`.

    Parameters
    ----------
    items, clusters : how many there are, and into how many groups they go
    rule : how questions are chosen: `iu-red`, `s-and-t` (two groups) or `random`
    interleaved : every second question is a random pair
    floor : the weight of "different"; 0: no connection
    repeats : how often a pair may be rated
    prior : similarities that hold until a pair is rated
    missing : what the result takes a pair for that was not rated: `zero` as in the paper, or `either` a guess (`filled.py`)
        or, for more than two groups or where most ratings are near 0, whichever of both gives groups that explain the ratings
        better. Questions are chosen with 0.
    way : how ratings are asked for
    unavailable : pairs that cannot be measured: they are never asked, and count as 0
    """

    def __init__(
        self,
        items: int,
        clusters: int,
        *,
        rule: Rule = "iu-red",
        interleaved: bool = True,
        seed: int = 0,
        floor: float = 1e-4,
        repeats: int = 3,
        prior: Prior | None = None,
        missing: Missing = "either",
        way: Way | None = None,
        unavailable: Sequence[Pair] = (),
    ) -> None:
        self._items, self._clusters = items, clusters
        self._rule, self._interleaved, self._seed, self._most, self._missing = rule, interleaved, seed, repeats, missing
        self._graph = RatedGraph(items)
        self._way = way or Way()
        self._ratings = Ratings(floor, medians=self._way.estimate == "median")
        self._expected: dict[Pair, float] = {}
        self._pairs: list[Pair] = []  # of every question
        self._asked: set[Pair] = set(unavailable)
        self._pending: dict[int, int] = {}  # question -> the item that it is about
        self._unsure: dict[Pair, set[int]] = {}
        # The last look at the graph, and where the search for the next one starts. The start changes when questions are asked
        # and never when a result is read, so that reading results changes no question.
        self._parts: int | None = None
        self._look: tuple[Spectrum | None, Placing | None] | None = None
        self._warm: Floats | None = None
        self._before: NDArray[np.int64] | None = None
        if prior is not None and len(prior.first):
            self._expect(prior)
        for u, v in sorted(self._asked):
            if not self._graph.has(u, v):
                self._graph.add(np.array([u]), np.array([v]))
            self._graph.close(u, v)

    def ask(self, limit: int) -> list[Question]:
        questions: list[Question] = []
        if self._way.most_open:
            limit = min(limit, self._way.most_open - len(self._pending))
        while len(questions) < limit and (planned := self._plan()) is not None:
            number, (u, v) = self.asked, planned.pair
            if not self._graph.has(u, v):
                self._graph.add(np.array([u]), np.array([v]))
            self._graph.close(u, v)
            self._pairs.append(planned.pair)
            self._asked.add(planned.pair)
            self._pending[number] = planned.item
            questions.append(Question(number, u, v, "rating", planned.purpose))
        return questions

    def tell(self, answers: Sequence[Answer]) -> None:
        if not answers:
            return
        changed: dict[Pair, None] = {}
        all_changed = False
        for answer in answers:
            pair = self._pairs[answer.question_id]
            self._pending.pop(answer.question_id, None)
            unsure = self._unsure.setdefault(pair, set())
            (unsure.add if answer.value is None else unsure.discard)(answer.question_id)
            all_changed |= self._ratings.put(pair, answer.question_id, answer.value)
            changed[pair] = None
        if all_changed:
            changed |= dict.fromkeys(self._ratings.pairs)
        waiting = {self._pairs[number] for number in self._pending}
        for pair in changed:
            self._update(pair, is_open=pair not in waiting and not self._unsure.get(pair))
        self._look = None

    def result(self) -> SpectralGrouping:
        if self._is_trivial:
            return SpectralGrouping(np.arange(self._items) % self._clusters, rated=self._rated)
        if (parts := self._connected_parts()) > 1:
            return no_grouping(self._items, parts, self._rated)
        guessed = spectrum(filled(self._graph, self._clusters), self._clusters) if self._missing == "either" else None
        looks: list[tuple[Spectrum, Placing]] = []
        if guessed is not None and guessed.is_determined:
            looks.append((guessed, place(guessed.block, None)))
        if not looks or self._clusters > 2 or mostly_near_0(self._graph):
            found, placing = self._looked()
            if found is not None and placing is not None:
                looks.append((found, placing))
        if not looks:
            return no_grouping(self._items, parts, self._rated)
        best, groups = min(looks, key=lambda look: unexplained(self._graph, look[1].labels))
        return grouping(groups.labels, best.gap, self._rated)

    def preview(self, limit: int) -> list[Question]:
        """Return what it would ask about the least certain items, without asking it."""
        found, placing = self._looked() if self._rule == "iu-red" and not self._is_trivial else (None, None)
        if found is None or placing is None:
            return []
        seen: dict[Pair, str] = {}
        items = set(self._pending.values())
        for _ in range(limit):
            if (planned := self._about_least_sure(found, placing, items)) is None:
                break
            items.add(planned.item)
            seen.setdefault(planned.pair, planned.purpose)
        return [Question(self.asked + at, u, v, "rating", why) for at, ((u, v), why) in enumerate(seen.items())]

    @property
    def done(self) -> bool:
        """Whether every pair was rated as often as it may be, or nobody was sure."""
        if self._is_trivial:
            return True
        all_asked = len(self._asked) == self._items * (self._items - 1) // 2
        may_repeat = self._rule != "random" and bool(np.any(self._graph.deviation > 0.0))
        return all_asked and not self._pending and not may_repeat and self._to_repeat() is None

    @property
    def asked(self) -> int:
        """How many questions there were."""
        return len(self._pairs)

    @property
    def _is_trivial(self) -> bool:
        """Whether there is nothing to find out: one group, or a group for every item."""
        return self._clusters == 1 or self._items <= self._clusters

    @property
    def _rated(self) -> float:
        return len(self._ratings.pairs) / max(1, self._items * (self._items - 1) // 2)

    def _plan(self) -> _Planned | None:
        """Return what to ask next."""
        if self._is_trivial:
            return None
        number = self.asked
        random = generator(self._seed, number)
        parts = self._connected_parts()
        if (again := self._to_repeat()) is not None:
            return _Planned(again, "repeat")
        if parts > 1:
            planned = self._connect(random) if self._way.begin == "connect" else None
        elif self._rule == "random" or (self._interleaved and number % 2):
            planned = None
        else:
            planned = self._choose()
        if planned is None and (pair := random_pair(self._items, self._asked, random)) is not None:
            planned = _Planned(pair, "random")
        if planned is None and parts == 1 and self._rule != "random":
            planned = self._choose()  # no new pair is left: only repeats are
        return planned

    def _to_repeat(self) -> Pair | None:
        """Return the pair of the last question, if each is always rated several times and it was not yet."""
        if self._way.repeating != "always" or not self._pairs:
            return None
        last = self._pairs[-1]
        times = next((at for at, pair in enumerate(reversed(self._pairs)) if pair != last), len(self._pairs))
        return last if times < self._most else None

    def _connect(self, random: np.random.Generator) -> _Planned | None:
        waiting = np.array([self._pairs[number] for number in self._pending], np.int64).reshape(-1, 2)
        parts, part = self._graph.components((waiting[:, 0], waiting[:, 1]))
        pair = connecting_pair(part, self._asked, random) if parts > 1 else None
        return None if pair is None else _Planned(pair, "connect")

    def _choose(self) -> _Planned | None:
        """Return the question that the rule finds best; None if the ratings determine no grouping that it could rest on."""
        found, placing = self._looked()
        if found is None or placing is None:
            return None
        self._warm, self._before = found.vectors, placing.labels
        if self._rule == "s-and-t":
            pair = best_of_matrix(self._graph, all_changes(self._graph))
            return None if pair is None else self._planned(pair, NOBODY)
        return self._about_least_sure(found, placing, set(self._pending.values()))

    def _about_least_sure(self, found: Spectrum, placing: Placing, but: set[int]) -> _Planned | None:
        """Return the best question about the least certain item, except some items; changes nothing."""
        item = placing.least_sure(but - {NOBODY})
        changes = None if item is None else sensitivity(self._graph, found, item)
        if item is None or changes is None:
            return None
        pair = best_pair(self._graph, found.block * placing.toward(item), changes)
        return None if pair is None else self._planned(pair, item)

    def _planned(self, pair: Pair, item: int) -> _Planned:
        return _Planned(pair, "repeat" if pair in self._asked else "uncertain", item)

    def _connected_parts(self) -> int:
        if self._parts is None:
            self._parts, _ = self._graph.components()
        return self._parts

    def _looked(self) -> tuple[Spectrum | None, Placing | None]:
        """Return spectrum and groups of the graph; None where they are not determined."""
        if self._look is None:
            found = spectrum(self._graph, self._clusters, self._warm) if self._connected_parts() == 1 else None
            if found is not None and not found.is_determined:
                found = None
            self._look = found, None if found is None else place(found.block, self._before)
        return self._look

    def _expect(self, prior: Prior) -> None:
        self._graph.add(prior.first, prior.second)
        for u, v, weight in zip(prior.first.tolist(), prior.second.tolist(), prior.weight.tolist(), strict=True):
            self._expected[u, v] = weight
            self._graph.set(u, v, weight, UNKNOWN, rated=False)

    def _update(self, pair: Pair, *, is_open: bool) -> None:
        weight, deviation = self._expected.get(pair, 0.0), 0.0
        if count := self._ratings.count(pair):
            weight, deviation = self._ratings.estimate(pair)
        self._graph.set(*pair, weight, deviation if is_open and count < self._most else 0.0, rated=count > 0)
        if self._parts != 1 or weight == 0.0:  # what is connected stays so, unless an answer is taken back
            self._parts = None


__all__ = ["Prior", "SpectralSampler"]
