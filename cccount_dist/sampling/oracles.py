"""Who answers: known labels (which may be made to lie), or a function of the caller. People answer through the query log."""

import math
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.types import DIFFERENT, SAME, Question
from storage.errors import InputError


class Oracle(Protocol):
    """Whatever can answer a question."""

    def answer(self, question: Question) -> float | None:
        """Return 1 for same, 0 for different, a rating in [0, 1], or None for unsure."""


@runtime_checkable
class PageOracle(Oracle, Protocol):
    """An oracle that looks at a page as a whole. Any other one is asked about each pair of it."""

    def answer_page(self, questions: Sequence[Question]) -> Sequence[float | None]:
        """Return the answers to the questions of one page, which are about one item and answered at one glance."""


class LabelOracle:
    """Two items are the same if their labels are; with probability `error_rate` the answer is the wrong one.

    `false_same` is the probability of "same" for different items where it is another one than that of "different" for equal
    ones. On a page, one glance misses what is the same with probability `error_rate`, and picks a wrong one where nothing is
    the same (every second time the first of the page, which looks most alike) with probability `page_false`, by default a
    quarter of `error_rate`. Cells of a `sheet` are missed or falsely marked one by one, with these same two rates. Whether an
    answer is wrong depends on the seed and the number of the question or page only, so that neither batches nor a restart change
    it. A negative whole number or NaN is a missing label: the answer is unsure.

    >>> oracle = LabelOracle(np.array([0, 0, 1, -1]))
    >>> [oracle.answer(Question(0, 0, v)) for v in (1, 2, 3)]
    [1.0, 0.0, None]
    """

    def __init__(
        self,
        labels: NDArray[np.generic],
        *,
        error_rate: float = 0.0,
        false_same: float | None = None,
        page_false: float | None = None,
        seed: int = 0,
    ) -> None:
        if labels.ndim != 1:
            raise InputError(f"labels must be one value for each item, not an array of shape {labels.shape}")
        false_same = error_rate if false_same is None else false_same
        page_false = error_rate / 4 if page_false is None else page_false
        for rate in (error_rate, false_same, page_false):
            if not 0.0 <= rate <= 1.0:
                raise InputError(f"the error rate must lie between 0 and 1, and is {rate}")
        if seed < 0:
            raise InputError(f"seed must not be negative, and is {seed}")
        self._labels = labels
        self._miss, self._false_same, self._page_false = error_rate, false_same, page_false
        self._seed = seed

    def answer(self, question: Question) -> float | None:
        return self._said(question, self._false_same)

    def _said(self, question: Question, false_same: float) -> float | None:
        truth = self._truth(question)
        if truth is None:
            return None
        return 1.0 - truth if self._happens(self._miss if truth == SAME else false_same, question.id) else truth

    def answer_page(self, questions: Sequence[Question]) -> Sequence[float | None]:
        if question_kind(questions[0].kind).cell_by_cell:
            return [self._said(question, self._page_false) for question in questions]
        truths = [self._truth(question) for question in questions]
        page = questions[0].page or 0
        if SAME in truths:
            missed = self._happens(self._miss, page, 1)
            return [DIFFERENT if missed and truth == SAME else truth for truth in truths]
        if self._happens(self._page_false, page, 1):
            place = 0 if self._happens(0.5, page, 2) else self._bits(page, 3) % len(questions)
            return [SAME if number == place and truth == DIFFERENT else truth for number, truth in enumerate(truths)]
        return truths

    def _truth(self, question: Question) -> float | None:
        first, second = self._labels[question.u], self._labels[question.v]
        if _missing(first) or _missing(second):
            return None
        return question_kind(question.kind).from_labels(first, second)

    def _happens(self, probability: float, number: int, stream: int = 0) -> bool:
        return probability > 0.0 and self._bits(number, stream) < probability * 2**64

    def _bits(self, number: int, stream: int) -> int:
        return int(np.random.Philox(key=self._seed, counter=[number, stream, 0, 0]).random_raw())


