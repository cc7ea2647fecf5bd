"""The similarity store: all similarities of a collection that is small enough for it, as tiles of float16.

One shard is one tile of the grid, in the row-by-row order of the upper triangle: (T, T) values of block `first` with block
`second`; diagonal tiles are symmetric. 2 bytes for a pair, n² bytes in all. Nothing depends on it. A row of similarities
reads one strip of the tiles beside it and the whole of those above it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.grid import Grid, Tile
from storage.arrays import ShardedArray
from storage.schema import SIMILARITY
from storage.workspace import Workspace


def store_shape(grid: Grid) -> tuple[int, int]:
    return grid.tiles * grid.tile_rows, grid.tile_rows


def store_bytes(grid: Grid) -> int:
    """Return the size of the store on disk.

    >>> store_bytes(Grid(50_000, 8192)) / 1e9
    3.758096384
    """
    rows, columns = store_shape(grid)
    return rows * columns * 2


def write_tile(array: ShardedArray, grid: Grid, tile: Tile, similarity: NDArray[np.float16]) -> None:
    """Write one tile; of a diagonal one the upper triangle is enough. Places without a pair are NaN."""
    rows, columns = (stop - start for start, stop in (grid.rows(tile.first), grid.rows(tile.second)))
    if tile.first == tile.second:
        for start in range(0, len(similarity), 256):  # strip by strip: a whole transposed tile would double the memory
            strip = slice(start, start + 256)
            similarity[strip, :start] = similarity[:start, strip].T
            square = similarity[strip, strip]
            lower = np.tril_indices(len(square), -1)
            square[lower] = square.T[lower]
    similarity[rows:] = np.nan
    similarity[:, columns:] = np.nan
    array.write_shard(grid.number(tile), similarity)


@dataclass(frozen=True, slots=True)
class SimilarityStore:
    """Read access to similarity.zarr."""

    array: ShardedArray
    grid: Grid

    @classmethod
    def open(cls, workspace: Workspace) -> "SimilarityStore":
        """Open the store; `WorkspaceError` if `cccount neighbors --store-similarity` has not made it, or not finished it."""
        array = workspace.array(SIMILARITY)
        array.require_complete()
        return cls(array, Grid(int(str(array.attributes["items"])), array.shape[1]))

    def block(self, first: int, second: int) -> NDArray[np.float16]:
        """Return the similarities of two blocks of the grid: (items of first, items of second)."""
        low, high = sorted((first, second))
        start = self.grid.number(Tile(0, low, high)) * self.grid.tile_rows
        (a, b), (c, d) = self.grid.rows(low), self.grid.rows(high)
        tile: NDArray[np.float16] = self.array.read(start, start + b - a)[:, : d - c]
        return tile if first <= second else tile.T

    def row(self, item: int) -> NDArray[np.float16]:
        """Return the similarities of one item to all items; NaN to those without a vector."""
        own, place = divmod(item, self.grid.tile_rows)
        pieces = []
        for other in range(self.grid.blocks):
            if other < own:
                pieces.append(self.block(other, own)[:, place])
            else:
                start = self.grid.number(Tile(0, own, other)) * self.grid.tile_rows + place
                columns = self.grid.rows(other)[1] - self.grid.rows(other)[0]
                pieces.append(self.array.read(start, start + 1)[0, :columns])
        return np.concatenate(pieces)
