"""The inner loops of the exact pass: one block of similarities serves the items of its rows and those of its columns.

Every item has a short list of candidates and a threshold. An entry at or above the threshold is appended; a full list
is cut to the k best and to what is so close to the k-th that float32 rounding could hide a change of places (`margin`), and
the threshold rises. All similarities are also clipped and summed to the degree. Time O(1) for an entry, O(list) for a cut.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import float32, int32, int64, njit
from numpy.typing import NDArray

from cccount_dist.similarity.lanes import LANES, at_least, at_least_either, lowest_bit

LOWEST = np.float32(-3e38)  # finite, because the loops are compiled with the assumption that nothing is infinite
CLOSED = np.float32(3e38)  # threshold of an item that takes no (more) candidates
OVERFULL = -1  # count of an item whose candidates within the margin do not fit in its list: it is computed by itself later

_OPTIONS: dict[str, Any] = {
    "nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy",
    "fastmath": {"nnan", "ninf", "nsz", "arcp", "contract", "reassoc"},
}  # fmt: skip


class Side(NamedTuple):
    """The items on one side of a tile, with what has been found for them."""

    score: NDArray[np.float32]  # (rows, capacity)
    item: NDArray[np.int32]  # (rows, capacity)
    count: NDArray[np.int32]  # (rows,) filled places, or OVERFULL
    threshold: NDArray[np.float32]  # (rows,)
    margin: NDArray[np.float32]  # (rows,) fixed part of the rounding margin
    usable: NDArray[np.bool_]  # (rows,) False: an item without a vector
    degree: NDArray[np.float64]  # (rows,)


def capacity(k: int) -> int:
    """Return the length of a list: long enough that cuts are rare and ties fit, a multiple of a cache line."""
    return -(-(2 * k + 28) // 16) * 16


def new_side(usable: NDArray[np.bool_], k: int, margin: NDArray[np.float32]) -> Side:
    """Return empty lists with open thresholds; about 8 · capacity(k) bytes for each item."""
    rows = len(usable)
    return Side(
        np.empty((rows, capacity(k)), np.float32),
        np.empty((rows, capacity(k)), np.int32),
        np.zeros(rows, np.int32),
        np.where(usable, LOWEST, CLOSED),
        margin,
        usable,
        np.zeros(rows, np.float64),
    )


@njit(**_OPTIONS)  # type: ignore[untyped-decorator]
def kth_largest(work, count, k):  # type: ignore[no-untyped-def]
    """Return the k-th largest of the first `count` (k from 1) and rearrange them. Quickselect: O(count) on average."""
    low = 0
    high = count - 1
    while low < high:
        pivot = work[(low + high) >> 1]
        i = low
        j = high
        while i <= j:
            while work[i] > pivot:
                i += 1
            while work[j] < pivot:
                j -= 1
            if i <= j:
                held = work[i]
                work[i] = work[j]
                work[j] = held
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break
    return work[k - 1]


@njit(**_OPTIONS)  # type: ignore[untyped-decorator]
def _cut(score, item, count, threshold, margin, row, k, slope, work):  # type: ignore[no-untyped-def]
    """Keep what can still be among the k best of this item, and raise its threshold."""
    filled = int64(count[row])
    if filled < k:
        return
    for p in range(filled):
        work[p] = score[row, p]
    kth = kth_largest(work, filled, k)
    floor = kth - margin[row] - slope * abs(kth)
    kept = 0
    for p in range(filled):
        value = score[row, p]
        score[row, kept] = value
        item[row, kept] = item[row, p]
        kept += int64(value >= floor)
    if kept > score.shape[1] - 8:
        count[row] = OVERFULL
        threshold[row] = CLOSED
        return
    count[row] = kept
    if floor > threshold[row]:
        threshold[row] = floor


@njit(**_OPTIONS)  # type: ignore[untyped-decorator]
def _scan_pair(  # type: ignore[no-untyped-def]
    scores, row0, col0, first_row, first_col, k, slope, low, high, work,
    r_score, r_item, r_count, r_threshold, r_margin, r_usable, r_degree,
    c_score, c_item, c_count, c_threshold, c_margin, c_usable, c_degree,
):  # fmt: skip
    height, width = scores.shape
    full = r_score.shape[1]
    sums = np.zeros(width, np.float32)
    near = c_threshold[col0 : col0 + width].copy()
    for i0 in range(0, height, 4):
        sa = float32(0)
        sb = float32(0)
        sc = float32(0)
        sd = float32(0)
        for j in range(width):
            ea = min(max(scores[i0, j], low), high)
            eb = min(max(scores[i0 + 1, j], low), high)
            ec = min(max(scores[i0 + 2, j], low), high)
            ed = min(max(scores[i0 + 3, j], low), high)
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
                    if value >= mine and c_usable[col]:
                        filled = r_count[row]
                        r_score[row, filled] = value
                        r_item[row, filled] = int32(first_col + col)
                        r_count[row] = filled + int32(1)
                        if filled + 1 == full:
                            _cut(r_score, r_item, r_count, r_threshold, r_margin, row, k, slope, work)
                            mine = r_threshold[row]
                    if value >= near[j] and r_usable[row]:
                        filled = c_count[col]
                        c_score[col, filled] = value
                        c_item[col, filled] = int32(first_row + row)
                        c_count[col] = filled + int32(1)
                        if filled + 1 == full:
                            _cut(c_score, c_item, c_count, c_threshold, c_margin, col, k, slope, work)
                            near[j] = c_threshold[col]
    for j in range(width):
        c_degree[col0 + j] += sums[j]


def scan_pair(scores, row0, col0, rows, cols, first_row, first_col, k, slope, low, high, work):  # type: ignore[no-untyped-def]
    """Take in a sub-tile of two different blocks, for both sides. Its width is a multiple of 32."""
    _scan_pair(scores, row0, col0, first_row, first_col, k, slope, low, high, work, *rows, *cols)


@njit(**_OPTIONS)  # type: ignore[untyped-decorator]
def _scan_square(scores, start, first, k, slope, low, high, work, score, item, count, threshold, margin, usable, degree):  # type: ignore[no-untyped-def]
    height, width = scores.shape
    full = score.shape[1]
    eights = width // 8
    for i in range(height):
        row = start + i
        scores[i, i] = low
        total = float32(0)
        for j in range(width):
            total += min(max(scores[i, j], low), high)
        degree[row] += total
        scores[i, i] = LOWEST
        if not usable[row]:
            continue
        if eights > k:
            found = 0
            for e in range(eights):
                best = LOWEST
                for p in range(8):
                    best = max(best, scores[i, 8 * e + p])
                work[e] = best
            for e in range(eights):  # entries of items without a vector are not candidates
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
                        _cut(score, item, count, threshold, margin, row, k, slope, work)
                        mine = threshold[row]


def scan_square(scores, start, side, first, k, slope, low, high, work):  # type: ignore[no-untyped-def]
    _scan_square(scores, start, first, k, slope, low, high, work, *side)


@njit(**_OPTIONS)  # type: ignore[untyped-decorator]
def _cut_all(k, slope, work, score, item, count, threshold, margin, usable, degree):  # type: ignore[no-untyped-def]
    for row in range(count.shape[0]):
        if count[row] > k:
            _cut(score, item, count, threshold, margin, row, k, slope, work)


def cut_all(side, k, slope, work):  # type: ignore[no-untyped-def]
    _cut_all(k, slope, work, *side)
