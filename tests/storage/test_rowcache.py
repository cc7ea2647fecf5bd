"""The row cache: equal to the array, never stale, built once however many want it, whole or not at all."""

import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from storage.arrays import ShardedArray
from storage.errors import InputError, StoreError, WorkspaceError
from storage.objects import LocalObjects
from storage.rowcache import row_cache
from storage.schema import EMBEDDINGS, NEIGHBOR_INDEX
from tests.storage.faults import as_somebody_else, at_once, cut, forbidden, killed_when, small_disk
from tests.storage.smallarray import DIMENSIONS, ITEMS, made, vectors, write_all


@pytest.fixture
def array(tmp_path: Path) -> ShardedArray:
    found = made(LocalObjects(tmp_path / "ws"))
    write_all(found, vectors())
    return found


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith(".lock-"))


def test_the_cache_is_a_read_only_map_equal_to_the_array(array: ShardedArray, tmp_path: Path) -> None:
    rows = row_cache(array, tmp_path / "a" / "cache")
    assert isinstance(rows, np.memmap)
    assert rows.dtype == np.float32
    assert rows.tobytes() == vectors().tobytes()
    with pytest.raises(ValueError, match="read-only"):
        rows[0] = 0


def test_prepare_is_applied_to_every_row_and_progress_is_told(array: ShardedArray, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    rows = row_cache(array, tmp_path / "cache", "doubled", lambda x: 2 * x, lambda done, total: told.append((done, total)))
    np.testing.assert_array_equal(rows, 2 * vectors())
    assert told == [(256, ITEMS), (512, ITEMS), (768, ITEMS), (ITEMS, ITEMS)]


def test_an_array_of_item_numbers_is_cached_as_such(tmp_path: Path) -> None:
    index = ShardedArray.create(LocalObjects(tmp_path), NEIGHBOR_INDEX, (300, 2), attributes={})
    values = np.arange(600, dtype=np.int32).reshape(300, 2)
    index.write_shard(0, values[:256])
    index.write_shard(1, values[256:])
    rows = row_cache(index, tmp_path / "cache", "index")
    assert rows.dtype == np.int32
    np.testing.assert_array_equal(rows, values)


def test_a_cache_that_is_there_is_not_built_again(array: ShardedArray, tmp_path: Path) -> None:
    def fail(_: NDArray[np.float32]) -> NDArray[np.float32]:
        raise AssertionError

    row_cache(array, tmp_path / "cache")
    row_cache(array, tmp_path / "cache", prepare=fail)


def test_a_changed_array_gets_a_new_cache_and_the_old_one_goes(array: ShardedArray, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    before = row_cache(array, cache)
    row_cache(array, cache, "raw-other")
    row_cache(array, cache, "other")
    changed = made(LocalObjects(tmp_path / "ws"), encoder="new")
    write_all(changed, vectors(seed=1))
    after = row_cache(changed, cache)
    assert after.tobytes() == vectors(seed=1).tobytes()
    assert before.tobytes() == vectors().tobytes()  # whoever has the old one mapped keeps it
    assert [name.rpartition("-")[0] for name in files(cache)] == ["other", "raw", "raw-other"]


@pytest.mark.parametrize("size", [0, 50, 1000])
def test_a_cache_that_was_cut_is_built_again(array: ShardedArray, tmp_path: Path, size: int) -> None:
    row_cache(array, tmp_path / "cache")
    (name,) = files(tmp_path / "cache")
    cut(tmp_path / "cache" / name, size)
    assert row_cache(array, tmp_path / "cache").tobytes() == vectors().tobytes()


def _cached(location: str, cache: str) -> tuple[bytes, int]:
    built: list[int] = []

    def prepare(rows: NDArray[np.float32]) -> NDArray[np.float32]:
        built.append(len(rows))
        time.sleep(0.01)
        return rows

    rows = row_cache(ShardedArray.open(LocalObjects(Path(location)), EMBEDDINGS), Path(cache), prepare=prepare)
    return rows.tobytes(), sum(built)


def test_of_processes_that_want_it_at_once_one_builds_it(array: ShardedArray, tmp_path: Path) -> None:
    results = at_once(_cached, [(str(tmp_path / "ws"), str(tmp_path / "cache"))] * 4)
    assert {name for name, _ in results} == {"ok"}, results
    outcomes = [value for _, value in results if isinstance(value, tuple)]
    assert {rows for rows, _ in outcomes} == {vectors().tobytes()}
    assert sorted(built for _, built in outcomes) == [0, 0, 0, ITEMS]


def _stuck_in_the_middle(location: str, cache: str) -> None:
    def stuck(done: int, total: int) -> None:
        if done >= total // 2:
            time.sleep(60)

    row_cache(ShardedArray.open(LocalObjects(Path(location)), EMBEDDINGS), Path(cache), progress=stuck)


def test_a_builder_that_is_killed_leaves_nothing_that_is_read(array: ShardedArray, tmp_path: Path) -> None:
    cache = tmp_path / "cache"

    def half_built() -> bool:
        return any(path.stat().st_size > 4096 for path in cache.glob(".tmp-*"))

    killed_when(half_built, _stuck_in_the_middle, str(tmp_path / "ws"), str(cache))
    assert list(cache.glob(".tmp-*"))
    assert not list(cache.glob("*.npy"))
    assert row_cache(array, cache).tobytes() == vectors().tobytes()
    assert len(files(cache)) == 1


def test_an_incomplete_array_is_not_cached(tmp_path: Path) -> None:
    array = made(LocalObjects(tmp_path))
    array.write_shard(0, vectors()[:256])
    with pytest.raises(WorkspaceError, match="3 of 4 shards are not done"):
        row_cache(array, tmp_path / "cache")


def test_a_full_disk_is_one_clear_line_and_leaves_nothing(array: ShardedArray, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "8k") as disk:
        with pytest.raises(StoreError, match=r"raw-.*npy: the disk is full") as caught:
            row_cache(array, disk)
        assert "\n" not in str(caught.value)
        assert files(disk) == []


def test_a_folder_without_permission_is_one_clear_line(array: ShardedArray, tmp_path: Path) -> None:
    with forbidden(tmp_path / "theirs") as folder:
        name, message = as_somebody_else(_cached, str(tmp_path / "ws"), str(folder / "cache"))
    assert (name, "no permission" in str(message)) == ("StoreError", True)


def test_a_prepare_that_loses_rows_is_refused_and_leaves_nothing(array: ShardedArray, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"prepare made float32 \(255, 4\) of 256 rows"):
        row_cache(array, tmp_path / "cache", prepare=lambda rows: rows[1:])
    assert files(tmp_path / "cache") == []


def test_an_error_of_the_callers_progress_is_not_blamed_on_the_disk(array: ShardedArray, tmp_path: Path) -> None:
    def hung_up(done: int, total: int) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        row_cache(array, tmp_path / "cache", progress=hung_up)
    assert files(tmp_path / "cache") == []


@pytest.mark.parametrize("name", ["", "a/b", "Raw", "../x"])
def test_a_name_that_is_no_file_name_is_refused(array: ShardedArray, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot name a row cache"):
        row_cache(array, tmp_path, name)


def test_random_rows_cost_microseconds(array: ShardedArray, tmp_path: Path) -> None:
    rows = row_cache(array, tmp_path / "cache")
    picked = np.random.default_rng(0).integers(0, ITEMS, 64)
    best = min(_seconds(lambda: rows[picked].sum()) for _ in range(20))
    from_zarr = min(_seconds(lambda: [array.read(int(item), int(item) + 1) for item in picked]) for _ in range(2))
    assert rows.shape == (ITEMS, DIMENSIONS)
    assert best * 20 < from_zarr


def _seconds(work: object) -> float:
    assert callable(work)
    before = time.perf_counter()
    work()
    return time.perf_counter() - before
