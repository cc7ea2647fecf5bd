"""`evidence`: groups without being told how many there are; answers are evidence that can be out-voted, never constraints.

The sampler holds the last partition that it asked questions from. Answers are only written down by `tell`; the next partition
follows from the last one and the answers, and becomes the last one when a question is asked from it. So neither `result`, nor an
`ask` without questions, nor the way in which answers are cut into `tell` calls changes what is asked later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.evidence.cases import Asked, Case, evidence_of, make_cases, summed
from cccount_dist.clustering.evidence.micro import Micro, make_micro
from cccount_dist.clustering.evidence.model import Model, fit, prior
from cccount_dist.clustering.evidence.partition import Builder, Partition
from cccount_dist.clustering.evidence.questions import Worth, worth
from cccount_dist.clustering.evidence.representatives import pick
from cccount_dist.clustering.evidence.topics import again_about, topics
from cccount_dist.clustering.result import Grouping, numbered
from cccount_dist.sampling.types import Answer, Question
from storage.errors import InputError

ALWAYS = 20  # answers up to which every partition is made from the micro-clusters up
EVERY = 10  # and then after so many answers, or a twentieth of those so far
OPEN = 16  # questions that may be open at a time


@dataclass(frozen=True, slots=True)
class _State:
    """Where the sampler stands after some answers."""

    counting: Mapping[int, float]  # log-odds of each question that counts
    cases: Mapping[int, Case]
    model: Model
    partition: Partition
    worth: Worth
    whole_at: int  # answers when the partition was last made from the micro-clusters up


class EvidenceSampler:
    """Asks about the pair of blocks, or the past merge, that is worth most."""

    def __init__(self, micro: Micro) -> None:
        self._micro = micro
        self._builder = Builder(micro)
        self._asked: list[Asked] = []
        self._pairs: set[tuple[int, int]] = set()
        self._answers: dict[int, float | None] = {}
        self._changed = False
        model = prior()
        none = summed(micro, [], {})
        partition = self._builder.whole(model, 0.0, none)
        self._state = _State({}, {}, model, partition, worth(micro, partition, model, 0.0), 0)
        self._queue = self._plan(self._state)
        self._next: tuple[_State, list[Asked]] | None = None

    # -- the sampler's protocol ---------------------------------------------------------------------------------------

    def ask(self, limit: int) -> Sequence[Question]:
        """Return up to `limit` questions about blocks that no open question is about."""
        if limit <= 0:
            return []
        if self._changed:
            state, queue = self._look()
            if not queue:
                return []
            self._state, self._queue, self._changed, self._next = state, queue, False, None
        now, self._queue = self._queue[:limit], self._queue[limit:]
        self._asked += now
        self._pairs.update((min(q.u, q.v), max(q.u, q.v)) for q in now)
        return [Question(q.id, q.u, q.v, "same", q.topic.purpose) for q in now]

    def tell(self, answers: Sequence[Answer]) -> None:
        """Write answers down. All are checked before the first one counts; unsure counts neither way."""
        for answer in answers:
            self._check(answer)
        for answer in answers:
            self._answers[answer.question_id] = answer.value
        if answers:
            self._changed, self._next = True, None

    def result(self) -> Grouping:
        """Return the groups without the answers that wait for a confirmation."""
        block = self._look()[0].partition.block
        label = self._micro.label
        return Grouping(numbered(np.where(label >= 0, block[label], -1)))

    @property
    def done(self) -> bool:
        """True if every question is answered and none is left to ask."""
        return len(self._answers) == len(self._asked) and not self._look()[1]

    # -- from answers to the next partition -----------------------------------------------------------------------------

    def _look(self) -> tuple[_State, list[Asked]]:
        if not self._changed:
            return self._state, self._queue
        if self._next is None:
            state = self._advanced(self._state)
            self._next = state, self._plan(state)
        return self._next

    def _advanced(self, old: _State) -> _State:
        cases = make_cases(self._asked, self._answers)
        held = {number for number, case in cases.items() if case.unsettled and self._can_confirm(case)}
        counting = evidence_of(self._asked, self._answers, held)
        changed = [number for number in old.counting.keys() | counting.keys() if old.counting.get(number) != counting.get(number)]
        if not changed:
            return _State(old.counting, cases, old.model, old.partition, old.worth, old.whole_at)
        lessons = [case for number, case in cases.items() if case.first.topic.teaches and number not in held]
        rows = np.array([case.first.topic.features for case in lessons]).reshape(-1, 4)
        votes = np.array([case.same - case.different for case in lessons], np.float64)
        model = fit(rows, votes, old.model.weight)
        answers = len(counting)
        evidence = summed(self._micro, self._asked, counting)
        theta = old.worth.theta
        if answers <= ALWAYS or answers - old.whole_at >= max(EVERY, old.whole_at // 20):
            partition = self._builder.whole(model, theta, evidence)
            whole_at = answers
        else:
            touched = np.unique([self._micro.label[[self._asked[n].u, self._asked[n].v]] for n in changed])
            partition = self._builder.after(old.partition, touched, model, theta, evidence)
            whole_at = old.whole_at
        return _State(counting, cases, model, partition, worth(self._micro, partition, model, theta), whole_at)

    def _can_confirm(self, case: Case) -> bool:
        return not case.answered or pick(self._micro, case.first.topic.left, case.first.topic.right, self._pairs) is not None

    # -- questions ------------------------------------------------------------------------------------------------------

    def _plan(self, state: _State) -> list[Asked]:
        """The questions that do not depend on each other or on open ones: confirmations first, then the most valuable."""
        block_of = state.partition.block[self._micro.label]
        opened = [q for q in self._asked if q.id not in self._answers]
        busy = {int(block_of[item]) for q in opened for item in (q.u, q.v)}
        room = OPEN - len(opened)
        asked = set(self._pairs)
        planned: list[Asked] = []
        again = [
            again_about(case.first.topic, case.first.id) for case in state.cases.values() if case.unsettled and case.answered
        ]
        for topic in [*again, *topics(self._micro, state.partition, state.worth, 4 * OPEN, self._unsure())]:
            if len(planned) >= room:
                break
            items = pick(self._micro, topic.left, topic.right, asked)
            blocks = set() if items is None else {int(block_of[item]) for item in items}
            if items is not None and not blocks & busy:
                busy |= blocks
                asked.add((min(items), max(items)))
                number = len(self._asked) + len(planned)
                case = number if topic.case is None else topic.case
                planned.append(Asked(number, *items, case, topic))
        return planned

    def _unsure(self) -> NDArray[np.int64]:
        """The micro-clusters (count, 2) of questions that were answered with unsure."""
        pairs = [(q.u, q.v) for q in self._asked if q.id in self._answers and self._answers[q.id] is None]
        return self._micro.label[np.array(pairs, np.int64).reshape(-1, 2)].astype(np.int64)

    def _check(self, answer: Answer) -> None:
        number = answer.question_id
        if not 0 <= number < len(self._asked):
            raise InputError(f"question {number} was answered, but only the questions 0 to {len(self._asked) - 1} were asked")
        question = self._asked[number]
        if {answer.u, answer.v} != {question.u, question.v}:
            raise InputError(
                f"question {number} is about ({question.u}, {question.v}), and its answer about ({answer.u}, {answer.v})"
            )
        if answer.value is not None and not 0.0 <= answer.value <= 1.0:
            raise InputError(f"question {number} was answered with {answer.value}: an answer is 1, 0 or unsure")


def evidence_sampler(vectors: NDArray[np.float32], neighbors: NDArray[np.int32]) -> EvidenceSampler:
    """Return a new sampler.

    Parameters
    ----------
    vectors : (n, d), prepared; an array or a memory map
    neighbors : (n, k) most similar items, most similar first; -1 for an item without a vector, which gets the label -1
    """
    return EvidenceSampler(make_micro(vectors, neighbors))
