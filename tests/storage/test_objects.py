"""The backends of Objects pass the public suite (`storage/testing.py`); and what a local folder does besides."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.errors import InputError, MissingObjectError, StoreError
from storage.objects import LocalObjects, Objects, open_objects, temporary_beside
from storage.testing import ObjectsContract, count_up
from tests.storage.faults import as_somebody_else, at_once, fill_up, forbidden, killed_when, small_disk, started, until


def _create(objects: Objects, key: str, data: bytes) -> None:
    objects.create(key, data)


def _replace_for_ever(objects: Objects, key: str, size: int) -> None:
    while True:
        for letter in (b"a", b"b"):
            objects.replace(key, letter * size)


def _hold(objects: Objects, key: str) -> None:
    with objects.locked(key):
        objects.replace("held", b"")
        time.sleep(60)


class SharedObjectsContract(ObjectsContract):
    """And this for a store that several processes can reach: they race, and are killed."""

    def test_of_eight_racing_processes_one_creates_and_seven_are_told(self, objects: Objects) -> None:
        for round_number in range(self.rounds):
            key = f"part-{round_number}"
            results = at_once(_create, [(objects, key, str(number).encode()) for number in range(8)])
            winners = [number for number, (name, _) in enumerate(results) if name == "ok"]
            assert [name for name, _ in results if name != "ok"] == ["ConflictError"] * 7
            assert objects.read(key) == str(winners[0]).encode()
        assert len(objects.keys("")) == self.rounds

    def test_a_reader_sees_the_old_object_or_the_new_one_even_when_the_writer_is_killed(self, objects: Objects) -> None:
        size = 100_000
        objects.replace("key", b"a" * size)
        seen: set[bytes] = set()

        def both_were_seen() -> bool:
            seen.add(objects.read("key"))
            return len(seen) >= 2

        killed_when(both_were_seen, _replace_for_ever, objects, "key", size)
        seen.add(objects.read("key"))
        assert seen == {b"a" * size, b"b" * size}
        assert objects.keys("") == ["key"]

    def test_locked_excludes_other_processes(self, objects: Objects) -> None:
        objects.create("counter", b"0")
        assert at_once(count_up, [(objects, 5 * self.rounds)] * 4) == [("ok", None)] * 4
        assert objects.read("counter") == str(20 * self.rounds).encode()

    def test_locked_is_let_go_when_its_holder_is_killed(self, objects: Objects) -> None:
        killed_when(lambda: objects.size("held") is not None, _hold, objects, "some/key")
        before = time.monotonic()
        with objects.locked("some/key"):
            assert time.monotonic() - before < 10


class TestLocalObjects(SharedObjectsContract):
    @pytest.fixture
    def objects(self, tmp_path: Path) -> Objects:
        return LocalObjects(tmp_path / "store")


class TestMemoryObjects(ObjectsContract):
    @pytest.fixture
    def objects(self, tmp_path: Path) -> Objects:
        return open_objects(f"memory://{tmp_path.name}")


class TestS3Objects(SharedObjectsContract):
    rounds = 2  # every step is a request

    @pytest.fixture
    def objects(self, tmp_path: Path, s3: str) -> Objects:
        return open_objects(f"{s3}/{tmp_path.name}")


def _write_slowly(path: Path) -> None:
    temporary_beside(path).write_bytes(b"half")
    time.sleep(60)


def _temporaries(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.startswith(".tmp-")]


def test_sweep_removes_what_a_killed_writer_left(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    objects.create("a/kept", b"")
    killed_when(lambda: bool(_temporaries(tmp_path)), _write_slowly, tmp_path / "a" / "part")
    (left,) = _temporaries(tmp_path)
    assert objects.keys("") == ["a/kept"]
    assert objects.leftovers("a") == objects.leftovers("") == [f"a/{left.name}"]
    assert objects.sweep() == [f"a/{left.name}"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["kept"]


def test_sweep_keeps_the_files_of_living_writers(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    process, _ = started(_write_slowly, tmp_path / "part")
    until(lambda: bool(_temporaries(tmp_path)))
    assert objects.sweep() == []
    assert len(_temporaries(tmp_path)) == 1
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert len(objects.sweep()) == 1


@pytest.mark.parametrize("name", [f".tmp-1-{'0' * 8}-{'a' * 12}", f"0.{'a' * 32}.partial"])
def test_sweep_removes_a_temporary_file_of_an_unknown_writer_only_when_it_is_old(tmp_path: Path, name: str) -> None:
    objects = LocalObjects(tmp_path)
    path = tmp_path / name
    path.write_bytes(b"half")
    assert objects.sweep() == []
    an_hour_ago = time.time() - 3700
    os.utime(path, (an_hour_ago, an_hour_ago))
    assert objects.sweep() == [name]


@pytest.mark.parametrize("name", ["holiday.jpg.partial", ".tmp-mine", "image.jpg"])
def test_sweep_never_touches_a_file_that_is_not_ours(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"mine")
    os.utime(path, (0, 0))
    assert LocalObjects(tmp_path).sweep() == []
    assert path.read_bytes() == b"mine"


@pytest.mark.parametrize("write", [LocalObjects.create, LocalObjects.replace])
def test_a_full_disk_is_one_clear_line_and_leaves_nothing_half_written(
    tmp_path: Path, write: Callable[[LocalObjects, str, bytes], None]
) -> None:
    with small_disk(tmp_path / "disk", "256k") as disk:
        objects = LocalObjects(disk)
        objects.create("small", b"kept")
        with pytest.raises(StoreError, match="the disk is full: free some space") as caught:
            write(objects, "big", b"x" * 1_000_000)
        assert "\n" not in str(caught.value)
        assert objects.keys("") == ["small"]
        assert _temporaries(disk) == []


def test_a_failed_replace_on_a_full_disk_keeps_the_old_object(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "256k") as disk:
        objects = LocalObjects(disk)
        objects.create("key", b"old")
        fill_up(disk)
        with pytest.raises(StoreError, match="full"):
            objects.replace("key", b"x" * 10_000)
        assert objects.read("key") == b"old"


def test_a_folder_without_permission_is_one_clear_line(tmp_path: Path) -> None:
    with forbidden(tmp_path / "theirs") as folder:
        outcome = as_somebody_else(_create, LocalObjects(folder), "key", b"")
        locked = as_somebody_else(_hold, LocalObjects(folder), "key")
    assert outcome[0] == locked[0] == "StoreError"
    assert (
        str(outcome[1])
        == f"cannot use {folder}/key: no permission: make the folder writable for this user, or choose another one"
    )


def test_a_folder_that_may_not_be_listed_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    objects.create("markers/1", b"")
    with forbidden(tmp_path / "markers") as folder:
        folder.chmod(0o000)
        assert as_somebody_else(objects.keys, "markers")[0] == "StoreError"


def test_a_file_where_a_folder_should_be_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    objects = LocalObjects(tmp_path / "file")
    assert objects.size("key") is None
    with pytest.raises(MissingObjectError):
        objects.read("key")
    with pytest.raises(StoreError, match="a file is where a folder should be"):
        objects.create("key", b"")


def test_a_folder_that_is_a_link_to_another_disk_is_emptied_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "c").mkdir(parents=True)
    (tmp_path / "elsewhere" / "c" / "0").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    LocalObjects(tmp_path).delete("link")
    assert (tmp_path / "link").is_symlink()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_store_that_nobody_knows_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="gopher://bucket/prefix"):
        open_objects("gopher://bucket/prefix")
    with pytest.raises(InputError, match="names no bucket"):
        open_objects("s3://")


def test_zarr_writes_through_the_store_and_sync_makes_them_durable(tmp_path: Path) -> None:
    import zarr

    objects = LocalObjects(tmp_path)
    zarr.create_array(objects.zarr_store(read_only=False), name="x", shape=(4,), chunks=(2,), dtype="int32")[:] = 7
    objects.sync("x/c/1")
    assert objects.keys("x") == ["x/c/0", "x/c/1", "x/zarr.json"]
    with pytest.raises(StoreError, match="x/c/9"):
        objects.sync("x/c/9")
