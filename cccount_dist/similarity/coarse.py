"""A coarse map of the collection: centres by Lloyd's k-means on a sample, and for every item the centres nearest to it.

The rest of the approximate engine looks only at items that share a near centre (the inverted file of Sivic and Zisserman 2003,
as in faiss). With 2 √n centres both steps cost about n √n. Seeded, and summed in a fixed order: the same map every time.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, var-annotated, call-arg, unreachable, assignment"
# numba infers the types of compiled functions from their arguments.

import math

import numpy as np
from numba import int32, njit
from numpy.typing import NDArray

from cccount_dist.similarity.lanes import at_least, lowest_bit
from cccount_dist.similarity.lists import COMPILED, LOWEST, Lists, capacity, cut, cut_all, new_lists

SAMPLES = 40  # items for each centre to learn from
_ROUNDS = 8
_ROWS = 1024


def centres_for(items: int) -> int:
    """Return how many centres a collection gets.

    >>> centres_for(200_000), centres_for(100)
    (894, 12)
    """
    return max(1, min(round(2 * math.sqrt(items)), items // 8))


def learn_centres(sample: NDArray[np.float32], centres: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return (centres, d) means of groups of the sample rows, which come in random order."""
    found = sample[:centres].copy()
    for _ in range(_ROUNDS):
        nearest = near_centres(sample, found, 1)[:, 0]
        order = np.argsort(nearest, kind="stable")
        groups, starts = np.unique(nearest[order], return_index=True)
        sums = np.add.reduceat(sample[order], starts, axis=0, dtype=np.float64)
        found[groups] = (sums / np.diff([*starts, len(order)])[:, None]).astype(np.float32)
        empty = np.setdiff1d(np.arange(centres), groups)
        found[empty] = sample[rng.choice(len(sample), len(empty), replace=False)]
    return found


def near_centres(rows: NDArray[np.float32], centres: NDArray[np.float32], probes: int) -> NDArray[np.int32]:
    """Return the centres nearest to each row, nearest first: (rows, probes)."""
    padded = np.zeros((-(-len(centres) // 32) * 32, centres.shape[1]), np.float32)
    padded[: len(centres)] = centres
    half = np.full(len(padded), np.inf, np.float32)
    half[: len(centres)] = 0.5 * np.square(centres.astype(np.float64)).sum(axis=1)
    names = np.where(np.arange(len(padded)) < len(centres), np.arange(len(padded)), -1).astype(np.int32)
    nearest = np.empty((len(rows), probes), np.int32)
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        # |x - c|² = |x|² - 2 (x · c - |c|² / 2), and |x|² is the same for all centres.
        scores = part @ padded.T
        scores -= half
        if probes == 1:
            nearest[start : start + _ROWS, 0] = scores.argmax(axis=1)
            continue
        lists = new_lists(np.ones(len(part), np.bool_), np.zeros(len(part), np.float32), probes)
        scan_rows(scores, np.arange(len(part)), names, np.full(len(part), -1), lists, probes, np.float32(0))
        cut_all(lists, probes, np.float32(0))
        nearest[start : start + _ROWS] = _in_order(lists, scores, probes)
    return nearest


def _in_order(lists: Lists, scores: NDArray[np.float32], probes: int) -> NDArray[np.int32]:
    full = np.flatnonzero(lists.filled < 0)  # more equal centres than places: look at all of them
    score = np.where(np.arange(lists.score.shape[1]) < lists.filled[:, None], lists.score, LOWEST)
    order = np.lexsort((lists.item, -score), axis=1)[:, :probes]
    best = np.take_along_axis(lists.item, order, axis=1)
    best[full] = np.argsort(-scores[full], axis=1, kind="stable")[:, :probes]
    return best


@njit(**COMPILED)
def _scan_rows(scores, rows, names, own, k, slope, work, score, item, count, threshold, margin):
    full = score.shape[1]
    width = scores.shape[1]
    for i in range(rows.shape[0]):
        row = rows[i]
        for j0 in range(0, width, 32):
            mask = at_least(scores, i * width + j0, threshold[row])
            while mask != 0:
                j = j0 + lowest_bit(mask)
                mask &= mask - np.uint32(1)
                filled = count[row]
                if names[j] >= 0 and names[j] != own[i] and filled >= 0:
                    score[row, filled] = scores[i, j]
                    item[row, filled] = int32(names[j])
                    count[row] = filled + int32(1)
                    if filled + 1 == full:
                        cut(score, item, count, threshold, margin, row, k, slope, work)


def scan_rows(
    scores: NDArray[np.float32], rows: NDArray[np.int64], names: NDArray[np.int32], own: NDArray[np.int64],
    lists: Lists, k: int, slope: np.float32,
) -> None:  # fmt: skip
    """Take in scores (len(rows), len(names)) for some rows of the lists. Columns named -1 or `own` are passed over."""
    _scan_rows(scores, rows, names, own, k, slope, np.empty(capacity(k), np.float32), *lists[:5])
