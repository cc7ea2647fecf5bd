"""Candidate lists: for every item of a block, the best others so far and the score below which none is taken any more.

A full list is cut to the k best and to what is so close to the k-th that float32 rounding could hide a change of places
(the margin), and the threshold rises. A threshold only ever says "at least k others are better": how high it is decides
how much work is left, never the result. Memory: 8 bytes for each of capacity(k) places of an item.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, var-annotated, call-arg, unreachable, assignment"
# numba infers the types of compiled functions from their arguments.

from typing import Any, NamedTuple

import numpy as np
from numba import float32, int32, int64, njit
from numpy.typing import NDArray

LOWEST = np.float32(-3e38)  # a score below all scores; finite, so that margins can be taken from it
OPEN = np.float32(-2e38)  # threshold of an item that takes every candidate
CLOSED = np.float32(3e38)  # threshold of an item that takes no (more) candidates
OVERFULL = -1  # count of an item with more candidates within the margin than places: its list is made in another way

COMPILED: dict[str, Any] = {"nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy"}


class Lists(NamedTuple):
    """The candidate lists of a block. numba functions take it unpacked: arrays inside a tuple cost a reference count each."""

    score: NDArray[np.float32]  # (rows, capacity)
    item: NDArray[np.int32]  # (rows, capacity)
    filled: NDArray[np.int32]  # (rows,) places filled, or OVERFULL
    threshold: NDArray[np.float32]  # (rows,)
    margin: NDArray[np.float32]  # (rows,)
    usable: NDArray[np.bool_]  # (rows,) False: an item without a vector
    degree: NDArray[np.float64]  # (rows,)


def capacity(k: int) -> int:
    """Return the places of a list: enough that cuts are rare and that ties fit, in whole cache lines.

    >>> capacity(50)
    128
    """
    return -(-(2 * k + 28) // 16) * 16


def new_lists(usable: NDArray[np.bool_], margin: NDArray[np.float32], k: int) -> Lists:
    """Return empty lists that take everything."""
    rows = len(usable)
    return Lists(
        np.empty((rows, capacity(k)), np.float32),
        np.empty((rows, capacity(k)), np.int32),
        np.zeros(rows, np.int32),
        np.where(usable, OPEN, CLOSED).astype(np.float32),
        margin,
        usable,
        np.zeros(rows, np.float64),
    )


@njit(**COMPILED)
def kth_largest(work, count, k):
    """Return the k-th largest of the first `count` (k from 1), and rearrange them. Quickselect: O(count) on average."""
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


@njit(**COMPILED)
def nearly_kth(work, count, k):
    """Return a lower limit of the k-th largest of the first `count` that few others than the k largest reach.

    A bisection of their range: a dozen vectorised counts, where quickselect waits for a branch at every element.
    """
    low = work[0]
    high = work[0]
    for p in range(count):
        low = min(low, work[p])
        high = max(high, work[p])
    reached = count
    for _ in range(14):
        if reached <= k + k // 8:
            return low
        middle = low + (high - low) * float32(0.5)
        above = int32(0)
        for p in range(count):
            above += int32(work[p] >= middle)
        if above >= k:
            low = middle
            reached = above
        else:
            high = middle
    return kth_largest(work, count, k)


@njit(**COMPILED)
def cut(score, item, count, threshold, margin, row, k, slope, work):
    """Keep what can still be among the k best of this item, and raise its threshold."""
    filled = int64(count[row])
    if filled < k:
        return
    for p in range(filled):
        work[p] = score[row, p]
    kth = nearly_kth(work, filled, k)
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
    threshold[row] = max(threshold[row], floor)


@njit(**COMPILED)
def _cut_all(k, slope, work, score, item, count, threshold, margin):
    for row in range(count.shape[0]):
        cut(score, item, count, threshold, margin, row, k, slope, work)


def cut_all(lists: Lists, k: int, slope: np.float32) -> None:
    """Cut every list, so that its threshold is as high as its candidates allow."""
    _cut_all(k, slope, np.empty(capacity(k), np.float32), *lists[:5])


@njit(**COMPILED)
def _absorb(counts, scores, items, k, slope, work, score, item, count, threshold, margin):
    at = 0
    for row in range(count.shape[0]):
        if counts[row] < 0:
            count[row] = OVERFULL
            threshold[row] = CLOSED
            continue
        for p in range(at, at + counts[row]):
            if scores[p] >= threshold[row]:
                filled = count[row]
                score[row, filled] = scores[p]
                item[row, filled] = items[p]
                count[row] = filled + int32(1)
                if filled + 1 == score.shape[1]:
                    cut(score, item, count, threshold, margin, row, k, slope, work)
        at += counts[row]


def absorb(
    lists: Lists, counts: NDArray[np.int32], scores: NDArray[np.float32], items: NDArray[np.int32], k: int, slope: np.float32
) -> None:
    """Take in packed lists of the same items; an item that was overfull there is overfull here."""
    _absorb(counts, scores, items, k, slope, np.empty(capacity(k), np.float32), *lists[:5])


@njit(**COMPILED)
def _pack(score, item, count, scores, items):
    at = 0
    for row in range(count.shape[0]):
        for p in range(count[row]):
            scores[at] = score[row, p]
            items[at] = item[row, p]
            at += 1


def packed(lists: Lists) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return scores and items of all lists, one after another, without empty places."""
    entries = int(np.maximum(lists.filled, 0).sum())
    scores, items = np.empty(entries, np.float32), np.empty(entries, np.int32)
    _pack(lists.score, lists.item, lists.filled, scores, items)
    return scores, items
