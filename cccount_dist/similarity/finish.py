"""From candidates to neighbours: settle what float32 rounding left open, and put the k best in order.

Where two candidates are closer than the margin their scores are computed again in float64, in a fixed order of summation; so
ties are real ties and go by item number, on any machine and any BLAS. Euclidean scores are all computed again, as sums of
squared differences: exact duplicates have distance 0. Time O(k d) for an item at most, and O(n d) for one with many twins.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, var-annotated, call-arg, unreachable, assignment"
# numba infers the types of compiled functions from their arguments.

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.similarity.blocks import Scores
from cccount_dist.similarity.lists import COMPILED, Lists

_LANES = 8


@njit(**COMPILED)
def _exact(vectors, u, v, euclidean, lanes):
    """Return the dot product, or minus the squared distance, of two rows; in this order everywhere."""
    dimensions = vectors.shape[1]
    lanes[:] = 0.0
    for start in range(0, dimensions - dimensions % _LANES, _LANES):
        for lane in range(_LANES):
            x = np.float64(vectors[u, start + lane])
            y = np.float64(vectors[v, start + lane])
            lanes[lane] += -(x - y) * (x - y) if euclidean else x * y
    for p in range(dimensions - dimensions % _LANES, dimensions):
        x = np.float64(vectors[u, p])
        y = np.float64(vectors[v, p])
        lanes[p % _LANES] += -(x - y) * (x - y) if euclidean else x * y
    total = 0.0
    for lane in range(_LANES):
        total += lanes[lane]
    # A similarity is stored as float32: candidates that are equal there are ties. A distance is not: it decides as it is.
    return total if euclidean else np.float64(np.float32(total))


@njit(**COMPILED)
def _sort(score, item, count):
    """Order by score, largest first, then by item; by insertion, because lists are short and often nearly in order."""
    for p in range(1, count):
        value = score[p]
        name = item[p]
        q = p - 1
        while q >= 0 and (score[q] < value or (score[q] == value and item[q] > name)):
            score[q + 1] = score[q]
            item[q + 1] = item[q]
            q -= 1
        score[q + 1] = value
        item[q + 1] = name


@njit(**COMPILED)
def _finish_rows(vectors, items, score, item, count, margin, euclidean, out_score, out_item):
    k = out_item.shape[1]
    lanes = np.empty(_LANES, np.float64)
    values = np.empty(score.shape[1], np.float64)
    names = np.empty(score.shape[1], np.int32)
    for row in range(count.shape[0]):
        filled = count[row]
        if filled < k:
            continue
        for p in range(filled):
            values[p] = score[row, p]
            names[p] = item[row, p]
        if euclidean:
            for p in range(filled):
                values[p] = _exact(vectors, items[row], names[p], euclidean, lanes)
        else:
            _sort(values, names, filled)
            p = 0
            while p < min(k, filled):  # runs of candidates that are each too close to the next
                last = p
                while last + 1 < filled and values[last] - values[last + 1] <= margin[row]:
                    last += 1
                if last > p:
                    for q in range(p, last + 1):
                        values[q] = _exact(vectors, items[row], names[q], euclidean, lanes)
                p = last + 1
        _sort(values, names, filled)
        for p in range(k):
            out_score[row, p] = values[p]
            out_item[row, p] = names[p]


@njit(**COMPILED)
def _exact_row(vectors, u, euclidean, out):
    lanes = np.empty(_LANES, np.float64)
    for v in range(vectors.shape[0]):
        out[v] = _exact(vectors, u, v, euclidean, lanes)


def finish(
    vectors: NDArray[np.float32], items: NDArray[np.int64], lists: Lists, k: int, meaning: Scores
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the k neighbours of `items` and their similarities: (len(items), k) each; -1 and NaN for one without a vector.

    `vectors` are all rows of the row cache; row i of `lists` holds the candidates of items[i].
    """
    rows = len(items)
    euclidean = meaning.scale is not None
    score = np.full((rows, k), np.nan, np.float64)
    item = np.full((rows, k), -1, np.int32)
    count = lists.filled[:rows]
    _finish_rows(vectors, items, lists.score, lists.item, count, lists.margin, euclidean, score, item)
    open_rows = np.flatnonzero((count < k) & lists.usable[:rows])  # too many twins for a list, or too few candidates
    if len(open_rows):
        _finish_alone(vectors, items, open_rows, euclidean, score, item)
    if meaning.scale is not None:
        score = meaning.scale.similarity(-score)
    return item, score.astype(np.float32)


def _finish_alone(
    vectors: NDArray[np.float32], items: NDArray[np.int64], rows: NDArray[np.intp], euclidean: bool,  # noqa: FBT001
    score: NDArray[np.float64], item: NDArray[np.int32],
) -> None:  # fmt: skip
    """Fill in these rows from all scores of the item, computed once for each set of equal vectors."""
    k = item.shape[1]
    _, first, twin_of = np.unique(vectors[items[rows]], axis=0, return_index=True, return_inverse=True)
    everything = np.empty(len(vectors), np.float64)
    for twins, representative in enumerate(rows[first]):
        _exact_row(vectors, items[representative], euclidean, everything)
        everything[np.isnan(everything)] = -np.inf
        least = np.partition(everything, -(k + 1))[-(k + 1)]
        at_least = np.flatnonzero(everything >= least)
        best = at_least[np.argsort(-everything[at_least], kind="stable")][: k + 1]
        for row in rows[twin_of == twins]:
            others = best[best != items[row]][:k]
            item[row], score[row] = others, everything[others]
