"""Similarities of one item to others, on demand from prepared vectors: a row, a block of rows, weights to draw from.

Cosine and correlation are dot products, Euclidean similarity is 1 - |u - v|² / m from differences (`metrics.py`), as in the exact
pass. But a pass packs its vectors for the vector unit, which would take longer than one row; so rows have their own loop: 16
lanes, no fused or reordered arithmetic. A similarity has the same bytes whatever the block, the company of other items, the
threads and the machine: the questions of samplers are drawn from it. Time O(d) for each, memory one block of vectors at most.
"""

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.blocks import scores_of
from cccount_dist.similarity.draws import StreamedDraws
from cccount_dist.similarity.grid import grid_for
from cccount_dist.similarity.inmemory import scan_all
from cccount_dist.similarity.lists import capacity
from cccount_dist.similarity.metrics import EuclideanScale, Metric

BLOCK_ROWS = 8192
LANES = 16

Items = slice | NDArray[np.int64]
ALL = slice(None)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def sum_lanes(a: NDArray[np.float32], b: NDArray[np.float32], squares: bool, lanes: NDArray[np.float32]) -> None:  # noqa: FBT001
    """Leave the dot product of two rows in the lanes, or their squared distance: dimension p in lane p modulo LANES."""
    whole = len(a) - len(a) % LANES
    lanes[:] = 0.0
    if squares:
        for start in range(0, whole, LANES):
            for lane in range(LANES):
                difference = a[start + lane] - b[start + lane]
                lanes[lane] += difference * difference
        for lane in range(len(a) - whole):
            difference = a[whole + lane] - b[whole + lane]
            lanes[lane] += difference * difference
    else:
        for start in range(0, whole, LANES):
            for lane in range(LANES):
                lanes[lane] += a[start + lane] * b[start + lane]
        for lane in range(len(a) - whole):
            lanes[lane] += a[whole + lane] * b[whole + lane]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _sums(
    rows: NDArray[np.float32], row: NDArray[np.float32], squares: bool, out: NDArray[np.float32]  # noqa: FBT001
) -> None:  # fmt: skip
    lanes = np.empty(LANES, np.float32)
    for item in range(rows.shape[0]):
        sum_lanes(rows[item], row, squares, lanes)
        total = np.float32(0.0)
        for lane in range(LANES):
            total += lanes[lane]
        out[item] = total


def pair_similarities(
    rows: NDArray[np.float32], row: NDArray[np.float32], mean_square: float | None = None
) -> NDArray[np.float32]:
    """Return the similarity of one prepared row (d,) to others (m, d), at most 1 but for rounding; it may be negative.

    `mean_square` is the Euclidean scale (`metrics.EuclideanScale`); None for cosine and correlation.

    >>> rows = np.array([[1, 0], [0.6, 0.8], [-1, 0]], dtype=np.float32)
    >>> pair_similarities(rows, rows[0]).tolist(), pair_similarities(rows, rows[0], 4.0).tolist()
    ([1.0, 0.6000000238418579, -1.0], [1.0, 0.800000011920929, 0.0])
    """
    out = np.empty(len(rows), np.float32)
    _sums(rows, row, mean_square is not None, out)
    if mean_square is None:
        return out
    if mean_square > 0.0:
        out /= np.float32(mean_square)
    return np.subtract(np.float32(1.0), out, out=out)


@dataclass(frozen=True, slots=True)
class SimilarityRows:
    """The similarities of a collection, of which none is kept. `vectors` (n, d) may be a memory map."""

    vectors: NDArray[np.float32]
    mean_square: float | None = None

    def raw(self, u: int, items: Items = ALL) -> NDArray[np.float32]:
        """Return the similarity of u to these items, not clipped; NaN to an item without a vector."""
        chosen = range(len(self.vectors))[items] if isinstance(items, slice) else items
        row = np.ascontiguousarray(self.vectors[u])
        found = np.empty(len(chosen), np.float32)
        for start in range(0, len(chosen), BLOCK_ROWS):
            part = chosen[start : start + BLOCK_ROWS]
            rows = self.vectors[part.start : part.stop : part.step] if isinstance(part, range) else self.vectors[part]
            found[start : start + BLOCK_ROWS] = pair_similarities(np.ascontiguousarray(rows), row, self.mean_square)
        return found

    def weights(self, u: int, items: Items = ALL) -> NDArray[np.float32]:
        """Return the similarity of u to these items, clipped to [0, 1]; 0 to itself and to items without a vector."""
        found = self.raw(u, items)
        weights = np.where(found > 0.0, np.minimum(found, np.float32(1.0)), np.float32(0.0))
        weights[own_places(u, items, len(self.vectors))] = 0.0
        return weights

    def block(self, us: NDArray[np.int64], items: Items = ALL) -> NDArray[np.float32]:
        """Return the weights of several items: (len(us), items)."""
        return np.stack([self.weights(int(u), items) for u in us])

    def draws(self, u: int) -> StreamedDraws:
        """Return draws of items by their weight, without holding more than a block of the row."""
        return StreamedDraws(lambda items: self.weights(u, items), len(self.vectors), BLOCK_ROWS)


def own_places(u: int, items: Items, count: int) -> NDArray[np.int64]:
    """Return where u itself is among these items of a collection of so many.

    >>> own_places(7, slice(5, 9), 100).tolist(), own_places(7, np.array([7, 1, 7]), 100).tolist()
    ([2], [0, 2])
    """
    if isinstance(items, slice):
        span = range(count)[items]
        return np.array([span.index(u)] if u in span else [], np.int64)
    return np.flatnonzero(items == u)


def degree(vectors: NDArray[np.float32], scale: EuclideanScale | None = None) -> NDArray[np.float64]:
    """Return the sum of each prepared vector's weights to all others; NaN without a vector.

    For collections in memory, by the kernels of the exact pass on one core; `cccount neighbors` does the same on a cluster.

    >>> degree(np.array([[1, 0], [0.6, 0.8], [-1, 0]], np.float32)).round(6).tolist()
    [0.6, 0.6, 0.0]
    """
    metric: Metric = "cosine" if scale is None else "euclidean"  # a correlation is a dot product like a cosine
    ranges, lists = scan_all(vectors, 1, scores_of(metric, vectors.shape[1], scale), grid_for(len(vectors), 8 * capacity(1)))
    degrees = [np.where(mine.usable, mine.degree, np.nan) for mine in lists]
    return np.concatenate([mine[: stop - start] for (start, stop), mine in zip(ranges, degrees, strict=True)])
