"""The loops of the exact pass: a tile of scores serves the items of its rows and those of its columns.

Every score is clipped and summed to the degrees of both items (float32 in a sub-tile, float64 across), and appended to the
candidates of those whose threshold it reaches. Time O(d) for a score, with k or without; memory: the packed vectors and the
lists of both sides. The vectors of a strip of rows stay in the second-level cache while all columns pass by.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, var-annotated, call-arg, unreachable, assignment"
# numba infers the types of compiled functions from their arguments.

import numpy as np
from numba import float32, int32, int64, njit
from numpy.typing import NDArray

from cccount_dist.similarity.blocks import Block, Scores
from cccount_dist.similarity.lanes import SUMS, UNROLL, at_least, host_shape, lowest_bit, score_kernel
from cccount_dist.similarity.lists import CLOSED, COMPILED, LOWEST, Lists, capacity, cut, nearly_kth

SQUARE = 1024  # items whose pairs are taken in first, to have thresholds to begin with
_COLUMNS = 512  # of a sub-tile
_STRIP_BYTES = 2**19

_SHAPE = host_shape()
_ROWS, _WIDTH = _SHAPE.rows, _SHAPE.columns
_kernel = score_kernel(_SHAPE)


@njit(**COMPILED)
def _pack(rows, width, packed):
    """Lay out vectors so that the loop over dimensions reads the next `width` items from consecutive places."""
    for item in range(rows.shape[0]):
        for d in range(rows.shape[1]):
            packed[item // width, d, item % width] = rows[item, d]


def packed(rows: NDArray[np.float32], padded_rows: int, width: int) -> NDArray[np.float32]:
    """Return vectors in panels of `width` items; zeros where there is no item or no dimension."""
    depth = -(-rows.shape[1] // UNROLL) * UNROLL
    panels = np.zeros((padded_rows // width, depth, width), np.float32)
    _pack(rows, width, panels)
    return panels


@njit(**COMPILED)
def _scan_pair(
    left, right, row0, row1, col0, col1, strip, first_row, first_col, k, slope, low, high, work,
    r_score, r_item, r_count, r_threshold, r_margin, r_usable, r_degree,
    c_score, c_item, c_count, c_threshold, c_margin, c_usable, c_degree,
):  # fmt: skip
    depth = left.shape[1]
    full = r_score.shape[1]
    masks = np.empty(2 * _ROWS, np.uint32)
    columns = min(_COLUMNS, col1 - col0)
    row_sums = np.empty((strip, SUMS), np.float32)
    col_sums = np.empty(columns, np.float32)
    out = np.empty(_ROWS * _WIDTH, np.float32)  # each few scores overwrite the ones before
    for a in range(row0, row1, strip):
        for b in range(col0, col1, columns):
            row_sums[:] = 0
            col_sums[:] = 0
            for c in range(b, b + columns, _WIDTH):
                for r in range(a, a + strip, _ROWS):
                    reached = _kernel(
                        left, r * depth, right, c * depth, depth, r_threshold, r, c_threshold, c, low, float32(high - low),
                        row_sums, (r - a) * SUMS + c % SUMS, col_sums, c - b, out, 0, _WIDTH, masks,
                    )  # fmt: skip
                    rows = reached & np.uint32(0xFFFF)
                    while rows != 0:
                        i = lowest_bit(rows)
                        rows &= rows - np.uint32(1)
                        row = r + i
                        mask = masks[i]
                        while mask != 0:
                            j = lowest_bit(mask)
                            mask &= mask - np.uint32(1)
                            filled = r_count[row]
                            if c_usable[c + j] and filled >= 0:
                                r_score[row, filled] = out[i * _WIDTH + j]
                                r_item[row, filled] = int32(first_col + c + j)
                                r_count[row] = filled + int32(1)
                                if filled + 1 == full:
                                    cut(r_score, r_item, r_count, r_threshold, r_margin, row, k, slope, work)
                    rows = reached >> np.uint32(16)
                    while rows != 0:
                        i = lowest_bit(rows)
                        rows &= rows - np.uint32(1)
                        row = r + i
                        mask = masks[_ROWS + i]
                        while mask != 0:
                            j = lowest_bit(mask)
                            mask &= mask - np.uint32(1)
                            col = c + j
                            filled = c_count[col]
                            if r_usable[row] and filled >= 0:
                                c_score[col, filled] = out[i * _WIDTH + j]
                                c_item[col, filled] = int32(first_row + row)
                                c_count[col] = filled + int32(1)
                                if filled + 1 == full:
                                    cut(c_score, c_item, c_count, c_threshold, c_margin, col, k, slope, work)
            for r in range(strip):
                for lane in range(SUMS):
                    r_degree[a + r] += row_sums[r, lane]
            for c in range(columns):
                c_degree[b + c] += col_sums[c]


@njit(**COMPILED)
def _square(left, right, start, scores, low, high, degree):
    """Fill in the scores of some items with themselves, and add them to their degrees."""
    side, depth = scores.shape[0], left.shape[1]
    never = np.full(side, CLOSED, np.float32)
    masks = np.empty(2 * _ROWS, np.uint32)
    row_sums = np.zeros((side, SUMS), np.float32)
    col_sums = np.empty(side, np.float32)
    for c in range(0, side, _WIDTH):
        for r in range(0, side, _ROWS):
            _kernel(
                left, (start + r) * depth, right, (start + c) * depth, depth, never, r, never, c, low, float32(high - low),
                row_sums, r * SUMS + c % SUMS, col_sums, c, scores, r * side + c, side, masks,
            )  # fmt: skip
    for r in range(side):
        for lane in range(SUMS):
            degree[start + r] += row_sums[r, lane]
        degree[start + r] -= min(max(scores[r, r] - low, float32(0)), float32(high - low))  # the item itself does not count


@njit(**COMPILED)
def _scan_square(scores, start, first, k, slope, work, score, item, count, threshold, margin, usable):
    side = scores.shape[0]
    groups = side // 8
    clean = np.ones(groups, np.bool_)
    for j in range(side):
        clean[j % groups] &= usable[start + j]
    for i in range(side):
        row = start + i
        if not usable[row]:
            continue
        scores[i, i] = LOWEST  # below every threshold: nobody is their own neighbour
        if groups > k:
            # A threshold to begin with: the k-th largest among maxima of groups of eight is at most the k-th largest of all.
            for e in range(groups):
                work[e] = scores[i, e]
            for p in range(groups, side, groups):
                for e in range(groups):
                    work[e] = max(work[e], scores[i, p + e])
            found = 0
            for e in range(groups):
                work[found] = work[e]
                found += int64(clean[e])
            if found >= k:
                kth = nearly_kth(work, found, k)
                threshold[row] = max(threshold[row], kth - margin[row] - slope * abs(kth))
        for j0 in range(0, side, 32):
            mask = at_least(scores, i * side + j0, threshold[row])
            while mask != 0:
                j = j0 + lowest_bit(mask)
                mask &= mask - np.uint32(1)
                filled = count[row]
                if usable[start + j] and filled >= 0:
                    score[row, filled] = scores[i, j]
                    item[row, filled] = int32(first + start + j)
                    count[row] = filled + int32(1)
                    if filled + 1 == score.shape[1]:
                        cut(score, item, count, threshold, margin, row, k, slope, work)


def _strip(depth: int, rows: int) -> int:
    """Return how many rows fit in the second-level cache with room to spare: a power of two."""
    strip = 256
    while strip > 32 and strip * depth * 4 > _STRIP_BYTES:
        strip //= 2
    return min(strip, rows)


def scan_diagonal(block: Block, lists: Lists, items: tuple[int, int], k: int, meaning: Scores) -> None:
    """Take in all pairs within a block, which holds the items [start, stop). Squares come first, for the thresholds."""
    rows, (start, stop) = len(block.usable), items
    left, right = packed(block.left, rows, _ROWS), packed(block.right, rows, _WIDTH)
    side = min(SQUARE, rows)
    work = np.empty(max(capacity(k), SQUARE), np.float32)
    scores = np.empty((side, side), np.float32)
    used = range(0, stop - start, side)
    for at in used:
        _square(left, right, at, scores, meaning.low, meaning.high, lists.degree)
        _scan_square(scores, at, start, k, meaning.slope, work, *lists[:6])
    for at in used[:-1]:
        area = (at, at + side, at + side, used[-1] + side)
        _scan_area(left, right, area, (start, start), k, meaning, (lists, lists))


def scan_tile(
    left: Block, right: Block, lists: tuple[Lists, Lists], items: tuple[tuple[int, int], tuple[int, int]],
    k: int, meaning: Scores,
) -> None:  # fmt: skip
    """Take in all pairs of two different blocks, with the items [start, stop) each."""
    rows = len(left.usable)
    strip, columns = _strip(left.left.shape[1], rows), min(_COLUMNS, rows)
    (first_row, last_row), (first_col, last_col) = items
    area = (0, -(-(last_row - first_row) // strip) * strip, 0, -(-(last_col - first_col) // columns) * columns)
    panels = (packed(left.left, rows, _ROWS), packed(right.right, rows, _WIDTH))
    _scan_area(*panels, area, (first_row, first_col), k, meaning, lists)


def _scan_area(
    left: NDArray[np.float32], right: NDArray[np.float32], area: tuple[int, int, int, int], first: tuple[int, int],
    k: int, meaning: Scores, lists: tuple[Lists, Lists],
) -> None:  # fmt: skip
    limits = (k, meaning.slope, meaning.low, meaning.high, np.empty(capacity(k), np.float32))
    strip = _strip(left.shape[1], left.shape[0] * left.shape[2])
    _scan_pair(left, right, *area, strip, *first, *limits, *lists[0], *lists[1])
