"""Vectors that stay on disk: the same rows, in files without a name, and the same numbers whatever the blocks."""

import errno
from pathlib import Path

import numpy as np
import pytest

from cccount_dist.clustering import rows
from cccount_dist.clustering.evidence import micro
from cccount_dist.clustering.evidence.micro import make_micro
from cccount_dist.clustering.hacc.forest import WholeNumbers, whole_numbers
from cccount_dist.clustering.hacc.units import central_items
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import prepare
from storage.errors import StoreError

RANDOM = np.random.default_rng(2)
VECTORS = prepare(RANDOM.normal(size=(400, 20)).astype(np.float32), "cosine")


def test_what_is_large_lies_in_a_file_that_goes_with_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert not isinstance(rows.room_for(10, 16), np.memmap)
    monkeypatch.setattr(rows, "IN_MEMORY", 1000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    large = rows.room_for(100, 16)
    assert isinstance(large, np.memmap)
    large[:] = 3.0
    assert list(tmp_path.iterdir()) == []
    assert float(large.sum()) == 4800.0


def test_a_full_disk_is_said_before_it_is_written_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(StoreError, match=r"no room for 0.1 GiB of vectors in .* \(No space left on device\): make room, or name"):
        rows.room_for(2**20, 32)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("limit", [1000, 2**26])
def test_rows_of_items_are_padded_copies_or_the_given_ones(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "IN_MEMORY", limit)
    monkeypatch.setattr(rows, "BLOCK_NUMBERS", 100)
    items = np.array([3, 5, 399])
    found = rows.of_items(VECTORS, items)
    np.testing.assert_array_equal(found[:, :20], VECTORS[items])
    assert found.shape == (3, 32)
    assert not found[:, 20:].any()
    whole = np.ascontiguousarray(np.pad(VECTORS, ((0, 0), (0, 12))))
    assert rows.of_items(whole, np.arange(400)) is whole
    np.testing.assert_array_equal(rows.of_items(whole, items), whole[items])


def central_the_slow_way(vectors: np.ndarray, of_item: np.ndarray, units: int) -> list[int]:
    """Whole numbers of all rows at once, in integers of any size: |x|² size - 2 x · total orders as the distance to the mean."""
    whole = [[int(x) for x in row] for row in whole_numbers(vectors, 20)]
    found = []
    for unit in range(units):
        mine = [i for i, one in enumerate(of_item.tolist()) if one == unit]
        total = [sum(whole[i][k] for i in mine) for k in range(vectors.shape[1])]
        away = {i: sum(x * (x * len(mine) - 2 * t) for x, t in zip(whole[i], total, strict=True)) for i in mine}
        found.append(min(mine, key=lambda i: (away[i], i)))
    return found


@pytest.mark.parametrize("numbers", [60, 2**21])
def test_central_items_are_the_same_in_blocks_of_any_size(numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    of_item = RANDOM.integers(0, 7, 400).astype(np.int32)
    expected = central_the_slow_way(VECTORS, of_item, 7)
    monkeypatch.setattr(rows, "BLOCK_NUMBERS", numbers)
    assert central_items(VECTORS, of_item, 7).tolist() == expected
    assert WholeNumbers.of(np.zeros((4, 3), np.float32), 20).rows(np.zeros((4, 3), np.float32)).tolist() == [[0.0] * 3] * 4
    assert not whole_numbers(np.ones((4, 3), np.float32), 20).any()


def test_micro_clusters_of_a_memory_map_are_those_of_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    index = neighbors_in_memory(VECTORS, 20).index
    index[7] = -1  # an item without a vector
    expected = make_micro(VECTORS, index)[1]
    np.save(tmp_path / "x.npy", VECTORS)
    monkeypatch.setattr(rows, "IN_MEMORY", 1000)
    monkeypatch.setattr(micro, "_LISTS", 30)
    found = make_micro(np.load(tmp_path / "x.npy", mmap_mode="r"), index)[1]
    for name in ("label", "total", "members", "link", "glued", "far", "unit"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
