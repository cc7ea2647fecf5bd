"""Random constraints, the paper's baseline: pairs drawn evenly, clustered as Active-HACC clusters them. For comparisons.

Time: a few draws for a question, one clustering for a result; memory O(questions) and that of `knowledge.py`.
"""

from collections.abc import Sequence

import numpy as np

from cccount_dist.clustering.hacc.knowledge import HaccGrouping, Knowledge
from cccount_dist.sampling.types import Answer, Question


class RandomConstraints:
    """A sampler that asks random pairs of items; what follows from the answers is not asked."""

    def __init__(self, knowledge: Knowledge, seed: int) -> None:
        self._knowledge = knowledge
        self._random = np.random.Generator(np.random.Philox(key=seed))
        self._seen: set[tuple[int, int]] = set()

    def ask(self, limit: int) -> list[Question]:
        items = len(self._knowledge.problem.of_item)
        questions: list[Question] = []
        while len(questions) < limit and len(self._seen) < items * (items - 1) // 2:
            first, second = self._random.integers(0, items, 2).tolist()
            u, v = min(first, second), max(first, second)
            if u == v or (u, v) in self._seen:
                continue
            self._seen.add((u, v))
            if self._knowledge.known(u, v) is None:
                questions.append(Question(self._knowledge.ask(u, v), u, v, purpose="random"))
        return questions

    def tell(self, answers: Sequence[Answer]) -> None:
        self._knowledge.tell(answers)

    def result(self) -> HaccGrouping:
        return self._knowledge.grouping()

    @property
    def done(self) -> bool:
        items = len(self._knowledge.problem.of_item)
        return len(self._seen) == items * (items - 1) // 2
