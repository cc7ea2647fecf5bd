"""Step 3: P(same | two blocks) as a Bayesian logistic model with four features, learned from the answers while they come.

Gaussian prior, maximum by Newton's method, Laplace covariance. A share of the answers is wrong (`worth.py`): the label of a case
is its expectation given the votes and the model (EM). Time O(cases) for each fit; memory O(cases).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FEATURES = 4  # 1, log of the average Jaccard similarity, average closeness, log2 of the smaller size up to 3
PRIOR_MEAN = np.array([-1.5, 0.7, 5.0, 0.5])
PRIOR_SD = np.array([1.6, 0.4, 4.0, 0.4])
# Where the level of the log-odds is known best. First questions are about pairs of middling closeness, most are "different": were
# level and slope independent at a closeness of 0 (two random items), such answers would flatten the slope, and what is close and
# was never asked about would fall apart with them.
MIDDLING = np.array([0.0, 0.5, 0.0])
_FROM_MIDDLING = np.eye(FEATURES)
_FROM_MIDDLING[0, 1:] = -MIDDLING
PRIOR_COVARIANCE = (_FROM_MIDDLING * PRIOR_SD**2) @ _FROM_MIDDLING.T
_PRECISION = np.linalg.inv(PRIOR_COVARIANCE)
FLOOR = np.array([-np.inf, 0.05, 0.3, 0.0])  # more similarity or more items never speak against "same"
CLIP = 6.0  # the model alone is never surer than this log-odds


@dataclass(frozen=True, slots=True)
class Model:
    """Log-odds of "same" are `weight · f`, with covariance of the weights."""

    weight: NDArray[np.float64]  # (4,)
    covariance: NDArray[np.float64]  # (4, 4)


def prior() -> Model:
    return Model(PRIOR_MEAN.copy(), PRIOR_COVARIANCE.copy())


def fit(features: NDArray[np.float64], lessons: NDArray[np.float64], start: NDArray[np.float64]) -> Model:
    """Return the model after these cases.

    Parameters
    ----------
    features : (c, 4)
    lessons : (c,) log-odds of "same" that the votes on each case are
    start : (4,) weights to begin with
    """
    if len(lessons) == 0:
        return prior()
    weight = start.copy()
    hessian = _PRECISION
    for _ in range(6):
        before_round = weight
        expected = _sigmoid(features @ weight + lessons)
        for _ in range(15):
            p = _sigmoid(features @ weight)
            gradient = features.T @ (p - expected) + _PRECISION @ (weight - PRIOR_MEAN)
            hessian = (features * (p * (1 - p))[:, None]).T @ features + _PRECISION
            step = np.linalg.solve(hessian, gradient)
            size, before = 1.0, _loss(features, expected, weight)
            while _loss(features, expected, weight - size * step) > before + 1e-9 and size > 1e-3:
                size /= 2
            weight = weight - size * step
            if np.abs(step).max() < 1e-3:
                break
        if np.abs(weight - before_round).max() < 1e-3:
            break
    return Model(np.maximum(weight, FLOOR), np.linalg.inv(hessian).astype(np.float64))


def _loss(features: NDArray[np.float64], expected: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    z = features @ weight
    away = weight - PRIOR_MEAN
    return float(np.logaddexp(0, z).sum() - expected @ z + 0.5 * away @ _PRECISION @ away)


def _sigmoid(z: NDArray[np.float64]) -> NDArray[np.float64]:
    p: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-np.clip(z, -30.0, 30.0)))
    return p


def probability(model: Model, features: NDArray[np.float64], evidence: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P(same): the model's log-odds, shrunk by its own uncertainty and clipped, plus the evidence of answers."""
    z = features @ model.weight
    variance = ((features @ model.covariance) * features).sum(axis=1)
    return _sigmoid(np.clip(z / np.sqrt(1 + np.pi / 8 * variance), -CLIP, CLIP) + evidence)
