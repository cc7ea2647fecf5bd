"""Memory of a task: projected before it runs, measured after it has, and pages of the row cache given back in between."""

import mmap
import resource
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cccount_dist.similarity.coarse import SAMPLES, centres_for
from cccount_dist.similarity.grid import Grid
from cccount_dist.similarity.kernel import SQUARE
from cccount_dist.similarity.lists import capacity

PROCESS_BYTES = 320 * 2**20  # interpreter, libraries and compiled kernels of a Dask worker, measured
_SHARD_ROWS = 16_384  # largest shard of embeddings, read whole to build the row cache


def projected_bytes(grid: Grid, dimensions: int, k: int) -> int:
    """Return an upper limit of what one task of the exact pass needs beyond the process itself, whatever n is.

    >>> round(projected_bytes(Grid(100_000, 8192), 512, 50) / 2**20)
    128
    """
    rows = grid.tile_rows
    blocks = 2 * 3 * rows * (dimensions + 4) * 4  # two blocks; a packed copy, and two more for Euclidean
    lists = 2 * rows * (capacity(k) * 8 + 32) + rows * k * 16
    scores = 2 * SQUARE * SQUARE * 4
    reading = min(_SHARD_ROWS, max(grid.items // 16, 256)) * dimensions * 4 * 3
    return max(blocks + lists + scores, reading)


def projected_approximate_bytes(items: int, grid: Grid, dimensions: int, k: int, probes: int) -> int:
    """Return an upper limit of what one task of the approximate engine needs beyond the process itself."""
    rows, wide = grid.tile_rows, dimensions + 4
    learning = 3 * SAMPLES * centres_for(items) * wide * 4 + 3 * wide * wide * 8
    sorting = items * (2 * probes * 4 + 16)
    searching = rows * (6 * wide * 4 + capacity(k) * 8 + k * 24) + items * 8
    collecting = items * k * 10
    return max(learning, sorting, searching, collecting)


def forget_pages(rows: NDArray[Any]) -> None:
    """Let the kernel take back pages of a memory map: they stay in its cache, and no longer count as this process's memory."""
    mapped = getattr(rows, "_mmap", None)
    if isinstance(mapped, mmap.mmap):
        mapped.madvise(mmap.MADV_DONTNEED)


def peak_bytes() -> int:
    """Return the largest resident size that this process has had."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    # Elsewhere; on Linux this would count what the process inherited from its parent, too.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
