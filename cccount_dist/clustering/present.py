"""A sampler of the items that have a vector, seen from the whole collection: others are never asked about, label -1.

Time and memory are those of the sampler inside, and O(n) for a result.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.result import Grouping, Previewing
from cccount_dist.clustering.rows import of_items
from cccount_dist.sampling.types import Answer, Question, Sampler


class PresentRows:
    """The vectors and neighbour lists of the items that have a vector, numbered among themselves.

    They are copied when they are first wanted: lists in memory, O(n k), vectors into a file, if somebody is missing or the
    length is no multiple of sixteen. A snapshot keeps only who is present.
    """

    __unsaved__: ClassVar = ("_vectors", "_neighbors")

    def __init__(self, vectors: NDArray[np.float32], neighbors: NDArray[np.int32], present: NDArray[np.int64]) -> None:
        self._given_vectors, self._given_neighbors, self._present = vectors, neighbors, present
        self._vectors: NDArray[np.float32] | None = None
        self._neighbors: NDArray[np.int32] | None = None

    @property
    def vectors(self) -> NDArray[np.float32]:
        """(p, d), padded for `distance.py`."""
        if self._vectors is None:
            self._vectors = of_items(self._given_vectors, self._present)
        return self._vectors

    @property
    def neighbors(self) -> NDArray[np.int32]:
        """(p, k), -1 where a list is shorter."""
        if self._neighbors is None:
            number = np.full(len(self._given_neighbors) + 1, -1, np.int32)  # the last entry is that of -1
            number[self._present] = np.arange(len(self._present), dtype=np.int32)
            self._neighbors = np.ascontiguousarray(number[self._given_neighbors[self._present]])
        return self._neighbors


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
