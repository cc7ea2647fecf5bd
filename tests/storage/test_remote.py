"""What an object store does not give, locks that hold for ever: a writer that was overtaken inside a lock does no harm."""

import threading
import time

import pytest

from storage import remote
from storage.errors import ConflictError, LeaseError
from storage.lease import Lease
from storage.objects import open_objects
from storage.querylog import QueryLog
from storage.remote import RemoteObjects
from tests.storage.rows import ids, numbered


@pytest.fixture
def objects(request: pytest.FixtureRequest) -> RemoteObjects:
    opened = open_objects(f"memory://{request.node.name}")
    assert isinstance(opened, RemoteObjects)
    return opened


def stale_log(objects: RemoteObjects) -> QueryLog:
    """A log whose process has read what was there, and then hung."""
    log = QueryLog(objects, "campaigns/c")
    assert log.answers().num_rows == 3
    return log


def test_a_writer_that_was_overtaken_cannot_write_rows_that_are_there(objects: RemoteObjects) -> None:
    fast = QueryLog(objects, "campaigns/c")
    fast.append_answers(numbered(0, 3))
    slow = stale_log(objects)
    fast.append_answers(numbered(3, 5))
    with pytest.raises(ConflictError):
        slow._answers.append(slow._answers.table(0))  # what it would do on waking up inside the lock


def test_nor_under_a_name_that_a_compaction_has_freed(objects: RemoteObjects) -> None:
    fast = QueryLog(objects, "campaigns/c")
    fast.append_answers(numbered(0, 3))
    slow = stale_log(objects)
    fast.append_answers(numbered(3, 5))
    fast.compact(most_parts=1)
    with pytest.raises(ConflictError, match="another process wrote these rows first"):
        slow._answers.append(slow._answers.table(0))
    fresh = QueryLog(objects, "campaigns/c")
    assert ids(fresh.answers()) == [f"a{number}" for number in range(5)]
    assert fresh.append_answers(numbered(0, 6)) == 1
    assert list(fresh.problems()) == []


def test_a_lock_that_does_not_move_is_taken_over(objects: RemoteObjects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "LOCK_SECONDS", 0.2)
    objects.replace(".lock-key", b'{"host": "elsewhere", "pid": 1, "started": 1, "boot": "x", "token": "y"}')
    began = time.monotonic()
    with objects.locked("key"):
        assert 0.2 < time.monotonic() - began < 5


def test_who_was_overtaken_does_not_free_the_lock_of_its_successor(objects: RemoteObjects) -> None:
    with objects.locked("key"):
        objects.replace(".lock-key", b"somebody else's")
    assert objects.read(".lock-key") == b"somebody else's"


def test_of_two_that_read_a_free_lease_at_once_one_gets_it(objects: RemoteObjects, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the lock between them failed altogether."""
    gate = threading.Barrier(2)
    read = RemoteObjects.read

    def read_together(self: RemoteObjects, key: str) -> bytes:
        found = read(self, key)
        gate.wait(timeout=10)
        return found

    with Lease.acquire(objects, "campaigns/c/lease.json"):
        pass
    monkeypatch.setattr(RemoteObjects, "locked", lambda _self, _key: threading.Lock())
    monkeypatch.setattr(RemoteObjects, "read", read_together)
    outcomes: list[object] = []

    def take() -> None:
        try:
            outcomes.append(Lease.acquire(objects, "campaigns/c/lease.json").fence)
        except LeaseError:
            outcomes.append("refused")

    threads = [threading.Thread(target=take) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == ["2", "refused"]


def test_credentials_do_not_travel_with_the_objects(s3: str) -> None:
    import pickle

    assert b"testing" not in pickle.dumps(open_objects(f"{s3}/ws"))
