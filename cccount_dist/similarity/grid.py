"""How the matrix of all pairs is cut: blocks of items, tiles of two blocks, and stages of tiles.

Tiles of one stage can run in any order and on any worker. A stage begins when the one before it is merged, because by then the
thresholds of its items are better: after w of G waves an item has seen 2w + 1 blocks, and a new block holds k / (2w + 1) of its
candidates. Stages grow threefold, so partial results stay at a few times the final size, whatever n is.
"""

from collections.abc import Iterator
from dataclasses import dataclass

_LARGEST = 8192  # a tile takes 0.3 s at d = 128 and 1 s at d = 512: 50 tasks' overhead, and small partial results to lose
_SMALLEST = 256  # one zarr chunk of the arrays that are written block by block
_LIST_BYTES = 2**28  # candidates of one side of a tile


@dataclass(frozen=True, slots=True)
class Tile:
    """The pairs of block `first` with block `second` >= `first`."""

    stage: int
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Grid:
    """Blocks of `tile_rows` items; the last one may be shorter."""

    items: int
    tile_rows: int

    @property
    def blocks(self) -> int:
        return -(-self.items // self.tile_rows)

    @property
    def tiles(self) -> int:
        return self.blocks * (self.blocks + 1) // 2

    @property
    def stages(self) -> int:
        return stage_of(self.blocks // 2) + 1

    def rows(self, block: int) -> tuple[int, int]:
        """Return the first item of a block and the one after its last."""
        return block * self.tile_rows, min((block + 1) * self.tile_rows, self.items)

    def stage(self, number: int) -> list[Tile]:
        """Return the tiles of one stage; large ones first, so that the workers come to the end together."""
        tiles = [tile for tile in self._all() if tile.stage == number]
        return sorted(tiles, key=lambda tile: (-self._pairs(tile), self._wave(tile.first, tile.second), tile.first))

    def number(self, tile: Tile) -> int:
        """Return the place of a tile in the row-by-row order of the upper triangle: the shard of the similarity store."""
        return tile.first * self.blocks - tile.first * (tile.first - 1) // 2 + tile.second - tile.first

    def _all(self) -> Iterator[Tile]:
        for first in range(self.blocks):
            for second in range(first, self.blocks):
                yield Tile(stage_of(self._wave(first, second)), first, second)

    def _pairs(self, tile: Tile) -> int:
        (a, b), (c, d) = self.rows(tile.first), self.rows(tile.second)
        return (b - a) * (d - c)

    def _wave(self, first: int, second: int) -> int:
        # Around the circle, so that each wave gives every block one tile as rows and one as columns.
        return min(second - first, self.blocks - second + first)


def stage_of(wave: int) -> int:
    """Return the stage of a wave: 0, then 1 to 3, 4 to 12, 13 to 39, …

    >>> [stage_of(wave) for wave in (0, 1, 3, 4, 12, 13, 39, 40)]
    [0, 1, 1, 2, 2, 3, 3, 4]
    """
    stage = 0
    last = 0
    while wave > last:
        stage += 1
        last = 3 * last + 3
    return stage


def grid_for(items: int, list_bytes: int) -> Grid:
    """Return the grid for so many items whose candidate lists take `list_bytes` each.

    It depends on nothing else: the number of workers and their memory never change a byte of the result. Small collections
    are cut into about eight blocks, so that there is something to share out.

    >>> grid_for(50_000, 1024), grid_for(1_797, 1024)
    (Grid(items=50000, tile_rows=8192), Grid(items=1797, tile_rows=256))
    """
    rows = _SMALLEST
    while rows < min(items / 8, _LARGEST) and 2 * rows * list_bytes <= _LIST_BYTES:
        rows *= 2
    return Grid(items, rows)
