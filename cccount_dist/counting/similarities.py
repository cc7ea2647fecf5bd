"""The similarities ŝ of section 4: the workspace's own (any metric), k-means soft assignments, softmax.

`soft`: w_i = exp(-|x_i - c_k|²/2σ²) for the k centres at the elbow (equation 10), and the correlation of w_u and w_v (equation
11); (n, k) float32. `softmax`: exp(cos/τ), each row divided by its sum (with the Euclidean metric: of its similarity).
A row takes O(n d), for `soft` O(n k), and is drawn from block by block (`similarity/rows.py`); nothing is n × n.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.elbow import kmeans_elbow
from cccount_dist.clustering.kmeans import KMeansFit, kmeans, squared_distances
from cccount_dist.counting.parameters import SMALLEST_TAU
from cccount_dist.counting.population import Population
from cccount_dist.similarity.draws import StreamedDraws
from cccount_dist.similarity.metrics import prepare, usable
from cccount_dist.similarity.rows import BLOCK_ROWS, Items, SimilarityRows, own_places
from cccount_dist.similarity.threads import one_thread
from storage.errors import InputError

_EXACT = 8192
_COLUMNS = 2048
_WHOLE = 2.0**30


@dataclass(frozen=True, slots=True)
class _Row:
    of: Callable[[int, Items], NDArray[np.floating]]
    item: int
    population: Population

    def weights(self, places: slice | NDArray[np.int64]) -> NDArray[np.floating]:
        return self.of(self.item, self.population.at(places))


@dataclass(frozen=True, slots=True)
class Similarity:
    """What the proposals of a nested sampler are made from."""

    name: str
    weights: Callable[[int, Items], NDArray[np.floating]]  # weights in [0, 1] of item u to some items; 0 to itself
    degree: NDArray[np.float64]  # (n,) decides Q ∝ 1/(1 + degree); NaN for an item that is not counted
    positive: bool  # whether every weight is above 0, so that no pair is out of reach

    OWN = 1.0  # weight of an item to itself, on the scale of `weights`

    def draws(self, u: int, population: Population) -> StreamedDraws:
        """Return draws of places of the population, each with the weight of its item."""
        return StreamedDraws(_Row(self.weights, u, population).weights, population.items, BLOCK_ROWS)


def metric_similarity(vectors: NDArray[np.float32], degree: NDArray[np.float64], mean_square: float | None = None) -> Similarity:
    """Return the clipped similarity of prepared vectors: cosine or correlation, or with `mean_square` the Euclidean one."""
    if len(vectors) != len(degree):
        raise InputError(f"there are {len(vectors)} vectors and {len(degree)} degrees: they must be of the same items")
    return Similarity("metric", SimilarityRows(vectors, mean_square).weights, degree, positive=False)


def soft_similarity(
    vectors: NDArray[np.float32],
    *,
    seed: int = 0,
    clusters: int | None = None,
    sigma: float | None = None,
    length: float | None = None,
) -> Similarity:
    """Return the correlation of soft assignments, clipped at 0; k at the elbow unless given, σ as in `soft_assignments`.

    `length` is the mean length of the vectors that σ was chosen for: a σ of raw features acts on prepared rows only if it is
    taken in their unit.

    The degree is exact up to 8,192 items; above, it is estimated from 2,048 random ones, because any Q > 0 leaves the estimate
    consistent. So it takes O(n k · 2,048), beside the time of the elbow.
    """
    rows = usable(vectors)
    items = vectors if rows.all() else vectors[rows]
    fit = kmeans_elbow(items, seed=seed).fit if clusters is None else kmeans(items, clusters, seed=seed)
    soft = np.full((len(vectors), len(fit.centres)), np.nan, np.float32)
    if sigma is not None and length is not None:
        sigma *= _mean_length(items) / length
    soft[rows] = soft_assignments(items, fit, sigma=sigma)
    degrees = np.full(len(vectors), np.nan)
    degrees[rows] = _degree(soft if rows.all() else soft[rows], seed)
    return Similarity("soft", SimilarityRows(soft).weights, degrees, positive=False)


def _mean_length(vectors: NDArray[np.float32]) -> float:
    """Return the mean length of the rows, block by block: 1 for prepared ones."""
    blocks = (vectors[start : start + BLOCK_ROWS] for start in range(0, len(vectors), BLOCK_ROWS))
    total = sum(float(np.sqrt(np.square(block, dtype=np.float64).sum(axis=1)).sum()) for block in blocks)
    return total / len(vectors)


def soft_assignments(vectors: NDArray[np.float32], fit: KMeansFit, *, sigma: float | None = None) -> NDArray[np.float32]:
    """Return the rows of equation 10, centred and of unit length: (n, k) float32, computed block by block.

    σ is the mean distance to the nearest centre unless given. (The paper set it by hand for each of its three encoders.)
    """
    if sigma is not None and not sigma > 0:
        raise InputError(f"sigma must be above 0, and is {sigma}")
    soft = np.empty((len(vectors), len(fit.centres)), np.float32)
    with one_thread():
        if sigma is None:
            near = [np.sqrt(block.min(axis=1)).sum() for _, block in squared_distances(vectors, fit.centres)]
            sigma = float(np.sum(near)) / len(vectors) or 1.0
        for rows, block in squared_distances(vectors, fit.centres):
            # A factor that is common to a row leaves its correlations as they are, and keeps far items from becoming all 0.
            block -= block.min(axis=1, keepdims=True)
            soft[rows] = prepare(np.exp(block / (-2.0 * sigma**2)).astype(np.float32), "correlation")
    return soft


def softmax_similarity(
    vectors: NDArray[np.float32], degree: NDArray[np.float64], *, tau: float = 0.5, mean_square: float | None = None
) -> Similarity:
    """Return the softmax over a row's similarities with temperature τ. Rows sum to 1: all degrees are equal, and Q is uniform."""
    if not tau >= SMALLEST_TAU:
        raise InputError(f"tau must be at least {SMALLEST_TAU}, and is {tau}")
    if len(vectors) != len(degree):
        raise InputError(f"there are {len(vectors)} vectors and {len(degree)} degrees: they must be of the same items")

    rows = _Softmax(SimilarityRows(vectors, mean_square), tau, len(vectors))
    return Similarity("softmax", rows.weights, np.where(np.isnan(degree), np.nan, 0.0), positive=True)


