"""P(same | distance): a falling isotonic map, fitted on pairs with pseudo labels and refitted where people's answers are known.

Pairs are neighbours *and* random ones: fitted on neighbours alone, every larger distance would get the probability of the
farthest neighbour. Distances go into 4,096 bins, so a fit takes O(pairs) time and constant memory; a look-up is one table entry.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from cccount_dist.clustering.distance import squared_distance
from cccount_dist.clustering.evidence.kernels import OPTIONS

BINS = 4096
SURE = 1e-4  # no pair is surer than this
RANDOM_PAIRS, MOST_RANDOM = 10, 500_000  # for each item, and in all

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PairMap:
    """P(same) and its log-odds at the middle of each bin of squared distances."""

    low: float
    scale: float  # bins per unit of squared distance
    same: Floats  # (BINS,)
    odds: Floats  # (BINS,)

    def bins(self, squared: Floats) -> Ints:
        return np.clip((squared - self.low) * self.scale, 0, BINS - 1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class FitPairs:
    """The pairs that a map is fitted on: neighbours and random ones, with their squared distances."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    squared: Floats


def fit_pairs(vectors: NDArray[np.float32], neighbors: NDArray[np.int32], seed: int) -> FitPairs:
    """Return all neighbour pairs and ten random pairs for each item, at most half a million of those."""
    items, k = neighbors.shape
    random = np.random.default_rng(seed)
    count = min(RANDOM_PAIRS * items, MOST_RANDOM)
    a, b = random.integers(items, size=count), random.integers(items, size=count)
    first = np.concatenate([np.repeat(np.arange(items), k), a[a != b]]).astype(np.int32)
    second = np.concatenate([neighbors.ravel(), b[a != b]]).astype(np.int32)
    return FitPairs(first, second, distances(vectors, first, second))


def fit_map(squared: Floats, same: NDArray[np.bool_]) -> PairMap:
    """Return the isotonic map of these pairs."""
    low, high = float(squared.min()), float(squared.max())
    scale = BINS / max(high - low, 1e-12)
    bins = np.minimum(((squared - low) * scale).astype(np.int64), BINS - 1)
    count = np.bincount(bins, minlength=BINS)
    share = np.bincount(bins, weights=same, minlength=BINS) / np.maximum(count, 1)
    used = np.flatnonzero(count)
    fitted = isotonic_regression(share[used], sample_weight=count[used], y_min=0.0, y_max=1.0, increasing=False)
    p = np.clip(np.interp(np.arange(BINS), used, fitted), SURE, 1.0 - SURE)
    return PairMap(low, scale, p, np.log(p / (1.0 - p)))


@njit(**OPTIONS)
def distances(vectors, first, second):
    """Return the squared distances of pairs of items."""
    out = np.empty(len(first))
    for p in range(len(first)):
        out[p] = squared_distance(vectors, first[p], second[p])
    return out


@njit(**OPTIONS)
def between(vectors, mine, others):
    """Return the squared distances (a, b) of two sets of items."""
    out = np.empty((len(mine), len(others)))
    for x in range(len(mine)):
        for y in range(len(others)):
            out[x, y] = squared_distance(vectors, mine[x], others[y])
    return out


@njit(**OPTIONS)
def bin_of(squared, low, scale, bins):
    """Return the bin of a squared distance."""
    at = (squared - low) * scale
    if at <= 0.0:
        return 0
    return min(int(at), bins - 1)
