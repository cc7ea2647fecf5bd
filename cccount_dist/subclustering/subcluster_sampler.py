"""Active subclustering as a sampler (section 5 and appendix B of the paper): between-class and within-class questions.

Between: are these two centroids the same? Worth P(same). Within: is this image the same as its centroid? Worth
(1 - P(same)) · (1 - P(the centroid is the same as its most similar other one)). "Same" between centroids, said or implied, makes
the passive optimisation go on until no two are. "Different" within a subcluster replaces the image; that place is asked about
first until it is filled or has had H_bc / H_wc questions: then it waits.

An answer is taken in by itself, so how answers arrive together changes nothing. An answer that is replaced is forgotten, but
centroids and images that moved because of it stay where they are: others may be asked about than without it. Several questions
may be open: those to which answers cannot imply each other's (`waiting.py`); with `likely` those of them that would follow from
the likeliest answers. Each answer leads to the next question: where two centroids are the same, one of them moves and is
compared again, so questions that are chosen at once are mostly about centroids which will have moved by then.
Time O(K² + K n) for a question, O(K R) for each swap; memory O(K (K + R)).
"""

import sys
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.constraints import Conflict, Constraints
from cccount_dist.sampling.types import DIFFERENT, SAME, Answer, Question
from cccount_dist.subclustering.calibration import fitted_scale
from cccount_dist.subclustering.candidates import Candidates
from cccount_dist.subclustering.members import Members, Pair, pair_of
from cccount_dist.subclustering.passive import Options, first_selection, subclusters_of
from cccount_dist.subclustering.result import EMPTY, Subclusters
from cccount_dist.subclustering.tally import Tally
from cccount_dist.subclustering.waiting import Trees
from storage.errors import InputError

