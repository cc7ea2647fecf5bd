"""The numbers of a map of a collection, found without labels: principal components, and what mutual neighbours differ by.

A row is centred, turned into its K first principal components and made a unit row p; from these it becomes the unit row of
(p - centre) @ matrix, where the matrix makes what mutual near neighbours differ by count equally in all directions
(`similarity/whitening.py`). Neighbours are looked for twice: among the p, and once more in the space of the first matrix.
K and the shrinkage follow the number of items: too many directions harm a small collection (docs/evidence/embedding.md).
Time O(n d²) or O(n² d), whichever is less, for the components; the neighbours take O(n² K). Memory O(min(n, d) d).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from cccount_dist.embedding.projection import Projection, Whitening, centred_rows, unit_rows
from cccount_dist.embedding.shard import finite_rows
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.threads import one_thread
from cccount_dist.similarity.whitening import MUTUAL, SHRINK, mutual_share, whitening
from storage.errors import InputError

ROUNDS = 2
MOST_COMPONENTS = 192
FEWEST_ITEMS = 96  # below, `auto` makes no map
FEWEST_DIMENSIONS = 16
CHECKED = 4096  # items by which `auto` judges
_KEPT = 0.75  # of the share of mutual neighbours: where a map helped, 0.85 or more was kept; where it harmed (6 dimensions), half
_NO_VARIANCE = 1e-10  # of the mean square: what rounding leaves of equal rows
_NO_VARIANCE_OF_MOMENTS = 1e-5  # where their products were summed in float32
_SEED = 21


def components_for(items: int, dimensions: int) -> int:
    """Return K for so many items that have a vector.

    >>> [components_for(n, 2852) for n in (2, 48, 96, 192, 480, 100_000)]
    [1, 24, 48, 48, 96, 192]
    """
    return max(1, min(MOST_COMPONENTS, max(48, items // 5), items // 2, dimensions))


def shrinkage_for(items: int) -> float:
    """Return the share of the mean variance that is added in every direction: more where few pairs have to tell.

    >>> [round(shrinkage_for(n), 2) for n in (60, 480, 2000)]
    [1.0, 0.12, 0.1]
    """
    return max(SHRINK, 60 / items)


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, sum (d,) and sum of squares (d, d) of some rows, in float64."""

    count: int
    total: NDArray[np.float64]
    squares: NDArray[np.float64]


def moments_of(blocks: Iterable[NDArray[np.float32]]) -> Moments:
    """Return the moments of finite rows, block after block: the order of the sums is that of the blocks.

    A block's own products are sums of float32: half the time, and still five digits more than the map needs.
    """
    count, total, squares = 0, np.zeros(1), np.zeros((1, 1))
    with one_thread():
        for block in blocks:
            rows = block[finite_rows(block)]
            count += len(rows)
            total = total + rows.sum(axis=0, dtype=np.float64)
            squares = squares + rows.T @ rows
    return Moments(count, total, squares)


def components_of_moments(parts: Iterable[Moments], k: int) -> Projection | None:
    """Return mean and K principal components; None if all rows are equal. For more rows than dimensions."""
    count, total, squares = 0, np.zeros(1), np.zeros((1, 1))
    for part in parts:
        count, total, squares = count + part.count, total + part.total, squares + part.squares
    mean = total / count
    squares /= count
    size = float(np.trace(squares))
    squares -= np.outer(mean, mean)
    if float(np.trace(squares)) <= _NO_VARIANCE_OF_MOMENTS * size:
        return None
    return _projection(mean, _largest(squares, k)[1])


def components_of_rows(rows: NDArray[np.float32], k: int) -> Projection | None:
    """Return the same for a few finite rows (n, d) of many dimensions, through the (n, n) matrix of their products."""
    mean = rows.mean(axis=0, dtype=np.float64)
    centred = rows.astype(np.float64) - mean
    if float(np.square(centred).sum()) <= _NO_VARIANCE * float(np.square(rows, dtype=np.float64).sum()):
        return None
    with one_thread():
        sizes, weights = _largest(centred @ centred.T, min(k, len(rows)))
        directions = (centred.T @ weights) / np.sqrt(np.maximum(sizes, np.finfo(float).tiny))
    kept = sizes > _NO_VARIANCE * sizes[0]  # rows that repeat others span fewer directions
    return _projection(mean, directions[:, kept])


