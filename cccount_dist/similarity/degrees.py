"""The degree without all pairs: a sample of others for each item, and a regression on sums that are known exactly.

The clipped score is nearly a quadratic function of the score t, and the sums of t and t² over all others are known from one
vector and one matrix of the whole collection. So the sample only has to estimate the small rest (a regression estimator,
Cochran 1977, chapter 7): 0.4 % rms error from 4,096 items where the plain mean has 2 %. O(d² + 4096 d) for an item.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.similarity.blocks import Scores
from cccount_dist.similarity.lists import COMPILED

SAMPLE = 4096


@dataclass(frozen=True, slots=True)
class Reference:
    """What estimates need of the collection: a random sample of its items, and sums over all that have a vector."""

    items: NDArray[np.int64]  # (m,) sampled
    right: NDArray[np.float32]  # (m, d) their vectors, ready for dot products
    total: NDArray[np.float64]  # (d,) sum of all vectors
    gram: NDArray[np.float64]  # (d, d) sum of their outer products
    count: int


@njit(**COMPILED, fastmath={"reassoc", "contract", "nsz", "nnan", "ninf"})
def _moments(scores, low, top, out):
    """Sums over a row of c, t, t², t³, t⁴, c t, c t² for the clipped score c and the score t."""
    for i in range(scores.shape[0]):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = 0.0
        for j in range(scores.shape[1]):
            t = np.float64(scores[i, j])
            c = min(max(t - low, 0.0), top)
            square = t * t
            s0 += c
            s1 += t
            s2 += square
            s3 += square * t
            s4 += square * square
            s5 += c * t
            s6 += c * square
        out[i, 0] = s0
        out[i, 1] = s1
        out[i, 2] = s2
        out[i, 3] = s3
        out[i, 4] = s4
        out[i, 5] = s5
        out[i, 6] = s6


def estimate_degrees(
    items: NDArray[np.int64], left: NDArray[np.float32], right: NDArray[np.float32], reference: Reference, meaning: Scores
) -> NDArray[np.float64]:
    """Return estimated degrees of `items`, whose vectors are the rows of `left` and `right`."""
    scores = left @ reference.right.T
    place = np.searchsorted(reference.items, items)
    there = reference.items[np.minimum(place, len(reference.items) - 1)] == items
    moments, mine = np.empty((2, len(items), 7))
    limits = (float(meaning.low), float(meaning.high - meaning.low))
    _moments(scores, *limits, moments)
    _moments(scores[np.arange(len(items)), np.where(there, place, 0)][:, None], *limits, mine)
    moments[there] -= mine[there]  # an item of the sample does not count for itself
    c, t, t2, t3, t4, ct, ct2 = moments.T / (len(reference.items) - there)
    wide = left.astype(np.float64)
    itself = np.einsum("ij,ij->i", wide, right.astype(np.float64))
    others = reference.count - 1
    mean_t = (wide @ reference.total - itself) / others
    mean_t2 = (np.einsum("ij,ij->i", wide @ reference.gram, wide) - itself**2) / others
    # Least squares of c on 1, t, t²: two by two normal equations for each item.
    a, b, d = t2 - t * t, t3 - t * t2, t4 - t2 * t2
    u, v = ct - c * t, ct2 - c * t2
    determinant = a * d - b * b
    safe = np.where(determinant > 1e-9 * a * d, determinant, np.inf)  # scores that are (nearly) all equal: the plain mean
    slope_t, slope_t2 = (d * u - b * v) / safe, (a * v - b * u) / safe
    mean = c + slope_t * (mean_t - t) + slope_t2 * (mean_t2 - t2)
    degrees: NDArray[np.float64] = others * np.clip(mean, 0.0, 1.0)
    return degrees
