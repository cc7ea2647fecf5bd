"""Blocks, tiles and stages: every pair once, and files of partial results that are whole or not there."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cccount_dist.similarity.grid import Grid, grid_for
from cccount_dist.similarity.partial import is_sound, read_arrays, write_arrays
from storage.errors import CorruptionError


@given(st.integers(1, 5000), st.sampled_from([256, 512, 1024]))
def test_every_pair_of_blocks_is_in_exactly_one_stage(items: int, tile_rows: int) -> None:
    grid = Grid(items, tile_rows)
    tiles = [(tile.first, tile.second) for stage in range(grid.stages) for tile in grid.stage(stage)]
    wanted = [(i, j) for i in range(grid.blocks) for j in range(i, grid.blocks)]
    assert sorted(tiles) == wanted
    assert len(tiles) == grid.tiles
    numbers = [grid.number(tile) for stage in range(grid.stages) for tile in grid.stage(stage)]
    assert sorted(numbers) == list(range(grid.tiles))
    assert grid.rows(grid.blocks - 1)[1] == items
    assert all(tile.first == tile.second for tile in grid.stage(0))


def test_the_grid_depends_on_the_number_of_items_and_the_length_of_lists_only() -> None:
    assert [grid_for(n, 1024).tile_rows for n in (1, 300, 3000, 20_000, 100_000, 10**6)] == [256, 256, 512, 4096, 8192, 8192]
    assert grid_for(10**6, 2**17).tile_rows == 2048
    assert Grid(10**6, 8192).stages == 5


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    given = [np.arange(7.0), np.zeros((3, 0), np.int32), np.eye(3, dtype=np.float32), np.array([True, False])]
    write_arrays(tmp_path / "a", *given)
    for array, back in zip(given, read_arrays(tmp_path / "a"), strict=True):
        assert back.dtype == array.dtype
        assert np.array_equal(back, array)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "longer"])
def test_a_damaged_file_is_found_out_and_removed(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "a"
    write_arrays(path, np.arange(100), np.ones(3, np.float32))
    assert is_sound(path)
    data = bytearray(path.read_bytes())
    for place in range(0, len(data), 37):
        broken = bytearray(data)
        broken[place] ^= 4
        path.write_bytes(bytes({"flip": broken, "cut": data[:place], "empty": b"", "longer": data + b"x"}[damage]))
        with pytest.raises(CorruptionError, match="run the same command again"):
            read_arrays(path)
        assert not is_sound(path)
        assert not path.exists()
