"""The inner loops of the exact pass: a sub-tile of scores serves the items of its rows and those of its columns.

Every score is clipped and summed to the degrees of both items (float32 in a sub-tile, float64 across), and appended to the
candidates of those whose threshold it reaches. A vector comparison with the lower of both thresholds finds the few that
do. Time O(1) for a score, whatever k is; memory: the lists of both sides.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, var-annotated, call-arg, unreachable, assignment"
# numba infers the types of compiled functions from their arguments.

import numpy as np
from numba import float32, int32, int64, njit
from numpy.typing import NDArray

from cccount_dist.similarity.blocks import Block, Scores
from cccount_dist.similarity.lanes import LANES, at_least, at_least_either, lowest_bit
from cccount_dist.similarity.lists import FAST, LOWEST, Lists, capacity, cut, kth_largest

SUBTILE = 512  # 1 MiB of scores: they stay in the second-level cache between the product and the scan
SQUARE = 1024

Keep = NDArray[np.float16] | None  # where to leave the scores of a tile, if anybody wants them


@njit(**FAST)
def _scan_pair(
    scores, row0, col0, first_row, first_col, k, slope, low, high, work,
    r_score, r_item, r_count, r_threshold, r_margin, r_usable, r_degree,
    c_score, c_item, c_count, c_threshold, c_margin, c_usable, c_degree,
):  # fmt: skip
    height, width = scores.shape
    zero = float32(0)
    top = float32(high - low)
    full = r_score.shape[1]
    sums = np.zeros(width, np.float32)
    near = c_threshold[col0 : col0 + width].copy()
    for i0 in range(0, height, 4):
        sa = float32(0)
        sb = float32(0)
        sc = float32(0)
        sd = float32(0)
        for j in range(width):
            ea = min(max(scores[i0, j] - low, zero), top)
            eb = min(max(scores[i0 + 1, j] - low, zero), top)
            ec = min(max(scores[i0 + 2, j] - low, zero), top)
            ed = min(max(scores[i0 + 3, j] - low, zero), top)
            sa += ea
            sb += eb
            sc += ec
            sd += ed
            sums[j] += (ea + eb) + (ec + ed)
        r_degree[row0 + i0] += sa
        r_degree[row0 + i0 + 1] += sb
        r_degree[row0 + i0 + 2] += sc
        r_degree[row0 + i0 + 3] += sd
        for i in range(i0, i0 + 4):
            row = row0 + i
            mine = r_threshold[row]
            for j0 in range(0, width, LANES):
                mask = at_least_either(scores, i * width + j0, near, j0, mine)
                while mask != 0:
                    j = j0 + lowest_bit(mask)
                    mask &= mask - np.uint32(1)
                    value = scores[i, j]
                    col = col0 + j
                    # Written out twice: as a function of the lists it would count references in the innermost loop.
                    if value >= mine and c_usable[col]:
                        filled = r_count[row]
                        r_score[row, filled] = value
                        r_item[row, filled] = int32(first_col + col)
                        r_count[row] = filled + int32(1)
                        if filled + 1 == full:
                            cut(r_score, r_item, r_count, r_threshold, r_margin, row, k, slope, work)
                            mine = r_threshold[row]
                    if value >= near[j] and r_usable[row]:
                        filled = c_count[col]
                        c_score[col, filled] = value
                        c_item[col, filled] = int32(first_row + row)
                        c_count[col] = filled + int32(1)
                        if filled + 1 == full:
                            cut(c_score, c_item, c_count, c_threshold, c_margin, col, k, slope, work)
                            near[j] = c_threshold[col]
    for j in range(width):
        c_degree[col0 + j] += sums[j]


@njit(**FAST)
def _scan_square(
    scores, start, first, k, slope, low, high, work, score, item, count, threshold, margin, usable, degree
):  # fmt: skip
    height, width = scores.shape
    zero = float32(0)
    top = float32(high - low)
    full = score.shape[1]
    eights = width // 8
    for i in range(height):
        row = start + i
        scores[i, i] = low  # the item itself adds nothing to its degree
        total = float32(0)
        for j in range(width):
            total += min(max(scores[i, j] - low, zero), top)
        degree[row] += total
        scores[i, i] = LOWEST
        if not usable[row]:
            continue
        if eights > k:
            # A threshold to begin with: the k-th largest among the maxima of eights is at most the k-th largest of all.
            found = 0
            for e in range(eights):
                best = LOWEST
                for p in range(8):
                    best = max(best, scores[i, 8 * e + p])
                work[e] = best
            for e in range(eights):
                clean = True
                for p in range(8):
                    clean &= usable[start + 8 * e + p]
                work[found] = work[e]
                found += int64(clean)
            if found >= k:
                kth = kth_largest(work, found, k)
                threshold[row] = max(threshold[row], kth - margin[row] - slope * abs(kth))
        mine = threshold[row]
        for j0 in range(0, width, LANES):
            mask = at_least(scores, i * width + j0, mine)
            while mask != 0:
                j = j0 + lowest_bit(mask)
                mask &= mask - np.uint32(1)
                value = scores[i, j]
                if value >= mine and i != j and usable[start + j]:
                    filled = count[row]
                    score[row, filled] = value
                    item[row, filled] = int32(first + start + j)
                    count[row] = filled + int32(1)
                    if filled + 1 == full:
                        cut(score, item, count, threshold, margin, row, k, slope, work)
                        mine = threshold[row]


def scan_diagonal(block: Block, lists: Lists, items: tuple[int, int], k: int, meaning: Scores, keep: Keep = None) -> None:
    """Take in all pairs within a block, which holds the items [start, stop). Squares come first, for the thresholds."""
    rows, (start, stop) = len(block.usable), items
    side, step = min(SQUARE, rows), min(SUBTILE, rows)
    limits = (k, meaning.slope, meaning.low, meaning.high, np.empty(max(capacity(k), SQUARE), np.float32))
    used = range(0, stop - start, side)
    scores = np.empty((side, side), np.float32)
    for at in used:
        np.matmul(block.left[at : at + side], block.right[at : at + side].T, out=scores)
        if keep is not None:
            keep[at : at + side, at : at + side] = scores
        _scan_square(scores, at, start, *limits, *lists)
    scores = np.empty((step, step), np.float32)
    for at in used:
        for col in range(at + side, stop - start, step):
            for row in range(at, at + side, step):
                np.matmul(block.left[row : row + step], block.right[col : col + step].T, out=scores)
                if keep is not None:
                    keep[row : row + step, col : col + step] = scores
                _scan_pair(scores, row, col, start, start, *limits, *lists, *lists)


def scan_tile(
    left: Block, right: Block, lists: tuple[Lists, Lists], items: tuple[tuple[int, int], tuple[int, int]],
    k: int, meaning: Scores, keep: Keep = None,
) -> None:  # fmt: skip
    """Take in all pairs of two different blocks, with the items [start, stop) each."""
    step = min(SUBTILE, len(left.usable))
    (first_row, last_row), (first_col, last_col) = items
    limits = (k, meaning.slope, meaning.low, meaning.high, np.empty(capacity(k), np.float32))
    scores = np.empty((step, step), np.float32)
    for col in range(0, last_col - first_col, step):
        columns = right.right[col : col + step].T
        for row in range(0, last_row - first_row, step):
            np.matmul(left.left[row : row + step], columns, out=scores)
            if keep is not None:
                keep[row : row + step, col : col + step] = scores
            _scan_pair(scores, row, col, first_row, first_col, *limits, *lists[0], *lists[1])
