"""The suite that every backend of `Objects` passes; whoever writes one inherits it in a test file of their own:

    class TestMyObjects(ObjectsContract):
        @pytest.fixture
        def objects(self, tmp_path: Path) -> Objects:
            return MyObjects(...)  # an empty store

Needs pytest, which nothing else in this package does. Takes seconds on a disk; on a store, its requests.
"""

import os
import threading
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from storage.arrays import ShardedArray
from storage.errors import ConflictError, LeaseError, MissingObjectError
from storage.lease import Lease
from storage.objects import Objects
from storage.querylog import QueryLog
from storage.schema import ANSWERS, EMBEDDINGS


def count_up(objects: Objects, rounds: int) -> None:
    """Add 1 to the object `counter`, slowly: where two are inside the lock at once, one addition is lost."""
    for _ in range(rounds):
        with objects.locked("counter"):
            value = int(objects.read("counter"))
            time.sleep(0.001)
            objects.replace("counter", str(value + 1).encode())


def _answers(numbers: Iterable[int]) -> pa.Table:
    rows = [
        {"answer_id": f"a{n}", "question_id": -1, "u": n, "v": n + 1, "value": float(n % 2), "annotator": "ana",
         "answered_at": datetime(2024, 5, 1, tzinfo=UTC), "seconds": 1.0, "source": "people"}
        for n in numbers
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=ANSWERS.schema)


class ObjectsContract:
    """Inherit it and give the fixture `objects`: an empty store."""

    rounds = 5

    @pytest.fixture
    def objects(self, tmp_path: Path) -> Objects:
        raise NotImplementedError

    def test_what_was_written_is_read_back(self, objects: Objects) -> None:
        objects.create("a/b/c", b"1")
        objects.replace("a/d", b"")
        assert (objects.read("a/b/c"), objects.size("a/b/c")) == (b"1", 1)
        assert (objects.read("a/d"), objects.size("a/d")) == (b"", 0)

    def test_keys_are_sorted_and_only_those_below_the_prefix(self, objects: Objects) -> None:
        for key in ("b/2", "b/10", "b/1/x", "a", "bb/1"):
            objects.create(key, b"")
        assert objects.keys("b") == ["b/1/x", "b/10", "b/2"]
        assert objects.keys("nothing") == []

    def test_an_object_that_is_not_there_is_named(self, objects: Objects) -> None:
        assert objects.size("no/where") is None
        with pytest.raises(MissingObjectError, match="no/where"):
            objects.read("no/where")

    def test_delete_removes_an_object_or_a_prefix_and_is_silent_about_nothing(self, objects: Objects) -> None:
        for key in ("a/1", "a/b/2", "c"):
            objects.create(key, b"")
        objects.delete("a")
        objects.delete("a")
        objects.delete("c")
        objects.delete("c/d")
        assert objects.keys("") == []

    def test_create_never_overwrites(self, objects: Objects) -> None:
        objects.create("key", b"first")
        with pytest.raises(ConflictError, match="key exists already"):
            objects.create("key", b"second")
        assert objects.read("key") == b"first"

    def test_swap_changes_only_what_was_expected(self, objects: Objects) -> None:
        with objects.locked("key"):
            objects.swap("key", b"1", None)
            objects.swap("key", b"2", b"1")
            for wrong in (b"1", None):
                with pytest.raises(ConflictError, match="key"):
                    objects.swap("key", b"3", wrong)
        assert objects.read("key") == b"2"

    def test_a_part_of_an_object_is_read_alone(self, objects: Objects) -> None:
        objects.create("a/b", b"0123456789")
        assert objects.read_range("a/b", 3, 4) == b"3456"
        assert objects.read_range("a/b", 8, 4) == b"89"
        with pytest.raises(MissingObjectError):
            objects.read_range("a/c", 0, 1)
        room = bytearray(12)
        assert objects.read_into("a/b", memoryview(room)[:4]) == 4
        assert objects.read_into("a/b", memoryview(room)[4:]) == 8
        assert room[:4] == b"0123"
        assert room[4:] == b"01234567"
        with pytest.raises(MissingObjectError):
            objects.read_into("a/c", memoryview(room))

    def test_zarr_reads_what_was_written(self, objects: Objects) -> None:
        array = ShardedArray.create(objects, EMBEDDINGS, (600, 3), attributes={}, shard_rows=256)
        rows = np.arange(1800, dtype=np.float32).reshape(600, 3)
        for shard in array.missing():
            start, stop = array.shard_range(shard)
            array.write_shard(shard, rows[start:stop])
        opened = ShardedArray.open(objects, EMBEDDINGS)
        assert np.array_equal(opened.read(), rows)
        assert np.array_equal(opened.read(250, 300), rows[250:300])
        assert list(opened.problems()) == []
        objects.delete("embeddings.zarr/c/1")
        assert [problem.problem for problem in opened.problems()] == ["the shard is marked done, and its file is missing"]

    def test_of_two_leases_the_second_waits_and_the_fence_rises(self, objects: Objects) -> None:
        key = "campaigns/c/lease.json"
        with Lease.acquire(objects, key) as lease:
            with pytest.raises(LeaseError, match=f"pid {os.getpid()}"):
                Lease.acquire(objects, key)
            lease.renew()
            lease.check()
        with Lease.acquire(objects, key) as second:
            assert second.fence == lease.fence + 1
            with pytest.raises(LeaseError, match="lost the lease"):
                lease.check()
            with pytest.raises(LeaseError):
                lease.renew()

    def test_the_log_keeps_answers_once_and_in_order_through_compactions(self, objects: Objects) -> None:
        log = QueryLog(objects, "campaigns/c")
        for number in range(5):
            assert log.append_answers(_answers(range(number, number + 3))) == (3 if number == 0 else 1)
        log.compact(most_parts=1)
        assert log.append_answers(_answers(range(9))) == 2
        assert QueryLog(objects, "campaigns/c").answers().column("answer_id").to_pylist() == [f"a{n}" for n in range(9)]
        assert list(log.problems()) == []

    def test_locked_excludes_other_threads(self, objects: Objects) -> None:
        objects.create("counter", b"0")
        threads = [threading.Thread(target=count_up, args=(objects, 5 * self.rounds)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert objects.read("counter") == str(20 * self.rounds).encode()

    def test_locks_on_other_keys_do_not_wait(self, objects: Objects) -> None:
        with objects.locked("a"), objects.locked("b"):
            pass

    def test_locks_are_no_objects(self, objects: Objects) -> None:
        with objects.locked("a/b"):
            assert objects.keys("") == []

    def test_an_error_inside_locked_lets_go(self, objects: Objects) -> None:
        def fail() -> None:
            with objects.locked("a"):
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        with objects.locked("a"):
            pass


__all__ = ["ObjectsContract", "count_up"]
