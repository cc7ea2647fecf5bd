"""λ of P(same) = exp(-d / λ): guessed from the number of clusters, then fitted to the answers.

Before the first answer λ is such that as many pairs are expected to be the same as there are with K equal classes: the mean of P
over pairs of candidates is 1 / K. Each answer then counts as much as one of `BELIEF` imagined answers that agree with the guess.
The likelihood of 1 / λ is concave, so bisection finds its maximum: O(answers) time for each of 60 steps.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cccount_dist.subclustering.candidates import Candidates

BELIEF = 20.0  # imagined answers behind the first guess
_SAMPLE = 256  # candidates whose distances to all candidates are looked at
_STEPS = 60
_NEAR = 1e-6  # a distance of 0 would make one "different" infinitely unlikely

Floats64 = NDArray[np.float64]


def first_scale(candidates: Candidates, clusters: int) -> float:
    """Return λ before anything was answered."""
    squared = candidates.squared_from(np.arange(min(_SAMPLE, len(candidates))))
    distance = candidates.real(squared[~np.eye(*squared.shape, dtype=np.bool_)])
    if not len(distance) or distance.max() == 0.0:
        return 1.0
    share = 1.0 / max(clusters, 2)
    return 1.0 / _root(lambda inverse: float(np.exp(-distance * inverse).mean()) - share, float(distance.max()))


def fitted_scale(distance: Floats64, same: NDArray[np.bool_], guess: float, typical: Floats64) -> float:
    """Return λ from answers about pairs at these distances.

    Parameters
    ----------
    distance, same : (m,) of the answered pairs
    guess : λ before the first answer
    typical : distances at which the imagined answers lie
    """
    distance = np.maximum(distance, _NEAR)
    typical = np.maximum(typical, _NEAR)
    believed = np.exp(-typical / guess)
    weight = BELIEF / max(len(typical), 1)

    def slope(inverse: float) -> float:
        """Return the derivative of the log-likelihood: falls as 1 / λ grows."""
        apart = float((distance[~same] / np.expm1(distance[~same] * inverse)).sum())
        imagined = (1.0 - believed) * typical / np.expm1(typical * inverse) - believed * typical
        return apart - float(distance[same].sum()) + weight * float(imagined.sum())

    return 1.0 / _root(slope, float(max(distance.max(initial=0.0), typical.max(initial=0.0))))


def _root(falling: Callable[[float], float], largest: float) -> float:
    """Return where a falling function of 1 / λ is 0, between 1/1000 and 10,000 times the inverse of the largest distance."""
    low, high = np.log(1e-3 / largest), np.log(1e4 / largest)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        with np.errstate(over="ignore"):  # far beyond the root a term is 0, by way of infinity
            low, high = (middle, high) if falling(float(np.exp(middle))) > 0.0 else (low, middle)
    return float(np.exp((low + high) / 2))
