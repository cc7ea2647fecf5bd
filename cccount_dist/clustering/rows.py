"""Vectors that stay on disk: the rows of some items, and room for new ones, in files that have no name and go with the process.

What is small stays in memory. A memory map counts as the file's pages, which the kernel takes back when it needs them.
"""

import os
import tempfile
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.distance import LANES
from cccount_dist.room import gibibytes
from cccount_dist.similarity.memory import forget_pages
from storage.errors import StoreError
from storage.reading import reason

IN_MEMORY = 64 * 2**20  # bytes up to which an array is made in memory
BLOCK_NUMBERS = 2**21  # of a block of rows: 16 MiB in float64

Rows = NDArray[np.float32]


def room_for(rows: int, dimensions: int) -> Rows:
    """Return an array (rows, dimensions), not filled: in memory if it is small, otherwise in a file of the temporary folder."""
    needed = 4 * rows * dimensions
    if needed <= IN_MEMORY:
        return np.empty((rows, dimensions), np.float32)
    try:
        with tempfile.TemporaryFile(prefix="cccount-rows-") as file:  # the map keeps it
            if hasattr(os, "posix_fallocate"):  # a disk that becomes full behind a map would kill the process
                os.posix_fallocate(file.fileno(), 0, needed)
            return np.memmap(file, np.float32, "w+", shape=(rows, dimensions))
    except OSError as error:
        raise StoreError(
            f"there is no room for {gibibytes(needed)} of vectors in {tempfile.gettempdir()} ({reason(error)}): make room, or "
            "name another folder by the variable TMPDIR"
        ) from error


def row_blocks(vectors: Rows) -> Iterator[slice]:
    """Yield the rows of one block after the other, and give the pages of the one before back."""
    step = max(1, BLOCK_NUMBERS // max(1, vectors.shape[1]))
    for start in range(0, len(vectors), step):
        yield slice(start, min(start + step, len(vectors)))
        forget_pages(vectors)


def of_items(vectors: Rows, items: NDArray[np.int64]) -> Rows:
    """Return the rows of some items, in order, padded with zeros for `distance.py`: the given ones, if that is what they are.

    >>> of_items(np.ones((3, 2), np.float32), np.array([0, 2])).shape
    (2, 16)
    """
    dimensions = vectors.shape[1]
    width = dimensions + -dimensions % LANES
    if len(items) == len(vectors) and width == dimensions and vectors.flags.c_contiguous:
        return vectors
    found = room_for(len(items), width)
    for part in row_blocks(found):
        found[part, :dimensions] = vectors[items[part]]
        found[part, dimensions:] = 0.0
        forget_pages(vectors)
    return found
