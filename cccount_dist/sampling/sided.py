"""One sampler for each side that pictures show: pictures of different sides are never compared.

Each part is a sampler of its own that sees the items of its side and nothing else, so what it asks and how sure it is are what
they are for a collection of that side alone. Whoever asks gets questions of the side that was asked least for its size. Memory
and time: those of the parts, and a number for each question.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.types import (
    Answer,
    Knowing,
    KnownAnswer,
    OutsideAnswer,
    Question,
    RepeatedAnswer,
    Sampler,
    Withdrawing,
)

ResultT = TypeVar("ResultT")
_FEWEST, _SHORTEST = 10, 0.1  # neighbours that a list keeps at least; lists that may be shorter and are filled
NO_SIDE = "no side"  # pictures of which nobody said what side they show: they are compared with each other alone


@dataclass(frozen=True, slots=True)
class Part(Generic[ResultT]):
    """What belongs to one side."""

    side: str
    items: NDArray[np.int64]
    sampler: Sampler[ResultT] | None  # None: a single item, with which nothing can be compared


class Sided(Generic[ResultT]):
    """The samplers of all sides as one. A subclass says what their results come to together."""

    def __init__(self, parts: Sequence[Part[ResultT]], items: int) -> None:
        self.parts = list(parts)
        self.items = items
        self._part_of = np.full(items, -1, np.int64)
        for number, part in enumerate(self.parts):
            self._part_of[part.items] = number
        self._asked = [0] * len(self.parts)  # questions and pages
        self._source: list[tuple[int, int]] = []  # of each question: its part, and its number there
        self._numbers: list[list[int]] = [[] for _ in self.parts]  # of each part: the numbers of its questions here
        self._pages: dict[tuple[int, int], int] = {}  # page of a part -> page here

    @property
    def done(self) -> bool:
        """True if no side has a question that would improve its result."""
        return all(part.sampler is None or part.sampler.done for part in self.parts)

    def ask(self, limit: int) -> Sequence[Question]:
        """Return up to `limit` questions, one after the other from the side that was asked least for its size."""
        asked: list[Question] = []
        silent: set[int] = set()  # sides that wait for answers
        while limit > 0:
            open_ = [n for n, part in enumerate(self.parts) if part.sampler is not None and n not in silent]
            if not open_:
                break
            number = min(open_, key=lambda n: (self._asked[n] / len(self.parts[n].items), n))
            sampler = self.parts[number].sampler
            found = () if sampler is None or sampler.done else sampler.ask(1)
            if not found:
                silent.add(number)
                continue
            asked += [self._taken(number, question) for question in found]
            self._asked[number] += 1
            limit -= 1
        return asked

    def _taken(self, number: int, question: Question) -> Question:
        """The question by its number here."""
        own = len(self._source)
        self._source.append((number, question.id))
        self._numbers[number].append(own)
        page = question.page
        return replace(question, id=own, page=None if page is None else self._pages.setdefault((number, page), len(self._pages)))

    def tell(self, answers: Sequence[Answer]) -> None:
        """Take answers in; what tells how people err is told to every side."""
        for answer in answers:
            if isinstance(answer, KnownAnswer | RepeatedAnswer):
                for part in self.parts:
                    if part.sampler is not None:
                        part.sampler.tell([answer])
                continue
            number, own = self._source[answer.question_id]
            if (sampler := self.parts[number].sampler) is not None:
                sampler.tell([replace(answer, question_id=own)])

    def know(self, answers: Sequence[OutsideAnswer]) -> None:
        """Take in what is known about two items of one side; what joins two sides is no business of theirs."""
        for number, part in enumerate(self.parts):
            sampler: object = part.sampler
            if isinstance(sampler, Knowing) and (own := [a for a in answers if self._of(a.u) == number == self._of(a.v)]):
                sampler.know(own)

    def _of(self, item: int) -> int:
        return int(self._part_of[item]) if 0 <= item < self.items else -1

    def needless(self) -> Sequence[int]:
        """Numbers of questions that help no more."""
        found = []
        for numbers, part in zip(self._numbers, self.parts, strict=True):
            sampler: object = part.sampler
            if isinstance(sampler, Withdrawing):
                found += [numbers[own] for own in sampler.needless()]
        return sorted(found)

    def own(self) -> list[tuple[str, NDArray[np.int64], ResultT | None]]:
        """Of every side: its name, its items, its result; None for a single item."""
        return [(part.side, part.items, None if part.sampler is None else part.sampler.result()) for part in self.parts]


def side_lists(
    neighbors: NDArray[np.int32], of_side: NDArray[np.bool_], *beside: tuple[NDArray[Any], float]
) -> tuple[NDArray[np.int32], list[NDArray[Any]]]:
    """Return neighbour lists in which one side alone is there, and arrays beside them moved along, each with its own filling.

    Lists become as short as the shortest tenth of them, and where one is shorter still, other items of the side fill it: methods
    expect full lists. An item of another side has none, as one without a vector. Time and memory: O(n k).

    >>> lists, (near,) = side_lists(np.array([[1, 2], [2, 0], [0, 1]], np.int32), np.array([True, False, True]),
    ...     (np.array([[9, 8], [7, 6], [5, 4]]), 0))
    >>> lists.tolist(), near.tolist()
    ([[2], [-1], [0]], [[8], [0], [5]])
    """
    items = np.flatnonzero(of_side & (neighbors[:, 0] >= 0))
    rows = np.asarray(neighbors[items])
    kept = (rows >= 0) & of_side[np.where(rows >= 0, rows, 0)]
    counts = kept.sum(axis=1)
    width = min(neighbors.shape[1], len(items) - 1, max(_FEWEST, int(np.quantile(counts, _SHORTEST))))
    order = np.argsort(~kept, axis=1, kind="stable")[:, :width]
    found = np.where(np.take_along_axis(kept, order, 1), np.take_along_axis(rows, order, 1), -1)
    for row in np.flatnonzero(counts < width).tolist():
        _fill(found[row], row, items)
    lists = np.full((len(neighbors), width), -1, np.int32)
    lists[items] = found
    return lists, [_moved(array, filling, items, kept, order) for array, filling in beside]


def _fill(row: NDArray[np.int32], place: int, items: NDArray[np.int64]) -> None:
    """Put the items of the side that follow into what is empty of a list."""
    there = {int(items[place]), *row[row >= 0].tolist()}
    fresh = (int(items[(place + step) % len(items)]) for step in range(1, len(items)))
    for column in np.flatnonzero(row < 0).tolist():
        row[column] = next(item for item in fresh if item not in there)


def _moved(
    array: NDArray[Any], filling: float, items: NDArray[np.int64], kept: NDArray[np.bool_], order: NDArray[np.int64]
) -> NDArray[Any]:
    """An array of the first columns of neighbour lists, in their new order."""
    columns = min(array.shape[1], order.shape[1])
    whole = np.full(kept.shape, filling, array.dtype)
    whole[:, : array.shape[1]] = np.where(kept[:, : array.shape[1]], np.asarray(array[items]), filling)
    found = np.full((len(array), columns), filling, array.dtype)
    found[items] = np.take_along_axis(whole, order, 1)[:, :columns]
    return found


__all__ = ["NO_SIDE", "Part", "Sided", "side_lists"]
