"""`apc`: active probabilistic clustering (FPC, then joins and splits by answers), as a sampler. K is not needed.

Answers are constraints, as in the paper: the labels respect every answer that does not contradict an earlier one. A changed
answer makes the run anew from the first clusters with all that is known, and nothing that was answered is asked again. Memory
O(n k + clusters · d): vectors stay on disk; time of a question: the members of the clusters that it is about, and now and then
a stage's list of pairs.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cccount_dist.clustering.apc.clusters import Clusters
from cccount_dist.clustering.apc.probability import Ints
from cccount_dist.clustering.apc.run import Run, Said, pair
from cccount_dist.clustering.apc.stages import OUTLIER, attached
from cccount_dist.clustering.apc.steps import Asking, Ground
from cccount_dist.clustering.respecting import respecting
from cccount_dist.clustering.result import Grouping, numbered
from cccount_dist.sampling.constraints import Conflict
from cccount_dist.sampling.types import Answer, Question
from storage.errors import InputError

IN_TURN = 16  # questions that may be open at a time as long as all are asked in their turn
HOPELESS = 0.25  # clusters for each item from which the start is called hopeless


class ApcSampler:
    """Ask, tell, result, done: see `cccount_dist.sampling.types.Sampler`."""

    def __init__(self, ground: Ground, start: Ints) -> None:
        self._ground = ground
        self._start = start
        self._asked: list[Question] = []
        self._said = Said()
        self._run = self._anew()

    def ask(self, limit: int) -> list[Question]:
        questions: list[Question] = []
        most = self._ground.parameters.open
        while len(questions) < limit and len(self._said.open) < most and self._run.next is not None:
            questions.append(self._numbered(self._run.take(len(self._asked))))
        if len(questions) < limit and most > IN_TURN and not self._run.finished:
            questions += self._before_their_turn(min(limit - len(questions), most - len(self._said.open)))
        return questions

    def _before_their_turn(self, count: int) -> list[Question]:
        """Ask what tests will want to know that wait for others. What is answered then is known to them when they start."""
        questions: list[Question] = []
        for u, v, purpose in self._run.coming():
            if len(questions) >= count:
                break
            if pair(u, v) not in self._said.open:
                self._said.open[pair(u, v)] = len(self._asked)
                questions.append(self._numbered((u, v, purpose)))
        return questions

    def _numbered(self, asking: Asking) -> Question:
        u, v, purpose = asking
        self._asked.append(Question(len(self._asked), u, v, purpose=purpose))
        return self._asked[-1]

    def preview(self, limit: int) -> list[Question]:
        """Return what would be asked now: the next question, and the tests that are due after it."""
        return [Question(len(self._asked) + at, u, v, purpose=why) for at, (u, v, why) in enumerate(self._run.preview(limit))]

    def tell(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            self._check(answer)
        for answer in answers:
            self._take(answer.question_id, answer.value)

    def result(self) -> Grouping:
        return Grouping(numbered(respecting(self._with_outliers(), self._said.links())), warning=self._warning())

    def _with_outliers(self) -> Ints:
        """The labels, with the outliers that nobody was asked about where they probably belong."""
        ground, label = self._run.ground, self._run.clusters.label
        if not ground.parameters.attach:
            return label
        loose = np.bincount(label)[label] <= OUTLIER
        loose[[item for question in self._asked for item in (question.u, question.v)]] = False
        return attached(ground, label, np.flatnonzero(loose))

    @property
    def done(self) -> bool:
        return not self._said.open and self._run.finished

    @property
    def conflicts(self) -> list[Conflict]:
        """Answers that contradict earlier ones: kept, and not applied."""
        return self._said.closure.conflicts

    def _warning(self) -> str | None:
        clusters = int(self._start.max(initial=-1)) + 1
        if clusters <= HOPELESS * len(self._start):
            return None
        return (
            f"the first clustering has {clusters:,} clusters of {len(self._start):,} items: these embeddings hardly tell the "
            "groups apart, and joining so many clusters by questions is hopeless; use --method evidence, or other embeddings"
        )

    def _take(self, number: int, value: float | None) -> None:
        question = self._asked[number]
        before = self._said.value(number)
        if before == (value,):
            return
        if self._said.take(number, pair(question.u, question.v), value):
            self._run.answered(number, self._said.closure.known(question.u, question.v))
        else:
            self._run = self._anew()

    def _anew(self) -> Run:
        return Run(replace(self._ground), Clusters(self._start), self._said)

    def _check(self, answer: Answer) -> None:
        number = answer.question_id
        if not 0 <= number < len(self._asked):
            raise InputError(f"question {number} was answered, but only {len(self._asked)} were asked")
        if answer.value is not None and answer.value not in (0.0, 1.0):
            raise InputError(f"question {number} was answered with {answer.value}: an answer is 1, 0 or unsure")
