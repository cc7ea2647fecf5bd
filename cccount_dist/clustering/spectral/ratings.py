"""What was said about each pair, and what follows from it: a weight for the graph and how uncertain it is.

Graded ratings: the median of a pair's m ratings, deviation s/√m, where s is pooled over all pairs that were rated more than once.
If every rating is 0 or 1 they are answers "different" and "same": the mean and deviation of the posterior Beta(a + same,
a + different), where a follows from how often repeated answers disagree (a = 1, the flat prior, is an error rate of one third).
With `medians` they are ratings like any other, as in the paper. A weight is floor + (1 - floor) · estimate, so "different" still
connects two items unless the floor is 0. At the end, when all pairs are rated, that
leaves the eigenvectors as they are. Memory O(ratings).
"""

import math
from statistics import fmean, median

Pair = tuple[int, int]
UNKNOWN = math.sqrt(1.0 / 12.0)  # deviation of a similarity that nobody rated: it is uniform on [0, 1]
SPREAD, SPREAD_WORTH = 0.2, 2.0  # of ratings of one pair, before any pair was rated twice; worth so many repeats
ERRORS, ERRORS_WORTH = 0.02, 5.0  # of answers, before any pair was answered twice; worth so many repeats


class Ratings:
    """Ratings by pair and question. Pairs are (smaller item, larger item)."""

    def __init__(self, floor: float, *, medians: bool = False) -> None:
        self._floor, self._medians = floor, medians
        self._said: dict[Pair, dict[int, float]] = {}
        self._repeats = 0  # ratings beyond the first of their pair
        self._graded = 0  # ratings other than 0 and 1
        self._spread = SPREAD
        self._prior = _beta_prior(ERRORS)

    def put(self, pair: Pair, question: int, value: float | None) -> bool:
        """Replace what was said to a question; None takes it back. True if the estimates of all pairs changed by it.

        What repeats say about the noise is looked at whenever their number doubles: so all estimates change seldom.
        """
        before = self._repeats.bit_length(), self._graded > 0
        said = self._said.setdefault(pair, {})
        self._repeats -= max(len(said) - 1, 0)
        self._graded -= _is_graded(said.pop(question, None))
        self._graded += _is_graded(value)
        if value is not None:
            said[question] = value
        self._repeats += max(len(said) - 1, 0)
        if not said:
            del self._said[pair]
        if (self._repeats.bit_length(), self._graded > 0) == before:
            return False
        self._learn_noise()
        return True

    def count(self, pair: Pair) -> int:
        """How often the pair was rated."""
        return len(self._said.get(pair, ()))

    @property
    def pairs(self) -> list[Pair]:
        """The pairs that were rated, in the order in which they first were."""
        return list(self._said)

    def estimate(self, pair: Pair) -> tuple[float, float]:
        """Return the weight of a rated pair, and its deviation beside `UNKNOWN` for a pair that was not."""
        values = list(self._said[pair].values())
        if self._graded or self._medians:
            middle, deviation = median(values), self._spread / math.sqrt(len(values))
        else:
            same, different = self._prior + sum(values), self._prior + len(values) - sum(values)
            middle = same / (same + different)
            deviation = UNKNOWN * _beta_deviation(same, different) / _beta_deviation(self._prior, self._prior)
        return self._floor + (1.0 - self._floor) * middle, deviation

    def _learn_noise(self) -> None:
        squares = freedom = disagree = compared = 0.0
        for said in self._said.values():
            values = list(said.values())
            if len(values) > 1:
                squares += sum((value - fmean(values)) ** 2 for value in values)
                freedom += len(values) - 1
                if not self._graded:
                    disagree += sum(values) * (len(values) - sum(values))
                    compared += len(values) * (len(values) - 1) / 2
        self._spread = math.sqrt((SPREAD_WORTH * SPREAD**2 + squares) / (SPREAD_WORTH + freedom))
        # Two answers to one pair disagree with probability 2 e (1 - e).
        rate = (ERRORS_WORTH * 2 * ERRORS * (1 - ERRORS) + disagree) / (ERRORS_WORTH + compared)
        self._prior = _beta_prior((1.0 - math.sqrt(1.0 - 2.0 * min(rate, 0.48))) / 2.0)


def _is_graded(value: float | None) -> bool:
    return value not in (None, 0.0, 1.0)


def _beta_prior(error_rate: float) -> float:
    """Return the a for which one answer "same" makes the mean of Beta(a + 1, a) the chance that it is right."""
    return error_rate / (1.0 - 2.0 * error_rate)


def _beta_deviation(same: float, different: float) -> float:
    total = same + different
    return math.sqrt(same * different / (total * total * (total + 1.0)))
