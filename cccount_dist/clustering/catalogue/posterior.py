"""How likely it is that an item belongs to a candidate cluster, or to none: the weights, their level, and what came true.

The posterior is a conditional logit over an item's candidates and "new". Its weights are learned from placed items: once without
the item itself, once without its cluster and "new" as the right answer. Placed items are easier than those that are left, so the
level of "new" is set by how often random pages and seed sheets found one, and probabilities pass through a Platt curve of what
was said of the cells that were shown. Time and memory: at most 400 placed, 2,000 unplaced items and 600 cells at a fit.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.candidates import Floats

# Weights before the first answer, and how far from them they are expected. The last is that of local matches, where there are
# any: they count for nothing until answers show what they are worth, and never against a cluster.
START = np.array([0.05, 0.05, 0.5, -3.0, 0.05, 0.0])
SPREAD = np.array([0.02, 0.02, 0.5, 3.0, 0.02, 1.0])
LEAST = np.array([1e-3, 1e-3, 0.0, -np.inf, 0.0, 0.0])
PLAIN = 5  # of them without it
_STEPS = 12
_HALF_LIFE = 60.0  # glances after which what was said counts half: a kind of sheet that looked bad is tried again
_RIDGE = 10.0
_FLATTEST, _STEEPEST, _SHIFT, _EXTREME = 0.2, 1.5, 4.0, 6.0
_NEW_ROUNDS = 40


def fitted_weights(options: list[tuple[NDArray[np.int32], Floats, Floats, NDArray[np.int64], Floats]], start: Floats) -> Floats:
    """Return the weights, (5,) or (6,) as `start`, that explain the choices best, by Newton's method.

    options : each candidates (m, w), features (m, w, 3 or 4), distance to the nearest (m,), the right place (m,) with w for
        "new", and the weight of each choice (m,)
    """
    designs = [_design(cluster, found, nearest) for cluster, found, nearest, _, _ in options]
    x, there = np.concatenate([one[0] for one in designs]), np.concatenate([one[1] for one in designs])
    right, importance = np.concatenate([one[3] for one in options]), np.concatenate([one[4] for one in options])
    w, every = start.copy(), np.arange(len(right))
    prior, spread, least = START[: len(w)], SPREAD[: len(w)], LEAST[: len(w)]
    for _ in range(_STEPS):
        score = np.where(there, x @ w, -np.inf)
        chance = np.exp(score - score.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        mean = np.einsum("nk,nkd->nd", chance, x)
        slope = (importance[:, None] * (x[every, right] - mean)).sum(axis=0) - (w - prior) / spread**2
        apart = x - mean[:, None]
        curve = np.einsum("nk,nkd,nke->de", chance * importance[:, None], apart, apart) + np.diag(1.0 / spread**2)
        step = np.linalg.solve(curve, slope)
        step *= min(1.0, 3.0 / max(float(np.abs(step / spread).max()), 1e-12))
        w = np.maximum(w + step, least)
    return w


def _design(cluster: NDArray[np.int32], found: Floats, nearest: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    rows, width = cluster.shape
    x = np.zeros((rows, width + 1, PLAIN - 3 + found.shape[2]))
    x[:, :-1, :2] = -found[:, :, :2]
    x[:, :-1, 2] = found[:, :, 2]
    x[:, :-1, PLAIN:] = found[:, :, 3:]
    x[:, -1, 3] = 1.0
    x[:, -1, 4] = -nearest
    there = np.concatenate([cluster >= 0, np.ones((rows, 1), np.bool_)], axis=1)
    x[~there] = 0.0
    return x, there


def fitted_level(new: Floats, share: float) -> float:
    """Return what has to be added to the log-odds of "new" (m,) for their mean to be `share`."""
    odds = log_odds(np.clip(new, 1e-9, 1 - 1e-9))
    low, high = -15.0, 15.0
    for _ in range(_NEW_ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if float(_sigmoid(odds + middle).mean()) < share else (low, middle)
    return low


def fitted_platt(odds: Floats, marked: Floats, age: Floats) -> Floats:
    """Return slope and shift (2,) of the curve from log-odds that were given to what was said; `age` in glances."""
    x, q = np.clip(odds, -_EXTREME, _EXTREME), np.array([1.0, 0.0])
    weight = 0.5 ** (age / _HALF_LIFE)
    for _ in range(10):
        p = _sigmoid(q[0] * x + q[1])
        miss = weight * (marked - p)
        slope = np.array([(miss * x).sum(), miss.sum()]) - _RIDGE * (q - [1.0, 0.0])
        h = weight * p * (1 - p)
        cross = float((h * x).sum())
        curve = np.array([[float((h * x * x).sum()), cross], [cross, float(h.sum())]]) + _RIDGE * np.eye(2)
        q = q + np.clip(np.linalg.solve(curve, slope), -0.5, 0.5)
    return np.asarray(np.clip(q, [_FLATTEST, -_SHIFT], [_STEEPEST, _SHIFT]))


def log_odds(chance: Floats) -> Floats:
    return np.log(chance / (1.0 - chance))


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


__all__ = ["PLAIN", "START", "fitted_level", "fitted_platt", "fitted_weights", "log_odds"]