class StubbornOracle(LabelOracle):
    """A label oracle some of whose wrong answers come again whenever the same two items are shown.

    Of the wrong answers the share `repeating` is of this kind: for some pairs the answer is a coin toss, tossed once for ever.
    The others are wrong by chance, as those of `LabelOracle` are. Pages err by chance only.
    """

    def __init__(
        self, labels: NDArray[np.generic], *, error_rate: float, false_same: float, seed: int = 0, repeating: float = 0.5
    ) -> None:
        if not 0.0 <= repeating <= 1.0:
            raise InputError(f"the share of repeating errors must lie between 0 and 1, and is {repeating}")
        by_chance = 1.0 - repeating
        super().__init__(labels, error_rate=error_rate * by_chance, false_same=false_same * by_chance, seed=seed)
        self._tossed = 2.0 * repeating * error_rate, 2.0 * repeating * false_same  # half of the tosses are right

    def answer(self, question: Question) -> float | None:
        truth = self._truth(question)
        if truth is None:
            return None
        low, high = sorted((question.u, question.v))
        pair = low << 32 | high
        if self._happens(self._tossed[0] if truth == SAME else self._tossed[1], pair, 4):
            return SAME if self._happens(0.5, pair, 5) else DIFFERENT
        return super().answer(question)


def _missing(label: np.generic) -> bool:
    return (isinstance(label, np.integer) and bool(label < 0)) or (isinstance(label, np.floating) and bool(np.isnan(label)))


class SimilarityOracle:
    """Rates two items by the cosine of their vectors, at least 0, with normal noise of deviation `noise`, kept within 0 and 1.

    The noise depends on the seed and the number of the question only. A row of NaN is an item without a vector: unsure. Products
    are added up exactly: a BLAS adds in an order that depends on the processor, and a simulation answers the same anywhere.

    >>> SimilarityOracle(np.array([[1, 0], [0.6, 0.8]], np.float32)).answer(Question(0, 0, 1, "rating"))
    0.6000000238418579
    """

    def __init__(self, vectors: NDArray[np.float32], *, noise: float = 0.0, seed: int = 0) -> None:
        self._vectors = vectors
        self._noise = noise
        self._seed = seed

    def answer(self, question: Question) -> float | None:
        kind = question_kind(question.kind)
        if not kind.is_a_similarity:
            asks = " or ".join(kind.words)
            raise InputError(f"--oracle similarity rates pairs, and this method asks {asks}: use --oracle labels")
        products = self._vectors[question.u] * self._vectors[question.v]
        similarity = float(np.float32(math.fsum(products.tolist())))
        if np.isnan(similarity):
            return None
        random = np.random.Generator(np.random.Philox(key=self._seed, counter=[question.id, 0, 0, 0]))
        return min(1.0, max(0.0, max(0.0, similarity) + self._noise * float(random.standard_normal())))


class FunctionOracle:
    """Calls `function(u, v)` once for each question; it returns True, False, None (unsure), or a rating in [0, 1].

    A function with a method `page(u, vs)` is called with that once for each page, and returns one answer for each of `vs`.

    >>> FunctionOracle(lambda u, v: u % 2 == v % 2).answer(Question(0, 3, 5))
    1.0
    """

    def __init__(self, function: Callable[[int, int], object]) -> None:
        self._function = function
        self._page: Callable[[int, list[int]], Sequence[object]] | None = getattr(function, "page", None)

    def answer(self, question: Question) -> float | None:
        return self._checked(question, self._function(question.u, question.v))

    def answer_page(self, questions: Sequence[Question]) -> Sequence[float | None]:
        if self._page is None:
            return [self.answer(question) for question in questions]
        returned = list(self._page(questions[0].u, [question.v for question in questions]))
        if len(returned) != len(questions):
            raise InputError(f"the oracle's page returned {len(returned)} answers for {len(questions)} items, not one for each")
        return [self._checked(question, one) for question, one in zip(questions, returned, strict=True)]

    def _checked(self, question: Question, returned: object) -> float | None:
        kind = question_kind(question.kind)
        if returned is None:
            return None
        if isinstance(returned, bool | np.bool_ | int | float | np.integer | np.floating):
            value = float(returned)
            if kind.allows(value):
                return value
        pair = f"items {question.u} and {question.v}"
        raise InputError(f"the oracle returned {returned!r} for {pair}: it must return {kind.returns}")