FIRST_FIT, NEXT_FIT = 32, 1.5  # λ is fitted after so many answers, and whenever there are so many times more
BETWEEN, WITHIN = "between", "within"
_LIKELY = 0.5  # P(same) from which "same" is the likelier answer
_MOST_COPIED = 4_000_000  # K x R, about 60 MB; with more classes than that many questions have nothing to do with each other


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and where it came from: two centroids, or a centroid and the image at one of its places."""

    u: int
    v: int
    purpose: str
    distance: float
    k: int
    place: int  # of the second centroid, or of the image in subcluster k


class ActiveSubclustering:
    """Ask, tell, result, done: see `cccount_dist.sampling.types.Sampler`."""

    def __init__(self, candidates: Candidates, options: Options) -> None:
        self._options = options
        self._known = Constraints()
        self._unsure: set[Pair] = set()
        self._asked: list[Asked] = []
        self._values: dict[int, float | None] = {}
        self._open: dict[Pair, int] = {}  # pairs that were asked and are not answered
        self._tally = Tally(options.clusters, options.size)
        self._fit_at = FIRST_FIT
        self._selection = first_selection(candidates, self._known, options)
        self._members = Members(candidates, self._known, self._unsure, self._selection.chosen)
        self._guess = self._selection.scale
        self._typical = self._typical_distances()
        self._look_at_centroids()
        self._plan: Asked | None = None
        self._planned = False
        self._copied_from: ActiveSubclustering | None = None  # of a copy that only supposes answers

    def ask(self, limit: int) -> list[Question]:
        questions: list[Question] = []
        chooses = self._as_if_answered() if limit > 0 else self
        while len(questions) < limit and (planned := chooses._next()) is not None:
            number = len(self._asked)
            self._wait_for(planned, number)
            questions.append(Question(number, planned.u, planned.v, purpose=planned.purpose))
            if chooses is not self:
                chooses._wait_for(planned, number)
                chooses._suppose(number)
            elif len(questions) < limit:
                chooses = self._as_if_answered()
        return questions

    def _wait_for(self, planned: Asked, number: int) -> None:
        self._asked.append(planned)
        self._open[pair_of(planned.u, planned.v)] = number
        self._planned = False

    def tell(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            if not 0 <= answer.question_id < len(self._asked):
                raise InputError(f"question {answer.question_id} was answered, but only {len(self._asked)} were asked")
            if answer.value not in (None, SAME, DIFFERENT):
                raise InputError(f"question {answer.question_id} was answered with {answer.value}: an answer is 1, 0 or unsure")
        for answer in answers:
            self._learn(answer.question_id, answer.value)
            self._planned = False

    def result(self) -> Subclusters:
        return subclusters_of(self._selection, self._members)

    @property
    def done(self) -> bool:
        """Whether every pair of centroids and every image of a subcluster is settled, or was asked in vain."""
        return not self._open and self._next() is None

    @property
    def conflicts(self) -> list[Conflict]:
        """Answers that contradict earlier ones: kept, and not applied."""
        return self._known.conflicts

    # -- asking ahead -------------------------------------------------------------------------------------------------

    def _as_if_answered(self) -> "ActiveSubclustering":
        """A copy that goes on with the likeliest answers to the open questions; itself where nothing is open, or it is large.

        Time and memory O(K R) and the images that were checked; vectors and lists are shared.
        """
        if not self._options.likely or not self._open or self._selection.places > _MOST_COPIED:
            return self
        supposing = deepcopy(self)
        supposing._copied_from = self
        supposing._fit_at = sys.maxsize  # nothing is learnt from what is only supposed
        for number in self._open.values():
            supposing._suppose(number)
        return supposing

    def _suppose(self, number: int) -> None:
        likely = np.exp(-self._asked[number].distance / self._selection.scale) >= _LIKELY
        self._learn(number, SAME if likely else DIFFERENT)
        self._planned = False

    # -- answers ------------------------------------------------------------------------------------------------------

    def _learn(self, number: int, value: float | None) -> None:
        asked = self._asked[number]
        pair = pair_of(asked.u, asked.v)
        before = self._values.get(number)
        if value is not None and value == before:
            return
        self._open.pop(pair, None)
        self._unsure.discard(pair)
        if before is not None:
            self._known.remove(str(number))
        if value is None:
            self._unsure.add(pair)
        else:
            self._known.add(asked.u, asked.v, value, str(number))
        self._values[number] = value
        self._tally.count(asked.purpose == BETWEEN, before, value)
        if asked.purpose == WITHIN and self._members.items[asked.k, [0, asked.place]].tolist() == [asked.u, asked.v]:
            self._tally.tried(asked.k, asked.place, value)
        self._selection.relate(asked.u, asked.v, revised=before is not None)
        fitted = self._fit()
        changed = self._selection.separate() if self._selection.infinite_pairs else []
        if changed:
            self._members.recentre(self._selection.chosen, changed)
            self._tally.forget(changed)
        self._members.repair(pair)
        self._look_at_centroids(None if fitted or changed or before is not None else pair)

    def _fit(self) -> bool:
        """Fit λ when there are enough new answers; return whether it was."""
        if self._options.scale is not None or len(self._values) < self._fit_at:
            return False
        self._fit_at = int(self._fit_at * NEXT_FIT)
        known = [(self._asked[number].distance, value == SAME) for number, value in self._values.items() if value is not None]
        distance, same = (np.array(column) for column in zip(*known, strict=True)) if known else (np.empty(0), np.empty(0, bool))
        self._selection.set_scale(fitted_scale(distance, same, self._guess, self._typical))
        return True

    def _typical_distances(self) -> NDArray[np.float64]:
        """Return distances of images to their centroids and of centroids to their nearest: where questions will be about."""
        between = self._selection.between()
        np.fill_diagonal(between, np.inf)
        inside = self._members.reach[:, 1:].ravel()
        nearest = between.min(axis=1)
        return np.concatenate([inside[np.isfinite(inside)], nearest[np.isfinite(nearest)]])

    # -- questions ----------------------------------------------------------------------------------------------------

    def _look_at_centroids(self, answered: Pair | None = None) -> None:
        """Renew P(same) of all pairs of centroids and which are not known; or only of those that an answer can have changed."""
        centroids = self._selection.centroids
        changed = np.arange(len(centroids))
        if answered is None:
            self._between_distance = self._selection.between()
            self._between = np.empty_like(self._between_distance)
            self._unknown = np.empty(self._between.shape, np.bool_)
        else:
            names = self._known.names(np.array(answered))
            changed = np.flatnonzero(np.isin(self._known.names(centroids), names))
            self._between_distance[changed] = self._selection.between(changed)
            self._between_distance[:, changed] = self._between_distance[changed].T
        relation = self._known.relations(centroids[changed], centroids)
        relation[np.arange(len(changed)), changed] = 0
        believed = np.exp(-self._between_distance[changed] / self._selection.scale)
        self._between[changed] = np.where(relation < 0, believed, relation)
        self._between[:, changed] = self._between[changed].T
        self._unknown[changed] = relation < 0
        self._unknown[:, changed] = self._unknown[changed].T

    def _next(self) -> Asked | None:
        if not self._planned:
            self._plan = self._choose()
            self._planned = True
        return self._plan

    def _choose(self) -> Asked | None:
        """Return the question to ask now: a place that is being filled, then what is worth most, then places that wait."""
        members, centroids = self._members, self._selection.centroids
        belongs = np.exp(-members.reach / self._selection.scale)
        worth = (1.0 - belongs) * (1.0 - self._between.max(axis=1, initial=0.0))[:, None]
        within = (members.relation() < 0) & (members.items != EMPTY)
        between = self._unknown
        surplus = self._selection.surplus()
        if surplus.any():
            within, between = within & ~surplus[:, None], between & ~surplus & ~surplus[:, None]
        if self._open or self._unsure or self._copied_from is not None:
            within, between = self._not_held(within, between)
        waits = self._tally.waits()
        urgent = within & ~waits & (self._tally.tries > 0)
        for choice in (urgent, within & ~waits):
            place = _largest(worth, choice)
            pair = _largest(self._between, between) if choice is not urgent else None
            if pair is not None and (place is None or self._between[pair] >= worth[place]):
                i, j = pair
                distance = float(self._between_distance[pair])
                return Asked(int(centroids[i]), int(centroids[j]), BETWEEN, distance, i, j)
            if place is not None:
                return self._within(*place)
        last = _largest(-self._tally.tries.astype(np.float64), within)
        return None if last is None else self._within(*last)

    def _within(self, k: int, place: int) -> Asked:
        first, second = self._members.items[k, [0, place]].tolist()
        return Asked(first, second, WITHIN, float(self._members.reach[k, place]), k, place)

    def _not_held(self, within: NDArray[np.bool_], between: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Leave out what an answer to an open question could imply, and pairs of centroids that nobody could tell apart."""
        items, centroids = self._members.items, self._selection.centroids
        truth = self._copied_from or self  # what is only supposed may turn out otherwise
        if truth._open:
            trees = Trees(truth._known, truth._open, np.maximum(items, 0).ravel())
            of_item = trees.of_item.reshape(items.shape)
            within = within & trees.joinable(of_item[:, :1], of_item)
            between = between & trees.joinable(of_item[:, :1], of_item[None, :, 0])
        place = {int(item): k for k, item in enumerate(centroids)}
        unsure = [(place[u], place[v]) for u, v in self._unsure if u in place and v in place]
        if unsure:
            between = between.copy()
            for i, j in unsure:
                between[i, j] = between[j, i] = False
        return within, between


def _largest(values: NDArray[np.float64], allowed: NDArray[np.bool_]) -> tuple[int, int] | None:
    """Return where the largest allowed value is, the first of equal ones; None if none is allowed."""
    if not allowed.any():
        return None
    row, column = np.unravel_index(int(np.where(allowed, values, -np.inf).argmax()), values.shape)
    return int(row), int(column)
