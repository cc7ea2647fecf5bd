"""Active-HACC as a sampler: asks the pair whose answer is expected to change the clustering most.

A batch is the best question, then the best one in clusters that no question before it touches, and so on: no answer to one of
them implies an answer to another. If more may be open, the best questions about other pairs of clusters follow. Time and memory
are those of `engine.py` for each question.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.hacc.beliefs import EXCLUDED, Beliefs, pooled
from cccount_dist.clustering.hacc.engine import Engine, LocalEngine, pairs_within
from cccount_dist.clustering.hacc.forest import Bytes, Forest, Int64s
from cccount_dist.clustering.hacc.knowledge import HaccGrouping, Knowledge
from cccount_dist.clustering.hacc.units import MOST_UNITS
from cccount_dist.sampling.constraints import Conflict
from cccount_dist.sampling.types import DIFFERENT, Answer, Question

WORTH = 0.5  # of the best question's value: what is worth less waits, for the answers will make better questions
Planned = tuple[int, int, str]  # u, v, purpose


class Checks:
    """The value of asking about the weakest link of each micro-cluster: "different" opens it, so no assumption stands for good.

    The value is on the scale of the other questions: the share of checks that failed so far (smoothed), times 1 - J if the
    smaller part left its cluster, which is the paper's H2. So checks come up where micro-clusters are large beside their cluster.
    """

    def __init__(self, knowledge: Knowledge, forest: Forest, outcomes: tuple[int, int]) -> None:
        failed, answered = outcomes
        self._cluster = forest.labels()
        self._value = np.full(len(knowledge.problem.node), -1.0)
        self._ends = np.empty((len(self._value), 2), np.int64)
        micro = knowledge.micro
        if micro is None or len(self._value) >= MOST_UNITS:
            return
        units: Int64s = np.flatnonzero(knowledge.problem.node >= micro.items)
        join = knowledge.problem.node[units] - micro.items
        self._ends[units] = np.stack((micro.first[micro.link[join]], micro.second[micro.link[join]]), axis=1)
        smaller = micro.size[micro.parts[join]].min(axis=1).astype(np.float64)
        size = np.bincount(self._cluster, weights=knowledge.problem.weight)[self._cluster[units]]
        lost = smaller * (size - smaller) / pairs_within(forest)
        asked = knowledge.problem.beliefs.agreements[units, units] == EXCLUDED  # a question inside a unit marks its diagonal
        self._value[units] = np.where(asked, -1.0, (failed + 1) / (answered + 2) * lost)

    def best(self, taken: Bytes) -> tuple[float, int]:
        """Return the value of the best check in a cluster that is not taken, and its unit; a value below 0 if there is none."""
        value: NDArray[np.float64] = np.where(taken[self._cluster] != 0, -1.0, self._value)
        unit = int(value.argmax())
        return float(value[unit]), unit

    def items_of(self, unit: int) -> tuple[int, int]:
        first, second = self._ends[unit].tolist()
        return first, second


@dataclass(frozen=True, slots=True)
class Asking:
    """How questions are chosen.

    local : score by the approximation H2; the purpose of each question then says so
    pooling : what is known to be the same shares its probabilities
    unlikely : pairs of two clusters whose P is below are left out (the first half of H1)
    stop : the expected change below which nothing more is asked; 0: never
    """

    local: bool = False
    pooling: bool = True
    unlikely: float = 0.0
    stop: float = 0.0


class _Plan:
    """What to ask now, best first; each question is asked before the next one is looked for."""

    def __init__(self, knowledge: Knowledge, outcomes: tuple[int, int], asking: Asking, *, crowded: bool) -> None:
        forest = knowledge.forest()
        self._knowledge = knowledge
        self._crowded = crowded  # whether several open questions may be about one cluster
        self._problem = problem = knowledge.problem
        self._cluster = cluster = forest.labels()
        beliefs = pooled(problem.beliefs, forest) if asking.pooling else problem.beliefs
        if asking.unlikely:
            beliefs = _without_unlikely(beliefs, cluster, asking.unlikely)
        self._engine = (LocalEngine if asking.local else Engine)(problem.order, forest, beliefs)
        self._stop = asking.stop
        self._checks = Checks(knowledge, forest, outcomes)
        self._said = ", approximate" if asking.local else ""
        # A pending question holds its clusters: its answer may change everything that could be asked about them.
        self._taken = np.zeros(forest.clusters, np.uint8)
        self._taken[cluster[problem.of_item[np.array(knowledge.pending(), np.int64).ravel()]]] = 1
        self._least = self._stop
        self._over = False

    def following(self) -> Planned | None:
        """Return the next question, which holds its clusters from now on; None if what is left must wait for answers."""
        if self._over:
            return self._in_other_pairs() if self._crowded else None
        best, (check, unit) = self._engine.best(self._taken), self._checks.best(self._taken)
        value = max(check, -1.0 if best is None else best.value)
        asks = best is not None and best.value >= check
        self._over = value < self._least or not (asks or check >= 0.0)
        if self._over:
            if self._crowded:
                self._exclude_open_pairs()
            return self.following() if self._crowded else None
        self._least = max(self._least, WORTH * value)
        if best is not None and asks:
            self._taken[self._cluster[[best.first, best.second]]] = 1
            return (*self._problem.items_of(best.first, best.second), ("split" if best.split else "join") + self._said)
        self._taken[self._cluster[unit]] = 1
        return (*self._checks.items_of(unit), "check")

    def _exclude_open_pairs(self) -> None:
        """Leave only questions about pairs of clusters, or single ones, that no open question is about."""
        beliefs = self._engine.beliefs
        self._engine.beliefs = replace(beliefs, agreements=beliefs.agreements.copy())
        for u, v in self._knowledge.pending():
            self._exclude(int(self._problem.of_item[u]), int(self._problem.of_item[v]))

    def _exclude(self, first: int, second: int) -> None:
        one, other = (np.flatnonzero(self._cluster == self._cluster[unit]) for unit in (first, second))
        agreements = self._engine.beliefs.agreements
        agreements[np.ix_(one, other)] = agreements[np.ix_(other, one)] = EXCLUDED

    def _in_other_pairs(self) -> Planned | None:
        best = self._engine.best(np.zeros_like(self._taken))
        if best is None or best.value < self._stop:
            return None
        self._exclude(best.first, best.second)
        return (*self._problem.items_of(best.first, best.second), ("split" if best.split else "join") + self._said)


def _without_unlikely(beliefs: Beliefs, cluster: NDArray[np.integer], least: float) -> Beliefs:
    """Return the beliefs without pairs of two clusters that are hardly the same."""
    unlikely = (beliefs.probability()[beliefs.agreements] < least) & (cluster[:, None] != cluster)
    return replace(beliefs, agreements=np.where(unlikely, np.uint8(EXCLUDED), beliefs.agreements))


class ActiveHacc:
    """Ask, tell, result, done: see `cccount_dist.sampling.types.Sampler`.

    Parameters
    ----------
    knowledge : the units, and K
    asking : how questions are chosen
    most_open : questions that may be open at a time; None: as many as there are clusters of their own
    crowded : whether several of them may be about one cluster
    """

    def __init__(
        self, knowledge: Knowledge, asking: Asking | None = None, *, most_open: int | None = None, crowded: bool = False
    ) -> None:
        self._knowledge = knowledge
        self._asking = asking or Asking()
        self._most_open, self._crowded = most_open, crowded
        self._plan: _Plan | None = None
        self._next: Planned | None = None
        self._checks: list[int] = []  # questions that are checks

    def ask(self, limit: int) -> list[Question]:
        questions: list[Question] = []
        if self._most_open is not None:
            limit = min(limit, self._most_open - len(self._knowledge.pending()))
        while len(questions) < limit and (planned := self._look_ahead()) is not None:
            self._next = None
            u, v, purpose = planned
            number = self._knowledge.ask(u, v)
            if purpose == "check":
                self._checks.append(number)
            questions.append(Question(number, u, v, purpose=purpose))
        return questions

    def tell(self, answers: Sequence[Answer]) -> None:
        if answers:  # to be told nothing must change nothing: a log does not show it
            self._knowledge.tell(answers)
            self._plan = self._next = None

    def result(self) -> HaccGrouping:
        return self._knowledge.grouping()

    @property
    def done(self) -> bool:
        """Whether every pair is implied by the answers or was asked in vain, or no question is worth asking any more."""
        return not self._knowledge.pending() and self._look_ahead() is None

    @property
    def conflicts(self) -> list[Conflict]:
        """Answers that contradict earlier ones: kept, and not applied."""
        return self._knowledge.conflicts

    def _look_ahead(self) -> Planned | None:
        if self._next is None:
            if self._plan is None:
                self._plan = _Plan(self._knowledge, self._outcomes(), self._asking, crowded=self._crowded)
            self._next = self._plan.following()
        return self._next

    def _outcomes(self) -> tuple[int, int]:
        """Return how many checks failed, and how many were answered."""
        values = [self._knowledge.answers.get(number) for number in self._checks]
        return sum(value == DIFFERENT for value in values), sum(value is not None for value in values)
