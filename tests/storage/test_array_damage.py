"""Every kind of damage to a sharded array is noticed and named with its repair; none is ever read as data."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.arrays import ShardedArray, array_problems
from storage.errors import ConflictError, CorruptionError, StoreError, WorkspaceError
from storage.objects import LocalObjects
from storage.schema import EMBEDDINGS, NEIGHBOR_INDEX, ArraySpec
from tests.storage.faults import cut, fill_up, flip, small_disk
from tests.storage.smallarray import DIMENSIONS, ITEMS, SHARD_ROWS, made, vectors, write_all

# What is not done is not read


def test_an_array_that_no_stage_has_made_says_what_to_run(objects: LocalObjects) -> None:
    assert not ShardedArray.exists(objects, NEIGHBOR_INDEX)
    assert list(array_problems(objects, NEIGHBOR_INDEX)) == []
    with pytest.raises(WorkspaceError, match=r"has no neighbors.zarr/index: run `cccount neighbors` first"):
        ShardedArray.open(objects, NEIGHBOR_INDEX)


def test_rows_of_shards_that_are_not_done_are_never_read(objects: LocalObjects) -> None:
    array = made(objects)
    array.write_shard(2, vectors()[512:768])
    assert (array.done(), array.missing()) == ([2], [0, 1, 3])
    assert array.read(600, 700).tobytes() == vectors()[600:700].tobytes()
    for start, stop in ((0, 1), (500, 520), (767, 769)):
        with pytest.raises(WorkspaceError, match=r"1 of 4 shards are not done .*run `cccount embed` again"):
            array.read(start, stop)
    with pytest.raises(WorkspaceError, match=r"3 of 4 shards are not done \(0, 1, 3\)"):
        array.require_complete()
    with pytest.raises(WorkspaceError):
        array.fingerprint()
    assert list(array.problems()) == []


# Damage

SHARD, MARKER = "embeddings.zarr/c/1/0", "markers/embeddings/000001.json"


def _swapped_for_another_shard(path: Path) -> None:
    shutil.copy(path.parents[1] / "2" / "0", path)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: flip(path, 100), "cannot be decoded"),
        (lambda path: flip(path, -3), "cannot be decoded"),
        (lambda path: cut(path, 100), "has 100 bytes instead of"),
        (lambda path: cut(path, 0), "has 0 bytes instead of"),
        (Path.unlink, "its file is missing"),
        (_swapped_for_another_shard, "its rows are not those"),
    ],
    ids=["flipped byte", "flipped byte in the index", "cut", "empty", "deleted", "another shard's"],
)
def test_a_damaged_shard_is_named_with_its_repair_and_the_repair_works(
    complete: ShardedArray, objects: LocalObjects, damage: Callable[[Path], None], reason: str
) -> None:
    damage(objects.path(SHARD))
    with pytest.raises(CorruptionError) as caught:
        ShardedArray.open(objects, EMBEDDINGS).read()
    (problem,) = complete.problems()
    assert str(caught.value) == str(problem)
    assert "\n" not in str(problem)
    assert problem.path == f"{objects.location}/{SHARD}"
    assert reason in problem.problem
    assert problem.repair == (
        f"delete the marker {objects.location}/{MARKER} and run `cccount embed` again: only this shard is computed"
    )
    assert complete.read(512, 1000).tobytes() == vectors()[512:].tobytes()  # the others are as they were

    objects.path(MARKER).unlink()
    resumed = made(objects)
    assert resumed.missing() == [1]
    write_all(resumed, vectors())
    assert resumed.read().tobytes() == vectors().tobytes()
    assert list(resumed.problems()) == []


def test_every_flipped_bit_of_a_shard_is_noticed(complete: ShardedArray, objects: LocalObjects) -> None:
    path = objects.path(SHARD)
    whole = path.read_bytes()
    for place in range(0, len(whole), 97):
        flip(path, place)
        with pytest.raises(CorruptionError):
            complete.read(256, 512)
        path.write_bytes(whole)
    assert complete.read(256, 512).tobytes() == vectors()[256:512].tobytes()


def test_a_deleted_marker_makes_its_shard_undone(complete: ShardedArray, objects: LocalObjects) -> None:
    objects.path(MARKER).unlink()
    assert complete.missing() == [1]
    with pytest.raises(WorkspaceError, match=r"not done \(1\)"):
        ShardedArray.open(objects, EMBEDDINGS).read()
    assert list(complete.problems()) == []


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b'{"size": 1}', b"\xff\xfe"])
def test_a_damaged_marker_is_named_with_its_repair(complete: ShardedArray, objects: LocalObjects, data: bytes) -> None:
    objects.path(MARKER).write_bytes(data)
    opened = ShardedArray.open(objects, EMBEDDINGS)
    for use in (opened.read, opened.done, opened.fingerprint):
        with pytest.raises(CorruptionError, match=f"{MARKER}: the marker is damaged; delete it and run `cccount embed` again"):
            use()
    (problem,) = opened.problems()
    assert problem.path == f"{objects.location}/{MARKER}"


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b"[]"])
def test_a_damaged_zarr_json_is_named_and_its_copy_repairs_it(complete: ShardedArray, objects: LocalObjects, data: bytes) -> None:
    path, copy = objects.path("embeddings.zarr/zarr.json"), objects.path("markers/embeddings/array.json")
    path.write_bytes(data)
    (problem,) = array_problems(objects, EMBEDDINGS)
    assert problem.path == str(path)
    assert problem.repair == f"copy {copy} over it"
    for use in (ShardedArray.open, array_of_the_stage):
        with pytest.raises(CorruptionError, match=r"embeddings\.zarr/zarr\.json"):
            use(objects, EMBEDDINGS)
    with pytest.raises(ConflictError):
        complete.read()
    shutil.copy(copy, path)
    assert ShardedArray.open(objects, EMBEDDINGS).read().tobytes() == vectors().tobytes()


def array_of_the_stage(objects: LocalObjects, spec: ArraySpec) -> ShardedArray:
    return ShardedArray.create(objects, spec, (ITEMS, DIMENSIONS), attributes={}, shard_rows=SHARD_ROWS)


def test_a_changed_digit_in_zarr_json_is_noticed(complete: ShardedArray, objects: LocalObjects) -> None:
    path = objects.path("embeddings.zarr/zarr.json")
    path.write_bytes(path.read_bytes().replace(b"1000", b"1001"))
    with pytest.raises(CorruptionError, match="differs from its copy"):
        ShardedArray.open(objects, EMBEDDINGS)


def test_metadata_that_is_damaged_twice_or_of_another_kind_says_to_make_the_array_again(
    complete: ShardedArray, objects: LocalObjects
) -> None:
    path, copy = objects.path("embeddings.zarr/zarr.json"), objects.path("markers/embeddings/array.json")
    whole = path.read_bytes()
    for data, reason in ((b"{", "damaged"), (whole.replace(b"float32", b"float64"), "float64")):
        path.write_bytes(data)
        copy.write_bytes(data)
        (problem,) = array_problems(objects, EMBEDDINGS)
        assert reason in problem.problem
        assert problem.repair == f"delete {objects.location}/embeddings.zarr and run `cccount embed` again"
    shutil.rmtree(objects.path("embeddings.zarr"))
    write_all(made(objects), vectors())
    assert list(array_problems(objects, EMBEDDINGS)) == []


def test_a_missing_copy_of_zarr_json_is_named_with_its_repair(complete: ShardedArray, objects: LocalObjects) -> None:
    path, copy = objects.path("embeddings.zarr/zarr.json"), objects.path("markers/embeddings/array.json")
    copy.unlink()
    (problem,) = array_problems(objects, EMBEDDINGS)
    assert (problem.path, problem.repair) == (str(copy), f"copy {path} to it")


def test_a_temporary_file_that_a_killed_writer_left_is_named(complete: ShardedArray, objects: LocalObjects) -> None:
    left = objects.path(f"embeddings.zarr/c/1/0.{'a' * 32}.partial")
    left.write_bytes(b"half")
    assert list(complete.problems()) == []  # it may belong to a living writer
    os.utime(left, (0, 0))
    (problem,) = complete.problems()
    assert (problem.path, problem.repair) == (str(left), "delete it: nothing needs it")


def test_a_lost_file_of_a_done_shard_is_written_again_by_the_same_rows(complete: ShardedArray, objects: LocalObjects) -> None:
    objects.path(SHARD).unlink()
    complete.write_shard(1, vectors()[256:512])
    assert list(complete.problems()) == []


# Disks


def test_a_full_disk_is_one_clear_line_and_what_is_done_stays_done(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "2m") as disk:
        objects = LocalObjects(disk)
        rows = vectors(4 * 1024, 128)
        array = ShardedArray.create(objects, EMBEDDINGS, rows.shape, attributes={}, shard_rows=1024)
        with pytest.raises(StoreError, match=r"embeddings.zarr/c/3/0: the disk is full: free some space") as caught:
            write_all(array, rows)
        assert "\n" not in str(caught.value)
        assert array.done() == [0, 1, 2]
        assert array.read(0, 3072).tobytes() == rows[:3072].tobytes()
        assert list(array.problems()) == []
        assert not list(disk.rglob(".tmp-*"))


def test_an_array_created_on_a_full_disk_is_no_array(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        objects = LocalObjects(disk)
        ballast = fill_up(disk)
        with pytest.raises(StoreError, match="full"):
            made(objects)
        assert not ShardedArray.exists(objects, EMBEDDINGS)
        ballast.unlink()
        assert made(objects).done() == []