def _largest(matrix: NDArray[np.float64], k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the k largest eigenvalues and their vectors, the largest first."""
    size = len(matrix)
    with one_thread():
        values, vectors = scipy.linalg.eigh(matrix, subset_by_index=(max(size - k, 0), size - 1), overwrite_a=True)
    return values[::-1], vectors[:, ::-1]


def _projection(mean: NDArray[np.float64], directions: NDArray[np.float64]) -> Projection:
    # A direction has no sign of its own: let its largest part be positive, whatever the LAPACK.
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])])
    return Projection(mean.astype(np.float32), np.ascontiguousarray(directions * signs, np.float32), {})


def whiten(rows: NDArray[np.float32], neighbors: NDArray[np.int32]) -> Whitening:
    """Return the map of unit components (n, K) that their neighbours (n, k) give."""
    good = finite_rows(rows)
    matrix = whitening(rows, neighbors, shrinkage_for(max(1, int(good.sum()))))
    centre = rows[good].mean(axis=0, dtype=np.float64)
    if matrix is None:
        matrix = np.eye(rows.shape[1])
    return Whitening(centre.astype(np.float32), np.ascontiguousarray(matrix, np.float32))


@dataclass(frozen=True, slots=True)
class Judged:
    """How many of the near neighbours are mutual, among items that the map was not fitted to, and what follows."""

    before: float
    after: float

    @property
    def helps(self) -> bool:
        return self.after >= _KEPT * self.before


def judge(rows: NDArray[np.float32]) -> Judged | None:
    """Fit a map to a random half of some unit components and look at the other half; None if there are too few to tell.

    Pairs that a map was fitted to are always nearer to each other afterwards: only others can say whether it helps. Without
    labels nobody can tell pose from person; what can be seen is whether neighbourhoods hold together or fall apart.
    """
    good = rows[finite_rows(rows)]
    order = np.random.default_rng(_SEED).permutation(len(good))[:CHECKED]
    half = len(order) // 2
    if half <= MUTUAL:
        return None
    fitted, others = good[np.sort(order[:half])], good[np.sort(order[half:])]
    white = whiten(fitted, neighbors_in_memory(fitted, MUTUAL).index)
    before, after = (mutual_share(neighbors_in_memory(one, MUTUAL).index) for one in (others, white.apply(others)))
    return Judged(before, after)


def fit_in_memory(vectors: NDArray[np.float32]) -> tuple[Projection, Judged | None] | None:
    """Return the map of finite rows (n, d) and what speaks for it; None if they are equal. What the stage does on a cluster."""
    items, dimensions = vectors.shape
    k = components_for(items, dimensions)
    if items <= dimensions:
        found = components_of_rows(vectors, k)
    else:
        found = components_of_moments([moments_of(vectors[start : start + 1024] for start in range(0, items, 1024))], k)
    if found is None:
        return None
    rows = unit_rows(centred_rows(vectors, found.mean, found.basis))
    space, white = rows, None
    for _ in range(ROUNDS if items > 2 else 0):
        white = whiten(rows, neighbors_in_memory(space, min(MUTUAL, items - 1)).index)
        space = white.apply(rows)
    return Projection(found.mean, found.basis, {}, white), judge(rows)


def mapped(vectors: NDArray[np.float32], wanted: str) -> NDArray[np.float32]:
    """Return the vectors through their own map, for collections in memory; as they are where `auto` finds that it does not help.

    >>> mapped(np.eye(4, dtype=np.float32), "auto").shape  # too few to tell
    (4, 4)
    """
    if check_map(wanted) == "none" or len(vectors) < FEWEST_ITEMS or vectors.shape[1] < FEWEST_DIMENSIONS:
        return vectors
    found = fit_in_memory(vectors)
    if found is None or found[1] is None or not found[1].helps:
        return vectors
    return found[0].apply(vectors)


def check_map(wanted: str) -> str:
    """Return `auto` or `none`."""
    if wanted not in ("auto", "none"):
        raise InputError(f"there is no map {wanted!r}: use auto or none")
    return wanted


__all__ = [
    "Judged", "Moments", "check_map", "components_for", "components_of_moments", "components_of_rows", "fit_in_memory", "judge",
    "mapped", "moments_of", "shrinkage_for", "whiten",
]  # fmt: skip
