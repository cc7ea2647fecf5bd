"""Several files of vectors of the same items, read as one: each scaled as `similarity/views.py` says, and put beside the others.

Streamed like a single file: one pass for the rows that all have, one for the means and deviations of the columns, one for every
copy. Memory: a block of each.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.readers.vectors import Vectors, open_vectors, rebatched
from cccount_dist.similarity.views import columns_of, joined, usable
from storage.errors import InputError

_ROWS = 4096
Block = NDArray[np.float32]


def open_views(paths: Sequence[Path], label: str | None = None) -> Vectors:
    """Open one or several files of given vectors. Ids, labels and paths come from the first file that has them."""
    views = [open_vectors(paths[0], label), *(open_vectors(path) for path in paths[1:])]
    if len(views) == 1:
        return views[0]
    for path, view in zip(paths, views, strict=True):
        if view.items != views[0].items:
            raise InputError(f"{path} has {view.items:,} vectors and {paths[0]} {views[0].items:,}: all need one for each item")
    good = np.concatenate([usable(side) for side in _side_by_side(views)])
    columns = [columns_of(_rows(view, good)) for view in views]
    names = {name: column for view in reversed(views) for name, column in view.columns.items()}
    dimensions = sum(view.dimensions for view in views)
    return Vectors(views[0].items, dimensions, lambda: (joined(side, columns) for side in _side_by_side(views)), names)


def _side_by_side(views: Sequence[Vectors]) -> Iterator[list[Block]]:
    """Yield blocks of the same rows of all views."""
    for together in zip(*(rebatched(view.blocks(), _ROWS) for view in views), strict=True):
        yield list(together)


def _rows(view: Vectors, good: NDArray[np.bool_]) -> Iterator[Block]:
    start = 0
    for block in view.blocks():
        yield block[good[start : start + len(block)]]
        start += len(block)
