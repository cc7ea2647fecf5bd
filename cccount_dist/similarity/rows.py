"""Similarity of one item to all others, computed on demand from prepared vectors (`metrics.prepare`): ŝ(u, v) in [0, 1].

The dot products have a fixed summation order (16 lanes, no fused or reordered arithmetic), so a row has the same bytes
whatever the block, the number of threads and the machine: the questions of a sampler are drawn from it.
A row takes O(n d) time and O(n) memory; the vectors may be a memory map, and are read block by block.
"""

import numba
import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS = 8192
_LANES = 16
_WHOLE = 2.0**30


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _clipped_dots(block: NDArray[np.float32], row: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    lanes = np.empty(_LANES, np.float32)
    dimensions = block.shape[1]
    whole = dimensions - dimensions % _LANES
    for item in range(block.shape[0]):
        lanes[:] = 0.0
        for start in range(0, whole, _LANES):
            for lane in range(_LANES):
                lanes[lane] += block[item, start + lane] * row[start + lane]
        for lane in range(dimensions - whole):
            lanes[lane] += block[item, whole + lane] * row[whole + lane]
        total = np.float32(0.0)
        for lane in range(_LANES):
            total += lanes[lane]
        # NaN (an item without a vector) fails the first comparison and counts as similarity 0.
        out[item] = min(total, np.float32(1.0)) if total > 0.0 else np.float32(0.0)


def row_weights(vectors: NDArray[np.float32], u: int) -> NDArray[np.float32]:
    """Return the similarity of item `u` to every item, clipped to [0, 1]; 0 to itself and to items without a vector.

    Parameters
    ----------
    vectors : (n, d) float32, prepared; an array or a memory map
    u : item number

    Examples
    --------
    >>> row_weights(np.array([[1, 0], [0.6, 0.8], [-1, 0]], dtype=np.float32), 0)
    array([0. , 0.6, 0. ], dtype=float32)
    """
    weights = np.empty(len(vectors), np.float32)
    row = np.ascontiguousarray(vectors[u])
    for start in range(0, len(vectors), BLOCK_ROWS):
        block = np.ascontiguousarray(vectors[start : start + BLOCK_ROWS])
        _clipped_dots(block, row, weights[start : start + BLOCK_ROWS])
    weights[u] = 0.0
    return weights


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _add_degrees(rows: NDArray[np.float32], columns: NDArray[np.float32], shift: int, degrees: NDArray[np.int64]) -> None:
    """Add the similarity of each row to the items of `columns` (d, m), but for row r not to the item of column r + shift."""
    dots = np.empty(columns.shape[1], np.float32)
    for row in range(rows.shape[0]):
        dots[:] = 0.0
        for dimension in range(rows.shape[1]):
            factor = rows[row, dimension]
            for column in range(columns.shape[1]):  # the processor's vector units take many columns at once
                dots[column] += factor * columns[dimension, column]
        if 0 <= row + shift < columns.shape[1]:
            dots[row + shift] = 0.0
        for column in range(columns.shape[1]):
            clipped = min(dots[column], np.float32(1.0)) if dots[column] > 0.0 else np.float32(0.0)
            degrees[row] += np.int64(clipped * np.float32(_WHOLE))


def degree(vectors: NDArray[np.float32], *, block_rows: int = 512, block_columns: int = 128) -> NDArray[np.float64]:
    """Return Σ_{v≠u} ŝ(u, v) for every item; NaN for an item without a vector.

    For collections in memory: O(n² d) time on one core, O(n) memory. `cccount neighbors` does the same on a cluster.
    Similarities are summed as whole numbers of 2⁻³⁰, so neither the blocks nor the machine change a bit of the sum.
    """
    items = len(vectors)
    degrees = np.zeros(items, np.int64)
    for start in range(0, items, block_columns):
        columns = np.ascontiguousarray(vectors[start : start + block_columns].T)
        for first in range(0, items, block_rows):
            rows = np.ascontiguousarray(vectors[first : first + block_rows])
            _add_degrees(rows, columns, first - start, degrees[first : first + block_rows])
    missing = np.concatenate([np.isnan(vectors[first : first + BLOCK_ROWS]).any(axis=1) for first in range(0, items, BLOCK_ROWS)])
    return np.where(missing, np.nan, degrees / _WHOLE)
