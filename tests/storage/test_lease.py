"""The lease: one winner, no stale writer, no waiting for the dead."""

import json
import os
import signal
import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from storage.errors import CorruptionError, InputError, LeaseError
from storage.lease import Holder, Lease
from storage.objects import LocalObjects
from storage.querylog import QueryLog
from tests.storage.rows import answers, ids
from tests.storage.workers import LEASE, PREFIX, context, hold_lease, kill, race_for_lease, started, wait_for, write_when_told


def _on_store(root: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((root / LEASE).read_text())
    return content


def _held_by(root: Path, **changes: object) -> None:
    """Write a lease that this very process holds for an hour, with some of its holder's fields changed."""
    objects = LocalObjects(root)
    Lease.acquire(objects, LEASE, seconds=3600)
    content = _on_store(root)
    assert isinstance(content["holder"], dict)
    content["holder"] |= changes
    objects.replace(LEASE, json.dumps(content).encode())


def test_the_fence_grows_with_every_holder_and_survives_a_release(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    for fence in (1, 2, 3):
        lease = Lease.acquire(objects, LEASE)
        assert lease.fence == fence
        lease.check()
        assert _on_store(tmp_path)["fence"] == fence
        lease.release()
        assert _on_store(tmp_path) == {"fence": fence, "holder": None, "expires_at": None}
        with pytest.raises(LeaseError, match=f"released the lease \\(fence {fence}\\)"):
            lease.check()
        lease.release()


def test_a_held_lease_says_who_holds_it_and_until_when(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    Lease.acquire(objects, LEASE, seconds=100)
    with pytest.raises(LeaseError) as caught:
        Lease.acquire(objects, LEASE)
    assert f"campaign census is being advanced by pid {os.getpid()} on host {socket.gethostname()} until 2" in str(caught.value)
    with pytest.raises(InputError, match="longer than 0 seconds, not 0"):
        Lease.acquire(objects, LEASE, seconds=0)


def test_of_several_processes_exactly_one_wins(tmp_path: Path) -> None:
    for fence in (1, 2, 3):
        outcome, release = tmp_path / f"outcome-{fence}", tmp_path / f"release-{fence}"
        barrier = context.Barrier(3)
        with (
            started(race_for_lease, tmp_path, barrier, outcome, release) as a,
            started(race_for_lease, tmp_path, barrier, outcome, release) as b,
            started(race_for_lease, tmp_path, barrier, outcome, release) as c,
        ):
            while len(wait_for(outcome).splitlines()) < 3:
                time.sleep(0.002)
            release.write_text("now")
            for process in (a, b, c):
                process.join(30)
                assert process.exitcode == 0
        *lost, won = sorted(outcome.read_text().splitlines())
        word, number, pid = won.split()
        assert (word, number) == ("won", str(fence))
        assert len(lost) == 2
        assert all(f"is being advanced by pid {pid} on host" in line for line in lost)


def test_a_dead_process_of_this_host_is_followed_at_once(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    with started(hold_lease, tmp_path, ready, 3600.0) as process:
        pid = int(wait_for(ready))
        with pytest.raises(LeaseError, match=f"pid {pid}"):
            Lease.acquire(LocalObjects(tmp_path), LEASE)
        kill(process)
    assert Lease.acquire(LocalObjects(tmp_path), LEASE).fence == 2


def test_a_killed_process_that_nobody_has_waited_for_is_dead(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    started_at = int(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[19])
    _held_by(tmp_path, pid=child, started=started_at)
    assert Lease.acquire(LocalObjects(tmp_path), LEASE).fence == 2
    os.waitpid(child, 0)


def test_a_process_number_that_was_used_again_is_not_the_holder(tmp_path: Path) -> None:
    _held_by(tmp_path, started=Holder.this_process().started - 1)
    assert Lease.acquire(LocalObjects(tmp_path), LEASE).fence == 2


@pytest.mark.parametrize("changes", [{"host": "elsewhere"}, {"boot": "another boot"}, {"boot": ""}])
def test_a_process_that_this_host_cannot_see_keeps_its_lease_until_the_end(tmp_path: Path, changes: dict[str, object]) -> None:
    _held_by(tmp_path, pid=2**22 + 1, **changes)
    with pytest.raises(LeaseError, match="is being advanced"):
        Lease.acquire(LocalObjects(tmp_path), LEASE)
    content = _on_store(tmp_path) | {"expires_at": (datetime.now(UTC) - timedelta(seconds=1)).isoformat()}
    (tmp_path / LEASE).write_text(json.dumps(content))
    assert Lease.acquire(LocalObjects(tmp_path), LEASE).fence == 2


def test_a_holder_that_slept_past_its_end_writes_nothing(tmp_path: Path) -> None:
    ready, go, outcome = tmp_path / "ready", tmp_path / "go", tmp_path / "outcome"
    objects = LocalObjects(tmp_path)
    with started(write_when_told, tmp_path, ready, go, outcome) as process:
        assert process.pid is not None
        wait_for(ready)
        os.kill(process.pid, signal.SIGSTOP)
        while True:
            try:
                lease = Lease.acquire(objects, LEASE)
            except LeaseError:
                time.sleep(0.02)
            else:
                break
        assert lease.fence == 2
        log = QueryLog(objects, PREFIX)
        log.append_answers(answers(["new"]), guard=lease.check)
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
        go.write_text("go")
        os.kill(process.pid, signal.SIGCONT)
        assert wait_for(outcome) == "LeaseError: this process lost the lease (fence 1, now 2): nothing was written\n"
        process.join(30)
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert {path: time for path, time in after.items() if path not in (go, outcome)} == before
    assert ids(log.answers()) == ["before", "new"]
    lease.check()


def test_a_holder_that_slept_past_its_end_goes_on_if_nobody_came(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    lease = Lease.acquire(objects, LEASE, seconds=0.01)
    time.sleep(0.02)
    lease.check()
    lease.renew()
    other = Lease.acquire(objects, LEASE) if _expired(tmp_path) else None
    assert other is None or other.fence == 2


def _expired(root: Path) -> bool:
    return datetime.fromisoformat(str(_on_store(root)["expires_at"])) < datetime.now(UTC)


def test_nobody_can_take_over_between_the_guard_and_the_write(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    lease = Lease.acquire(objects, LEASE, seconds=0.01)
    log = QueryLog(objects, PREFIX)
    time.sleep(0.02)
    at_take_over: list[list[str]] = []

    def take_over() -> None:
        Lease.acquire(objects, LEASE)
        at_take_over.append(ids(QueryLog(objects, PREFIX).answers()))

    rival = threading.Thread(target=take_over)

    def guard() -> None:
        rival.start()
        rival.join(0.2)
        lease.check()

    assert log.append_answers(answers(["mine"]), guard=guard) == 1
    rival.join()
    assert at_take_over == [["mine"]], "the rival had to wait until the row was there"
    with pytest.raises(LeaseError, match=r"fence 1, now 2"):
        log.append_answers(answers(["late"]), guard=lease.check)


def test_it_renews_itself_while_it_is_used_and_is_free_afterwards(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    with Lease.acquire(objects, LEASE, seconds=0.6) as lease:
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            with pytest.raises(LeaseError, match="is being advanced"):
                Lease.acquire(objects, LEASE)
            time.sleep(0.05)
        lease.check()
    assert Lease.acquire(objects, LEASE).fence == 2


def test_a_lease_that_was_lost_while_in_use_is_not_renewed_and_not_released(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    with Lease.acquire(objects, LEASE, seconds=0.15) as lease:
        content = _on_store(tmp_path)
        (tmp_path / LEASE).write_text(json.dumps(content | {"fence": 7, "holder": None, "expires_at": None}))
        winner = Lease.acquire(objects, LEASE, seconds=100)
        time.sleep(0.3)
        with pytest.raises(LeaseError, match=r"lost the lease \(fence 1, now 8\)"):
            lease.check()
        with pytest.raises(LeaseError, match="lost"):
            lease.renew()
    winner.check()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("lease")]


@pytest.mark.parametrize(
    "content",
    [b"", b'{"fence": 3, "hold', b"[]", b'{"fence": 1}', b'{"fence": 1, "holder": {"pid": 3}, "expires_at": null}', b"\xff\xfe",
     b'{"fence": 1, "holder": null, "expires_at": "soon"}', b'{"fence": "many", "holder": null, "expires_at": null}'],
)  # fmt: skip
def test_a_damaged_lease_is_named_with_its_repair(tmp_path: Path, content: bytes) -> None:
    objects = LocalObjects(tmp_path)
    lease = Lease.acquire(objects, LEASE)
    (tmp_path / LEASE).write_bytes(content)
    for use in (lease.check, lease.renew, lambda: Lease.acquire(objects, LEASE)):
        with pytest.raises(CorruptionError, match=r"lease.json is damaged .*: make sure that no process .* delete it"):
            use()
    (problem,) = QueryLog(objects, PREFIX).problems()
    assert problem.path == str(tmp_path / LEASE)
    assert problem.problem.startswith("is damaged")
    (tmp_path / LEASE).unlink()
    repaired = Lease.acquire(objects, LEASE)
    with pytest.raises(LeaseError, match="lost the lease"):
        lease.check()  # the same fence, but another holder: also after the repair a stale process cannot write
    repaired.check()
