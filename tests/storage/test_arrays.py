"""Sharded arrays: round trip, resumption after kill -9, one writer for each shard, fingerprints."""

import json
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from storage.arrays import CHUNK_ROWS, ShardedArray, array_problems, default_shard_rows
from storage.errors import ConflictError, CorruptionError, InputError, WorkspaceError
from storage.objects import LocalObjects
from storage.schema import DEGREE, EMBEDDINGS, NEIGHBOR_INDEX, ArraySpec
from tests.storage.faults import at_once, killed_when, later
from tests.storage.smallarray import DIMENSIONS, ITEMS, SHARD_ROWS, made, vectors, write_all


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# Round trip


@settings(max_examples=40, deadline=None)
@given(
    items=st.integers(1, 700),
    dimensions=st.integers(1, 9),
    shard_rows=st.one_of(st.integers(1, CHUNK_ROWS), st.sampled_from([256, 512, 768])),
    data=st.data(),
)
def test_any_rows_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, items: int, dimensions: int, shard_rows: int, data: st.DataObject
) -> None:
    shard_rows = max(shard_rows, items // 20 + 1) if shard_rows <= CHUNK_ROWS else shard_rows
    objects = LocalObjects(tmp_path_factory.mktemp("ws"))
    array = ShardedArray.create(objects, EMBEDDINGS, (items, dimensions), attributes={}, shard_rows=shard_rows)
    rows = vectors(items, dimensions)
    for shard in data.draw(st.permutations(range(array.shards))):
        start, stop = array.shard_range(shard)
        array.write_shard(shard, rows[start:stop])
    start = data.draw(st.integers(0, items))
    stop = data.draw(st.integers(start, items))
    assert array.read().tobytes() == rows.tobytes()
    assert array.read(start, stop).tobytes() == rows[start:stop].tobytes()
    assert list(array.problems()) == []


@pytest.mark.parametrize(("spec", "shape"), [(DEGREE, (600,)), (NEIGHBOR_INDEX, (600, 3))])
def test_arrays_of_other_types_and_axes_come_back(objects: LocalObjects, spec: ArraySpec, shape: tuple[int, ...]) -> None:
    rows = np.arange(np.prod(shape)).reshape(shape).astype(spec.dtype)
    array = ShardedArray.create(objects, spec, shape, attributes={"k": 3})
    for shard in range(array.shards):
        start, stop = array.shard_range(shard)
        array.write_shard(shard, rows[start:stop])
    np.testing.assert_array_equal(ShardedArray.open(objects, spec).read(), rows)


def test_plain_zarr_reads_what_is_written(complete: ShardedArray) -> None:
    found = zarr.open_array(f"{complete.objects.location}/embeddings.zarr", mode="r")
    np.testing.assert_array_equal(np.asarray(found[:]), vectors())
    assert found.shards == (SHARD_ROWS, DIMENSIONS)
    assert "crc32c" in json.dumps(found.metadata.to_dict()["codecs"], default=str)


def test_plain_zarr_finds_the_arrays_of_a_group(objects: LocalObjects) -> None:
    ShardedArray.create(objects, NEIGHBOR_INDEX, (10, 2), attributes={})
    ShardedArray.create(objects, DEGREE, (10,), attributes={})
    assert sorted(zarr.open_group(f"{objects.location}/neighbors.zarr", mode="r").array_keys()) == ["degree", "index"]


@pytest.mark.parametrize("value", [np.nan, 0.0, -0.0])
def test_a_shard_of_nothing_but_one_value_is_stored_and_told_from_a_lost_one(objects: LocalObjects, value: float) -> None:
    array = made(objects)
    rows = np.full((SHARD_ROWS, DIMENSIONS), value, np.float32)
    array.write_shard(1, rows)
    assert array.read(256, 512).tobytes() == rows.tobytes()
    objects.path("embeddings.zarr/c/1/0").unlink()
    with pytest.raises(CorruptionError, match=r"embeddings\.zarr/c/1/0"):
        array.read(256, 512)


def test_small_collections_have_several_shards_and_large_ones_bounded_ones() -> None:
    assert [default_shard_rows(n) for n in (1, 256, 4096, 4097, 10**5, 10**6, 10**8)] == [256, 256, 256, 512, 6400, 16384, 16384]


# Resuming


def test_create_with_the_same_arguments_keeps_what_is_done(complete: ShardedArray, objects: LocalObjects) -> None:
    assert made(objects).done() == [0, 1, 2, 3]
    assert made(objects).fingerprint() == complete.fingerprint()


@pytest.mark.parametrize("change", ["attributes", "shard_rows", "shape"])
def test_create_with_other_arguments_starts_anew(complete: ShardedArray, objects: LocalObjects, change: str) -> None:
    array = ShardedArray.create(
        objects,
        EMBEDDINGS,
        (ITEMS + (change == "shape"), DIMENSIONS),
        attributes={"encoder": "hog"} if change == "attributes" else {},
        shard_rows=512 if change == "shard_rows" else SHARD_ROWS,
    )
    assert array.done() == []
    assert objects.keys("embeddings.zarr") == ["embeddings.zarr/zarr.json"]
    with pytest.raises(WorkspaceError, match="not done"):
        array.read()


def test_attributes_and_notes_come_back(objects: LocalObjects) -> None:
    array = ShardedArray.create(objects, EMBEDDINGS, (300, 2), attributes={"encoder": "hog", "cells": (8, 8)})
    array.write_shard(1, vectors(44, 2), notes={"failed": {"7": "unreadable"}})
    again = ShardedArray.create(objects, EMBEDDINGS, (300, 2), attributes={"encoder": "hog", "cells": (8, 8)})
    assert again.attributes == {"encoder": "hog", "cells": [8, 8]}
    assert again.notes() == {1: {"failed": {"7": "unreadable"}}}


def _write_slowly(location: str) -> None:
    array = made(LocalObjects(Path(location)))
    for shard in array.missing():
        start, stop = array.shard_range(shard)
        array.write_shard(shard, vectors()[start:stop])
        time.sleep(0.002)


def _write_slowly_and_stay(location: str) -> None:
    _write_slowly(location)
    time.sleep(60)


def test_a_writer_killed_again_and_again_ends_with_the_same_bytes(tmp_path: Path) -> None:
    undisturbed = LocalObjects(tmp_path / "undisturbed")
    write_all(made(undisturbed), vectors())
    objects = LocalObjects(tmp_path / "ws")
    folder = tmp_path / "ws" / "embeddings.zarr" / "c"
    for shard in range(4):  # killed when the shard's folder appears: before, in or after its write or its marker
        killed_when((folder / str(shard)).exists, _write_slowly_and_stay, str(tmp_path / "ws"))
        for done in made(objects).done():
            start, stop = made(objects).shard_range(done)
            assert made(objects).read(start, stop).tobytes() == vectors()[start:stop].tobytes()
    _write_slowly(str(tmp_path / "ws"))
    objects.sweep()
    assert list(made(objects).problems()) == []
    assert contents(folder) == contents(tmp_path / "undisturbed" / "embeddings.zarr" / "c")
    assert made(objects).fingerprint() == made(undisturbed).fingerprint()


def _make_anew_for_ever(location: str) -> None:
    turn = 0
    while True:
        array = made(LocalObjects(Path(location)), turn=str(turn := 1 - turn))
        write_all(array, vectors())


def test_create_killed_at_any_moment_can_be_called_again(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    random = np.random.default_rng(0)
    for _ in range(15):
        killed_when(later(random.uniform(0.02, 0.1)), _make_anew_for_ever, str(tmp_path))
        for problem in array_problems(objects, EMBEDDINGS):  # nothing worse than what the next call repairs
            assert problem.problem in ("a killed writer left this temporary file", "the file is missing")
            assert problem.problem != "the file is missing" or problem.path.endswith("zarr.json")
        array = made(objects, turn="0")
        write_all(array, vectors())
        objects.sweep()
        assert list(array_problems(objects, EMBEDDINGS)) == []
        assert array.read().tobytes() == vectors().tobytes()


def _create_and_write(location: str, shard: int) -> str:
    array = made(LocalObjects(Path(location)))
    start, stop = array.shard_range(shard)
    array.write_shard(shard, vectors()[start:stop])
    return array.attributes.__repr__()


def test_processes_that_create_and_write_at_once_share_one_array(tmp_path: Path) -> None:
    results = at_once(_create_and_write, [(str(tmp_path), shard) for shard in (0, 1, 2, 3, 0, 1)])
    assert {name for name, _ in results} == {"ok"}, results
    array = ShardedArray.open(LocalObjects(tmp_path), EMBEDDINGS)
    assert array.read().tobytes() == vectors().tobytes()
    assert list(array.problems()) == []


def test_a_lost_zarr_json_is_restored_when_the_stage_is_run_again(complete: ShardedArray, objects: LocalObjects) -> None:
    objects.path("embeddings.zarr/zarr.json").unlink()
    (problem,) = array_problems(objects, EMBEDDINGS)
    assert problem.path.endswith("embeddings.zarr/zarr.json")
    with pytest.raises(WorkspaceError, match="run `cccount embed` first"):
        ShardedArray.open(objects, EMBEDDINGS)
    assert made(objects).done() == [0, 1, 2, 3]


def test_an_array_whose_folder_was_deleted_by_hand_is_computed_again(complete: ShardedArray, objects: LocalObjects) -> None:
    shutil.rmtree(objects.path("embeddings.zarr"))
    again = made(objects)
    assert again.done() == []
    write_all(again, vectors())
    assert again.fingerprint() == complete.fingerprint()
    assert list(array_problems(objects, EMBEDDINGS)) == []


# One writer for each shard


def test_the_same_rows_again_change_nothing(complete: ShardedArray, tmp_path: Path) -> None:
    before = contents(tmp_path)
    complete.write_shard(0, vectors()[:256], notes={"other": "notes"})
    assert contents(tmp_path) == before


def test_a_second_writer_with_other_rows_is_told_and_the_first_rows_stay(complete: ShardedArray) -> None:
    with pytest.raises(ConflictError, match=r"markers/embeddings/000001.json: another writer finished this shard"):
        complete.write_shard(1, vectors(seed=1)[256:512])
    assert complete.read().tobytes() == vectors().tobytes()


def _write_own_rows(location: str, seed: int) -> None:
    made(LocalObjects(Path(location))).write_shard(0, vectors(seed=seed)[:256])


def test_of_racing_writers_that_disagree_one_wins_whole(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    made(objects)
    results = at_once(_write_own_rows, [(str(tmp_path), seed) for seed in range(4)])
    winners = [seed for seed, (name, _) in enumerate(results) if name == "ok"]
    assert sorted(name for name, _ in results) == ["ConflictError"] * 3 + ["ok"]
    assert made(objects).read(0, 256).tobytes() == vectors(seed=winners[0])[:256].tobytes()
    assert list(made(objects).problems()) == []


def test_a_writer_whose_array_was_made_anew_cannot_write_into_the_new_one(objects: LocalObjects) -> None:
    stale = made(objects, encoder="old")
    new = made(objects, encoder="new")
    with pytest.raises(ConflictError, match="was made anew"):
        stale.write_shard(0, vectors()[:256])
    assert new.done() == []


def test_a_reader_whose_array_was_made_anew_is_told(complete: ShardedArray, objects: LocalObjects) -> None:
    write_all(made(objects, encoder="new"), vectors(seed=1))
    with pytest.raises(ConflictError, match="was made anew"):
        complete.read(0, 10)


def test_a_marker_of_an_array_that_stood_here_before_vouches_for_nothing(objects: LocalObjects) -> None:
    old = made(objects, encoder="old")
    old.write_shard(0, vectors(seed=1)[:256])
    marker, shard = (objects.path(key) for key in ("markers/embeddings/000000.json", "embeddings.zarr/c/0/0"))
    left = {path: path.read_bytes() for path in (marker, shard)}
    new = made(objects, encoder="new")
    for path, data in left.items():  # what a writer that was overtaken in the middle leaves behind
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert new.done() == []
    new.write_shard(0, vectors()[:256])
    assert new.read(0, 256).tobytes() == vectors()[:256].tobytes()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (vectors(255), r"expects the shape \(256, 4\) here, not \(255, 4\)"),
        (vectors(257), r"expects the shape \(256, 4\) here, not \(257, 4\)"),
        (vectors(256, 5), r"expects the shape \(256, 4\) here, not \(256, 5\)"),
        (vectors(256).astype(np.float64), "holds float32, not float64"),
    ],
)
def test_anything_but_the_whole_shard_is_refused(objects: LocalObjects, rows: NDArray[np.float32], message: str) -> None:
    array = made(objects)
    with pytest.raises(InputError, match=message):
        array.write_shard(0, rows)
    assert array.done() == []
    assert objects.keys("embeddings.zarr/c") == []


@pytest.mark.parametrize("shard", [-1, 4])
def test_a_shard_that_does_not_exist_is_refused(complete: ShardedArray, shard: int) -> None:
    with pytest.raises(InputError, match=f"has the shards 0 to 3, not {shard}"):
        complete.write_shard(shard, vectors()[:256])


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (5, 4), (0, ITEMS + 1)])
def test_rows_that_do_not_exist_are_refused(complete: ShardedArray, start: int, stop: int) -> None:
    with pytest.raises(InputError, match="has the rows 0 to 1000"):
        complete.read(start, stop)


