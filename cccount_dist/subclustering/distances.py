"""Distances with the same bits everywhere: rows are rounded to whole numbers, so that every sum of products is exact.

A row of length at most 1 becomes whole numbers of length below 4096. By Cauchy and Schwarz all partial sums of a dot product are
then below 2²⁴, which float32 holds exactly: any BLAS, block and number of threads gives the same product. Nearest items are
found block by block in one pass over the vectors: O(R n d) time, memory R · (count + block), never R × n.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.memory import forget_pages
from cccount_dist.similarity.threads import one_thread
from storage.errors import InputError

LENGTH = 4096
BLOCK_ITEMS = 8192
BLOCK_ROWS = 512  # candidates that one task or thread looks after
_MISSING = 2**28  # in the place of |x|² for an item without a vector: farther away than anything

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Floats = NDArray[np.float32]
compiled = numba.njit(cache=True, nogil=True)
# Sums are exact, so the compiler may take them in the order that is fastest: nothing shows.
compiled_exact_sums = numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})


@compiled_exact_sums  # type: ignore[untyped-decorator, unused-ignore]
def _squared(first: Floats, first_squares: Int32s, second: Floats, second_squares: Int32s, out: Int32s) -> None:
    """Few rows by many: for that a library of linear algebra with its threads costs more than it gives."""
    for row in range(first.shape[0]):
        for column in range(second.shape[0]):
            dot = np.float32(0.0)
            for dimension in range(first.shape[1]):
                dot += first[row, dimension] * second[column, dimension]
            out[row, column] = first_squares[row] + second_squares[column] - 2 * np.int32(dot)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as whole numbers, and their squared lengths."""

    numbers: Floats  # (m, d)
    squares: Int32s  # (m,); 2²⁸ for an item without a vector

    @property
    def usable(self) -> NDArray[np.bool_]:
        return self.squares < _MISSING

    def take(self, places: Int64s) -> "Rows":
        return Rows(self.numbers[places], self.squares[places])

    def squared_to(self, other: "Rows") -> Int32s:
        """Return the squared distances of all rows to all rows of the other: whole numbers, exact."""
        out = np.empty((len(self.squares), len(other.squares)), np.int32)
        _squared(self.numbers, self.squares, other.numbers, other.squares, out)
        return out


def unit(dimensions: int) -> float:
    """Return what length 1 becomes: rounding adds up to half a unit to each number, so the longest row stays below 4096."""
    return float(np.floor(LENGTH - np.sqrt(dimensions) / 2 - 1))


def whole_rows(vectors: Floats) -> Rows:
    """Return prepared rows (`similarity.metrics.prepare`) as whole numbers."""
    numbers = np.rint(vectors * np.float32(unit(vectors.shape[1])))
    squares = np.einsum("id,id->i", numbers, numbers)
    missing = ~np.isfinite(squares)
    numbers[missing] = 0.0
    squares[missing] = 0.0
    if squares.max(initial=0.0) > LENGTH**2:
        raise InputError("a row is longer than 1: subclustering takes prepared vectors (cosine or correlation)")
    lengths = squares.astype(np.int32)
    lengths[missing] = _MISSING
    return Rows(numbers, lengths)


def blocks_of(vectors: Floats, among: NDArray[np.bool_] | None = None) -> Iterator[tuple[int, Rows]]:
    """Yield the number of the first item of each block, and its rows; of items that are not `among` these as without a vector."""
    for start in range(0, len(vectors), BLOCK_ITEMS):
        rows = whole_rows(np.asarray(vectors[start : start + BLOCK_ITEMS]))
        if among is not None:
            others = ~among[start : start + BLOCK_ITEMS]
            rows.numbers[others], rows.squares[others] = 0.0, _MISSING
        yield start, rows
        forget_pages(vectors)


def usable_items(vectors: Floats) -> Int64s:
    """Return the items that have a vector."""
    return np.concatenate([start + np.flatnonzero(rows.usable) for start, rows in blocks_of(vectors)])


def distances_from(vectors: Floats, items: Int64s) -> Floats:
    """Return the distances of some items to all items (m, n): 4 m n bytes, for methods that look at all of them many times."""
    own, scale = whole_rows(np.asarray(vectors[items])), np.float32(unit(vectors.shape[1]))
    found = np.empty((len(items), len(vectors)), np.float32)
    for start, rows in blocks_of(vectors):
        dots = own.numbers @ rows.numbers.T
        squared = own.squares[:, None] + rows.squares - 2 * dots.astype(np.int32)
        np.sqrt(squared, out=found[:, start : start + len(rows.squares)], dtype=np.float32, casting="same_kind")
    found /= scale
    return found


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _keep_nearest(
    dots: Floats, squares: Int32s, start: int, own: Int64s, own_squares: Int32s, index: Int32s, squared: Int32s
) -> None:
    """Put the items of a block into the lists, nearest first; of equally near ones the first stays before."""
    count = index.shape[1]
    for row in range(dots.shape[0]):
        for column in range(dots.shape[1]):
            distance = own_squares[row] + squares[column] - 2 * np.int32(dots[row, column])
            if distance < squared[row, count - 1] and start + column != own[row]:
                place = count - 1
                while place > 0 and squared[row, place - 1] > distance:
                    squared[row, place] = squared[row, place - 1]
                    index[row, place] = index[row, place - 1]
                    place -= 1
                squared[row, place] = distance
                index[row, place] = start + column


def nearest_items(vectors: Floats, items: Int64s, count: int, among: NDArray[np.bool_] | None = None) -> tuple[Int32s, Int32s]:
    """Return for each of some items the `count` nearest others (m, count), nearest first, and their squared distances in whole
    numbers. Where there are fewer others the rest is -1. `among` (n,): which items there are to be near; None: all."""
    own = whole_rows(np.asarray(vectors[items]))
    index = np.full((len(items), count), -1, np.int32)
    squared = np.full((len(items), count), _MISSING, np.int32)
    if count:
        for start, rows in blocks_of(vectors, among):
            _keep_nearest(own.numbers @ rows.numbers.T, rows.squares, start, items, own.squares, index, squared)
    return index, squared


def nearest_items_on_all_cores(
    vectors: Floats, items: Int64s, count: int, among: NDArray[np.bool_] | None = None
) -> tuple[Int32s, Int32s]:
    """Do the same, with a thread for each core."""
    pieces = [items[start : start + BLOCK_ROWS] for start in range(0, len(items), BLOCK_ROWS)]
    with one_thread(), ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        found = list(threads.map(lambda piece: nearest_items(vectors, piece, count, among), pieces))
    empty = np.empty((0, count), np.int32)
    return np.concatenate([empty, *(index for index, _ in found)]), np.concatenate([empty, *(squared for _, squared in found)])
