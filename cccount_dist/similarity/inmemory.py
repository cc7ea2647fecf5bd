"""The exact pass for a collection in memory, on one core: the same kernels as on the cluster, without files.

Time O(n² d / 2); memory: the vectors twice and 8 · capacity(k) bytes for an item.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.blocks import Scores, make_block, scores_of
from cccount_dist.similarity.finish import finish
from cccount_dist.similarity.grid import Grid, grid_for
from cccount_dist.similarity.kernel import scan_diagonal, scan_tile
from cccount_dist.similarity.lists import Lists, capacity, cut_all, new_lists
from cccount_dist.similarity.metrics import Metric, euclidean_scale, prepare, usable
from storage.errors import InputError

_LARGE, _ROWS = 32 * 2**20, 4096


@dataclass(frozen=True, slots=True)
class Neighbors:
    """What `cccount neighbors` writes: index (n, k), similarity (n, k), degree (n,)."""

    index: NDArray[np.int32]
    similarity: NDArray[np.float32]
    degree: NDArray[np.float64]


def too_few(count: int, k: int) -> str:
    """Return why k neighbours cannot be had among so many items with a vector."""
    if count < 2:
        return f"{count} item(s) of the collection have a vector: neighbours need at least 2"
    return f"k = {k} is too large: {count:,} items have a vector, so the largest k that works is {count - 1}"


def neighbors_in_memory(x: NDArray[np.float32], k: int, metric: Metric = "cosine", *, tile_rows: int | None = None) -> Neighbors:
    """Return the k nearest other items of every row of x (n, d), and its degree.

    >>> x = np.array([[1, 0], [0, 1], [1, 0.1]], np.float32)
    >>> neighbors_in_memory(x, 1).index.ravel().tolist()
    [2, 2, 0]
    """
    if (count := int(usable(x).sum())) <= k:
        raise InputError(too_few(count, k))
    meaning = scores_of(metric, x.shape[1], euclidean_scale(lambda: _blocks(x)) if metric == "euclidean" else None)
    grid = grid_for(len(x), 8 * capacity(k)) if tile_rows is None else Grid(len(x), tile_rows)
    return run_pass(prepare(x, metric), k, meaning, grid)


def _blocks(x: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    """Yield all rows of a small collection at once, of a large one some thousand: float64 copies are made of each."""
    step = len(x) if x.nbytes <= _LARGE else _ROWS
    for start in range(0, len(x), step):
        yield x[start : start + step]


def run_pass(vectors: NDArray[np.float32], k: int, meaning: Scores, grid: Grid) -> Neighbors:
    """Return neighbours and degrees of prepared vectors."""
    ranges, lists = scan_all(vectors, k, meaning, grid)
    n = len(vectors)
    found = Neighbors(np.empty((n, k), np.int32), np.empty((n, k), np.float32), np.empty(n))
    for (start, stop), mine in zip(ranges, lists, strict=True):
        cut_all(mine, k, meaning.slope)
        found.index[start:stop], found.similarity[start:stop] = finish(vectors, np.arange(start, stop), mine, k, meaning)
        found.degree[start:stop] = np.where(mine.usable, mine.degree, np.nan)[: stop - start]
    return found


def scan_all(vectors: NDArray[np.float32], k: int, meaning: Scores, grid: Grid) -> tuple[list[tuple[int, int]], list[Lists]]:
    """Return the items of every block, and its candidates and degrees after all pairs."""
    ranges = [grid.rows(number) for number in range(grid.blocks)]
    blocks = [make_block(vectors[start:stop], grid.tile_rows, meaning) for start, stop in ranges]
    lists = [new_lists(block.usable, block.margin, k) for block in blocks]
    for stage in range(grid.stages):
        for i, j in ((tile.first, tile.second) for tile in grid.stage(stage)):
            if i == j:
                scan_diagonal(blocks[i], lists[i], ranges[i], k, meaning)
            else:
                scan_tile(blocks[i], blocks[j], (lists[i], lists[j]), (ranges[i], ranges[j]), k, meaning)
    return ranges, lists
