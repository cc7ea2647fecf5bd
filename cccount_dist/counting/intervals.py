"""Confidence intervals. Section 3.3 of the NIS paper: mean ± z · s/√N, with the sample variance s² (divided by N - 1)."""

import math
from collections.abc import Sequence
from statistics import NormalDist

from storage.errors import InputError


def check_level(level: float) -> float:
    """Return the level as a float; `InputError` unless it lies strictly between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie between 0 and 1, for example 0.95, not {level}")
    return float(level)


def mean_interval(terms: Sequence[float], level: float) -> tuple[float, float, float]:
    """Return mean, low and high of at least two independent terms.

    The interval is the paper's, as printed: it is not cut at 1 or n, and terms that happen to be all equal give width 0.
    Sums are exact (`math.fsum`), so the order of the terms does not matter.

    >>> mean, low, high = mean_interval([1.0, 2.0, 3.0], 0.95)
    >>> mean, round(low, 3), round(high, 3)
    (2.0, 0.868, 3.132)
    """
    count = len(terms)
    mean = math.fsum(terms) / count
    variance = math.fsum((term - mean) ** 2 for term in terms) / (count - 1)
    half = NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(variance / count)
    return mean, mean - half, mean + half
