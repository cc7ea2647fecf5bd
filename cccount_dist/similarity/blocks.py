"""Blocks of items made ready for the tile kernel: the score of u and v is the dot product `left[u] · right[v]`.

Cosine and correlation: the score is the similarity, and left and right are the prepared rows. Euclidean: the score is
-|u - v|² / m, as the dot product of (x, -h, 1) and (y, 1, -h) with rows centred and scaled and h = |x|² / 2; similarity is score
+ 1."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.metrics import EuclideanScale, Metric, usable

# No order of summation of d products in float32 is farther from the truth than d · 2⁻²⁴ · Σ|x y| (Higham, section 3.1); the
# 8 covers the rounding of the rows themselves.
_UNIT = 2.0**-24
_FAR = 4.0  # h of a padding item: its score of at most -4 is clipped to "no similarity"


@dataclass(frozen=True, slots=True)
class Scores:
    """What a score means: it is clipped to [low, high], and `low` is similarity 0. Margins grow with |score| by `slope`."""

    metric: Metric
    low: np.float32
    high: np.float32
    slope: np.float32
    scale: EuclideanScale | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Some items; `usable` and `margin` are padded to the full size of a block, left and right where zeros would not do."""

    left: NDArray[np.float32]
    right: NDArray[np.float32]
    usable: NDArray[np.bool_]
    margin: NDArray[np.float32]  # scores closer than this may stand in the wrong order


def scores_of(metric: Metric, dimensions: int, scale: EuclideanScale | None = None) -> Scores:
    """Return how scores of this metric are read; Euclidean needs the scale of the collection."""
    if metric == "euclidean":
        return Scores(metric, np.float32(-1.0), np.float32(0.0), np.float32(8 * (dimensions + 8) * _UNIT), scale)
    return Scores(metric, np.float32(0.0), np.float32(1.0), np.float32(0.0))


def make_block(rows: NDArray[np.float32], padded_rows: int, scores: Scores) -> Block:
    """Return the block of these rows of the row cache."""
    given, dimensions = rows.shape
    good = np.zeros(padded_rows, np.bool_)
    good[:given] = usable(rows)
    rounding = (dimensions + 8) * _UNIT
    if scores.scale is None:
        # Prepared rows have length 1 or 0, so |x| |y| <= 1, and two scores that are each wrong by `rounding` may change places.
        kept = rows if good[:given].all() else np.where(good[:given, None], rows, np.float32(0.0))
        return Block(kept, kept, good, np.full(padded_rows, 2 * rounding, np.float32))
    centred = np.zeros((padded_rows, dimensions), np.float32)
    centred[:given][good[:given]] = scaled(rows[good[:given]], scores.scale)
    half = 0.5 * np.square(centred.astype(np.float64)).sum(axis=1)
    half[~good] = _FAR
    ones = np.ones(padded_rows)
    left = np.column_stack([centred, -half, ones]).astype(np.float32)
    right = np.column_stack([centred, ones, -half]).astype(np.float32)
    # |x| |y| + |x|²/2 + |y|²/2 <= 4 |x|² + 2 |score| for a pair; twice that for two scores, and half as much again to be safe.
    return Block(left, right, good, (24 * rounding * half).astype(np.float32))


def scaled(rows: NDArray[np.float32], scale: EuclideanScale) -> NDArray[np.float32]:
    """Return rows around the centre of the collection, in units in which the mean squared distance of two items is 2."""
    if scale.mean_square == 0.0:
        return np.zeros_like(rows)
    around: NDArray[np.float64] = (rows - scale.centre) * np.sqrt(2.0 / scale.mean_square)
    return around.astype(np.float32)
