"""What similarity means: cosine, correlation, Euclidean; and rows made ready so that one dot product gives it.

Cosine of items u and v is the dot product of their unit rows; correlation the same after each row's own mean is taken
away. A zero row (for correlation: a constant one) stays zero, so its similarity to everything is 0.
Euclidean similarity is 1 - |u - v|² / m with m the mean of |u - v|² over all pairs of items: 1 for exact duplicates, 0 for
a pair at the typical distance, and equal to the cosine where rows are centred and of unit length. Time O(n d), memory O(1).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from storage.errors import InputError

Metric = Literal["cosine", "correlation", "euclidean"]
METRICS: tuple[Metric, ...] = get_args(Metric)

# A row of float32 that is not constant deviates from its mean by at least 1e-8 of its length or so; what float64 rounding
# leaves of a constant row is below 1e-15 of it.
_CONSTANT = 1e-13
_CHUNK_ROWS = 512  # in float64, and still in the cache


def check_metric(name: str) -> Metric:
    """Return the metric of this name.

    >>> check_metric("cosine")
    'cosine'
    """
    for metric in METRICS:
        if metric == name:
            return metric
    raise InputError(f"there is no metric {name!r}: use one of {', '.join(METRICS)}")


def prepare(x: NDArray[np.float32], metric: Metric) -> NDArray[np.float32]:
    """Return rows whose dot products are the similarities; Euclidean rows are returned as they are.

    Each row is treated by itself, so blocks of any size give the same bytes. A row with NaN becomes, or stays, NaN.

    >>> prepare(np.array([[3, 4], [0, 0]], np.float32), "cosine").tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    if metric == "euclidean":
        return x
    prepared = np.empty(x.shape, np.float32)
    for start in range(0, len(x), _CHUNK_ROWS):
        prepared[start : start + _CHUNK_ROWS] = _unit_rows(x[start : start + _CHUNK_ROWS].astype(np.float64), metric)
    return prepared


def _unit_rows(rows: NDArray[np.float64], metric: Metric) -> NDArray[np.float64]:
    length = _lengths(rows)
    smallest = np.zeros_like(length)
    if metric == "correlation":
        rows -= rows.mean(axis=1, keepdims=True)
        smallest = length * _CONSTANT
        length = _lengths(rows)
    rows[length <= smallest] = 0.0
    length[length <= smallest] = 1.0
    rows /= length[:, None]
    return rows


def _lengths(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    # Dividing by the largest entry first would only matter beyond 1e150, which float32 cannot hold.
    lengths: NDArray[np.float64] = np.sqrt(np.square(rows).sum(axis=1))
    return lengths


def usable(x: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which rows are vectors: a row with NaN is an item that could not be embedded, and is nobody's neighbour."""
    return np.asarray(np.isfinite(x).all(axis=1))


@dataclass(frozen=True, slots=True)
class EuclideanScale:
    """Where the collection lies and how wide it is: its mean (d,) and the mean squared distance between two of its items."""

    centre: NDArray[np.float64]
    mean_square: float

    def similarity(self, squared_distance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the similarity in [0, 1]: 1 - |u - v|² / m, and 0 for pairs farther apart than the typical one.

        >>> EuclideanScale(np.zeros(2), 4.0).similarity(np.array([0.0, 1.0, 9.0])).tolist()
        [1.0, 0.75, 0.0]
        """
        if self.mean_square == 0.0:  # all items are equal
            return np.ones_like(squared_distance)
        return np.maximum(0.0, 1.0 - squared_distance / self.mean_square)


def euclidean_scale(blocks: Callable[[], Iterable[NDArray[np.float32]]]) -> EuclideanScale:
    """Return the scale of the rows that `blocks()` yields; called twice, because one pass would cancel digits.

    >>> euclidean_scale(lambda: [np.array([[0, 0], [0, 2]], np.float32)]).mean_square
    4.0
    """
    total: NDArray[np.float64] | float = 0.0
    squares = 0.0
    count = 0
    for block in blocks():
        rows = block[usable(block)].astype(np.float64)
        total = total + rows.sum(axis=0)
        squares += float(np.square(rows).sum())
        count += len(rows)
    if count < 2:
        raise InputError(f"{count} item(s) have a vector: a distance needs two")
    centre = np.asarray(total) / count
    spread = 0.0
    for block in blocks():
        spread += float(np.square(block[usable(block)].astype(np.float64) - centre).sum())
    if spread <= squares * _CONSTANT**2:  # all items are equal, and this is what rounding of the mean leaves
        spread = 0.0
    # The sum of |u - v|² over ordered pairs is 2 n times the sum of squares around the mean.
    return EuclideanScale(centre, 2.0 * spread / (count - 1))
