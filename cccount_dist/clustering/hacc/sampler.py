"""Active-HACC as a sampler: asks the pair whose answer is expected to change the clustering most.

A batch is the best question, then the best one in clusters that no question before it touches, and so on: no answer to one of
them implies an answer to another. Time and memory are those of `engine.py` for each question.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from cccount_dist.clustering.hacc.checks import Checks
from cccount_dist.clustering.hacc.engine import Engine
from cccount_dist.clustering.hacc.knowledge import HaccGrouping, Knowledge
from cccount_dist.clustering.hacc.local import LocalEngine
from cccount_dist.clustering.hacc.pooled import pooled
from cccount_dist.sampling.constraints import Conflict
from cccount_dist.sampling.types import DIFFERENT, Answer, Question

WORTH = 0.5  # of the best question's value: what is worth less waits, for the answers will make better questions
Planned = tuple[int, int, str]  # u, v, purpose


class ActiveHacc:
    """Ask, tell, result, done: see `cccount_dist.sampling.types.Sampler`.

    Parameters
    ----------
    knowledge : the units, and K
    local : score by the approximation H2; the purpose of each question then says so
    """

    def __init__(self, knowledge: Knowledge, *, local: bool = False) -> None:
        self._knowledge = knowledge
        self._local = local
        self._plan: Iterator[Planned] | None = None
        self._next: Planned | None = None
        self._checks: list[int] = []  # questions that are checks

    def ask(self, limit: int) -> list[Question]:
        questions: list[Question] = []
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
        """Whether every pair is implied by the answers, or was asked in vain."""
        return not self._knowledge.pending() and self._look_ahead() is None

    @property
    def conflicts(self) -> list[Conflict]:
        """Answers that contradict earlier ones: kept, and not applied."""
        return self._knowledge.conflicts

    def _look_ahead(self) -> Planned | None:
        if self._next is None:
            if self._plan is None:
                self._plan = self._choices()
            self._next = next(self._plan, None)
        return self._next

    def _choices(self) -> Iterator[Planned]:
        """Yield what to ask now, best first; each question is asked before the next one is looked for."""
        forest = self._knowledge.forest()
        problem = self._knowledge.problem
        cluster = forest.labels()
        engine = (LocalEngine if self._local else Engine)(problem.order, forest, pooled(problem.beliefs, forest))
        checks = Checks(self._knowledge, forest, self._outcomes())
        # A pending question holds its clusters: its answer may change everything that could be asked about them.
        taken = np.zeros(forest.clusters, np.uint8)
        taken[cluster[problem.of_item[np.array(self._knowledge.pending(), np.int64).ravel()]]] = 1
        least = 0.0
        while True:
            best, (check, unit) = engine.best(taken), checks.best(taken)
            value = max(check, -1.0 if best is None else best.value)
            if value < least:
                return
            least = max(least, WORTH * value)
            if best is not None and best.value >= check:
                purpose = ("split" if best.split else "join") + (", approximate" if self._local else "")
                yield (*problem.items_of(best.first, best.second), purpose)
                taken[cluster[[best.first, best.second]]] = 1
            elif check >= 0.0:
                yield (*checks.items_of(unit), "check")
                taken[cluster[unit]] = 1
            else:
                return

    def _outcomes(self) -> tuple[int, int]:
        """Return how many checks failed, and how many were answered."""
        values = [self._knowledge.answers.get(number) for number in self._checks]
        return sum(value == DIFFERENT for value in values), sum(value is not None for value in values)