@dataclass(frozen=True, slots=True)
class _Softmax:
    rows: SimilarityRows
    tau: float
    items: int

    def weights(self, u: int, items: Items) -> NDArray[np.float64]:
        found = np.clip(np.nan_to_num(self.rows.raw(u, items), nan=-1.0), -1.0, 1.0).astype(np.float64)
        weights: NDArray[np.float64] = np.exp((found - 1.0) / self.tau)
        weights[own_places(u, items, self.items)] = 0.0
        return weights


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _add_clipped(
    rows: NDArray[np.float32], columns: NDArray[np.float32], own: NDArray[np.int64], sums: NDArray[np.int64]
) -> None:
    """Add the similarity of each row to the items of `columns` (k, m), without the column that is the row's own item."""
    dots = np.empty(columns.shape[1], np.float32)
    for row in range(rows.shape[0]):
        dots[:] = 0.0
        for dimension in range(rows.shape[1]):
            factor = rows[row, dimension]
            for column in range(columns.shape[1]):
                dots[column] += factor * columns[dimension, column]
        if own[row] >= 0:
            dots[own[row]] = 0.0
        for column in range(columns.shape[1]):
            sums[row] += np.int64(min(max(dots[column], np.float32(0.0)), np.float32(1.0)) * np.float32(_WHOLE))


def _degree(rows: NDArray[np.float32], seed: int) -> NDArray[np.float64]:
    """Return the sum of clipped similarity to all other rows, for more than 8,192 rows estimated from 2,048 of them."""
    items = len(rows)
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(2**31,))))
    chosen = np.arange(items) if items <= _EXACT else np.sort(random.permutation(items)[:_COLUMNS])
    sums = np.zeros(items, np.int64)
    for start in range(0, len(chosen), 128):
        mine = chosen[start : start + 128]
        own = np.full(items, -1, np.int64)
        own[mine] = np.arange(len(mine))
        columns = np.ascontiguousarray(rows[mine].T)
        for first in range(0, items, BLOCK_ROWS):
            stop = first + BLOCK_ROWS
            _add_clipped(np.ascontiguousarray(rows[first:stop]), columns, own[first:stop], sums[first:stop])
    others = len(chosen) - np.isin(np.arange(items), chosen)
    degrees: NDArray[np.float64] = sums / _WHOLE * ((items - 1) / np.maximum(others, 1))
    return degrees
