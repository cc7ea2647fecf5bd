"""A sampler of the items that have a vector, seen from the whole collection: others are never asked about, label -1."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.result import Grouping, Previewing
from cccount_dist.sampling.types import Answer, Question, Sampler


class PresentItems:
    """Translates item numbers. `present` (p,) holds the collection's numbers of the items that the sampler knows."""

    def __init__(self, sampler: Sampler[Grouping], present: NDArray[np.int64], items: int) -> None:
        self._sampler = sampler
        self._present = present
        self._items = items

    def ask(self, limit: int) -> list[Question]:
        return self._seen(self._sampler.ask(limit))

    def preview(self, limit: int) -> list[Question]:
        return self._seen(self._sampler.preview(limit)) if isinstance(self._sampler, Previewing) else []

    def tell(self, answers: Sequence[Answer]) -> None:
        # The question's number says which items it is about; those of the answer are the collection's.
        self._sampler.tell(answers)

    def result(self) -> Grouping:
        inner = self._sampler.result()
        labels = np.full(self._items, -1, np.int64)
        labels[self._present] = inner.labels
        return replace(inner, labels=labels)

    def _seen(self, questions: Sequence[Question]) -> list[Question]:
        return [replace(question, u=int(self._present[question.u]), v=int(self._present[question.v])) for question in questions]

    @property
    def done(self) -> bool:
        return self._sampler.done
