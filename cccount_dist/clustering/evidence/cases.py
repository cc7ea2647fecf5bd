"""Step 7: questions that were asked, their answers, and which of them count.

A case is a question about a pair of sets together with the questions that confirm it. An answer that contradicts the partition
and would move many items is held back, and asked again with other items at once; two against one settle it. What is held back
neither moves items nor teaches the model. All of it is worked out from the answers as they are: an undo is no special case.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cccount_dist.clustering.evidence.micro import Micro
from cccount_dist.clustering.evidence.partition import Evidence
from cccount_dist.clustering.evidence.topics import Topic

WRONG = 0.05  # share of answers that are wrong
WEIGHT = float(np.log((1 - WRONG) / WRONG))  # log-odds of one answer


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was asked."""

    id: int
    u: int
    v: int
    case: int  # id of the first question about these sets
    topic: Topic


@dataclass(frozen=True, slots=True)
class Case:
    """The questions about one pair of sets."""

    first: Asked
    same: int
    different: int
    answered: bool  # none of its questions is open

    @property
    def surprising(self) -> int:
        """Votes against the partition minus votes for it."""
        against = self.different - self.same
        return against if self.first.topic.together else -against

    @property
    def unsettled(self) -> bool:
        """Whether another vote must come before this moves anything: one vote against the partition, or one each."""
        votes = self.same + self.different
        return self.first.topic.weighty and (votes, self.surprising) in ((1, 1), (2, 0))


def make_cases(asked: list[Asked], answers: Mapping[int, float | None]) -> dict[int, Case]:
    """Return the cases by the id of their first question, in the order of the questions."""
    votes: dict[int, list[int]] = {}
    for question in asked:
        tally = votes.setdefault(question.case, [0, 0, 0])
        if question.id not in answers:
            tally[2] += 1
        elif (value := answers[question.id]) is not None:
            tally[value < 0.5] += 1
    return {case: Case(asked[case], same, different, waiting == 0) for case, (same, different, waiting) in votes.items()}


def evidence_of(asked: list[Asked], answers: Mapping[int, float | None], held: set[int]) -> dict[int, float]:
    """Return the log-odds that each question counts with now; questions of held-back cases and unsure answers do not."""
    return {
        question.id: WEIGHT if value >= 0.5 else -WEIGHT
        for question in asked
        if question.case not in held and (value := answers.get(question.id)) is not None
    }


def summed(micro: Micro, asked: list[Asked], counting: Mapping[int, float]) -> Evidence:
    """Return the evidence between micro-clusters."""
    total: dict[tuple[int, int], float] = {}
    for number, value in counting.items():
        a, b = int(micro.label[asked[number].u]), int(micro.label[asked[number].v])
        if a != b:
            pair = (min(a, b), max(a, b))
            total[pair] = total.get(pair, 0.0) + value
    keys = sorted(total)
    return Evidence(
        np.array([a for a, _ in keys], np.int64), np.array([b for _, b in keys], np.int64), np.array([total[key] for key in keys])
    )