@pytest.mark.parametrize(
    ("shape", "shard_rows", "message"),
    [
        ((0, 4), 256, "all of at least 1"),
        ((10, 0), 256, "all of at least 1"),
        ((10,), 256, "item, dimension"),
        ((10, 4), 300, "300"),
    ],
)
def test_a_layout_that_cannot_be_is_refused(objects: LocalObjects, shape: tuple[int, ...], shard_rows: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ShardedArray.create(objects, EMBEDDINGS, shape, attributes={}, shard_rows=shard_rows)
    assert objects.keys("") == []


def test_attributes_and_notes_that_would_not_come_back_are_refused(objects: LocalObjects) -> None:
    with pytest.raises(InputError, match="without NaN"):
        ShardedArray.create(objects, EMBEDDINGS, (10, 2), attributes={"scale": float("nan")})
    with pytest.raises(InputError, match="may not have the name 'cccount'"):
        ShardedArray.create(objects, EMBEDDINGS, (10, 2), attributes={"cccount": 1})
    array = ShardedArray.create(objects, EMBEDDINGS, (10, 2), attributes={})
    with pytest.raises(InputError, match="notes on a shard"):
        array.write_shard(0, vectors(10, 2), notes={"seconds": float("inf")})
    assert array.done() == []


# Fingerprints


@settings(max_examples=25, deadline=None)
@given(item=st.integers(0, 299), dimension=st.integers(0, 2), bit=st.integers(0, 31))
def test_the_fingerprint_changes_with_any_bit_of_any_value(
    tmp_path_factory: pytest.TempPathFactory, item: int, dimension: int, bit: int
) -> None:
    rows = vectors(300, 3)
    changed = rows.copy()
    changed.view(np.uint32)[item, dimension] ^= np.uint32(1 << bit)
    found = []
    for values in (rows, changed, rows):
        array = ShardedArray.create(LocalObjects(tmp_path_factory.mktemp("ws")), EMBEDDINGS, (300, 3), attributes={})
        write_all(array, values)
        found.append(array.fingerprint())
    assert found[0] == found[2] != found[1]


def test_the_fingerprint_changes_with_the_attributes(complete: ShardedArray, objects: LocalObjects) -> None:
    before = complete.fingerprint()
    other = made(objects, encoder="hog")
    write_all(other, vectors())
    assert other.fingerprint() != before
    assert len(before) == 32
