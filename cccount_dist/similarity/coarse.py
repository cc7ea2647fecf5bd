"""A coarse map of the collection, by faiss: centres of k-means on a sample, and for every item the centres nearest to it.

The rest of the approximate engine looks only at items that share a near centre (the inverted file of Sivic and Zisserman 2003).
With 2 √n centres both steps cost about n √n. faiss runs with a seed and one thread: the same map every time. It is an extra,
imported when the engine is wanted.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, var-annotated, call-arg, unreachable, assignment"
# numba infers the types of compiled functions from their arguments.

import math
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np
from numba import int32, njit
from numpy.typing import NDArray

from cccount_dist.similarity.lanes import at_least, lowest_bit
from cccount_dist.similarity.lists import COMPILED, Lists, capacity, cut
from cccount_dist.similarity.threads import one_thread

SAMPLES = 40  # items for each centre to learn from
NEEDS_FAISS = "needs the extra 'approximate': pip install 'cccount[approximate]'"
_ROUNDS = 8


def has_faiss() -> bool:
    """Whether this process could run the approximate engine."""
    return find_spec("faiss") is not None


@contextmanager
def faiss_on_one_thread() -> Iterator[Any]:
    """Give faiss, and have it and numpy's BLAS use one thread: sums get one order, and workers do not fight for the cores."""
    import faiss

    with one_thread():
        yield faiss


def centres_for(items: int) -> int:
    """Return how many centres a collection gets.

    >>> centres_for(200_000), centres_for(100)
    (894, 12)
    """
    return max(1, min(round(2 * math.sqrt(items)), items // 8))


def learn_centres(sample: NDArray[np.float32], centres: int, seed: int) -> NDArray[np.float32]:
    """Return (centres, d) means of groups of the sample rows."""
    with faiss_on_one_thread() as faiss:
        fit = faiss.Kmeans(sample.shape[1], centres, niter=_ROUNDS, seed=seed, min_points_per_centroid=1)
        fit.train(sample)
    found: NDArray[np.float32] = fit.centroids
    return found


def near_centres(rows: NDArray[np.float32], centres: NDArray[np.float32], probes: int) -> NDArray[np.int32]:
    """Return the centres nearest to each row, nearest first: (rows, probes)."""
    with faiss_on_one_thread() as faiss:
        index = faiss.IndexFlatL2(centres.shape[1])
        index.add(centres)
        nearest: NDArray[np.int32] = index.search(rows, probes)[1].astype(np.int32)
    return nearest


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
