"""Processes that tests start, stop and kill. They are forked from a server that has done the imports: each starts at once."""

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path

from storage.errors import CccountError, LeaseError
from storage.journal import JOURNAL, Journal
from storage.lease import Lease
from storage.objects import LocalObjects
from storage.querylog import QueryLog
from tests.storage.rows import answers, numbered

PREFIX = "campaigns/census"
LEASE = f"{PREFIX}/lease.json"

numbered(0, 1)  # pyarrow imports pandas when it first meets Python values: better once here than in each process
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["tests.storage.workers"])


@contextlib.contextmanager
def started(work: Callable[..., None], *arguments: object) -> Iterator[BaseProcess]:
    process = context.Process(target=work, args=arguments)
    process.start()
    try:
        yield process
    finally:
        if process.is_alive():
            process.kill()
        process.join(30)


def kill(process: BaseProcess) -> None:
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(30)
    assert process.exitcode == -signal.SIGKILL, "the process ended before it was killed"


def wait_for(path: Path, seconds: float = 30.0) -> str:
    """Return the text of a file as soon as another process has written it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if path.exists() and (text := path.read_text()):
            return text
        time.sleep(0.002)
    raise TimeoutError(path)


def acknowledge(path: Path, line: str) -> None:
    """Append a line with one system call: it is there whole or not at all, also when the process is killed."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


def append_and_compact(root: Path, name: str, acknowledged: Path) -> None:
    log = QueryLog(LocalObjects(root), PREFIX)
    for batch in range(10_000):
        names = [f"{name}.{batch}.{row}" for row in range(batch % 3 + 1)]
        log.append_answers(answers(names))
        acknowledge(acknowledged, " ".join(names))
        if batch % 2:
            log.compact(most_parts=2)


def append_shared(root: Path, name: str, batches: int) -> None:
    log = QueryLog(LocalObjects(root), PREFIX)
    for batch in range(batches):
        log.append_answers(answers([f"{name}.{batch}.0", f"shared.{batch}", f"{name}.{batch}.1"]))
        if batch % 7 == 6:
            log.compact(most_parts=3)


def append_numbered(root: Path, batches: int) -> None:
    log = QueryLog(LocalObjects(root), PREFIX)
    for batch in range(batches):
        log.append_answers(numbered(3 * batch, 3 * batch + 3))
        log.compact(most_parts=1 + batch % 3)


def record_and_seal(root: Path, name: str, acknowledged: Path) -> None:
    log = QueryLog(LocalObjects(root), PREFIX)
    journal = Journal(root / PREFIX / JOURNAL)
    for batch in range(10_000):
        names = [f"{name}.{batch}.{row}" for row in range(batch % 3 + 1)]
        journal.record(answers(names))
        acknowledge(acknowledged, " ".join(names))
        if batch % 4 == 3:
            journal.seal(log)


def record_shared(root: Path, name: str, barrier: Barrier, rows: int) -> None:
    barrier.wait(30)
    journal = Journal(root / PREFIX / JOURNAL)
    log = QueryLog(LocalObjects(root), PREFIX)
    for row in range(rows):
        journal.record(answers([f"{name}.{row}", f"shared.{row}"]))
        if row % 10 == 9:
            journal.seal(log)
    journal.close()


def open_new_journals(root: Path, name: str, barrier: Barrier, count: int) -> None:
    for number in range(count):
        barrier.wait(30)
        journal = Journal(root / f"{number}.sqlite")
        journal.record(answers([name]))
        journal.close()


def race_for_lease(root: Path, barrier: Barrier, outcome: Path, release: Path) -> None:
    barrier.wait(30)
    try:
        lease = Lease.acquire(LocalObjects(root), LEASE)
    except LeaseError as error:
        acknowledge(outcome, f"lost {error}")
        return
    acknowledge(outcome, f"won {lease.fence} {os.getpid()}")
    wait_for(release)
    lease.release()


def hold_lease(root: Path, ready: Path, seconds: float) -> None:
    Lease.acquire(LocalObjects(root), LEASE, seconds=seconds)
    acknowledge(ready, str(os.getpid()))
    time.sleep(60)


def write_when_told(root: Path, ready: Path, go: Path, outcome: Path) -> None:
    """Take a short lease, and write under its guard only when `go` is there: by then it may belong to another process."""
    objects = LocalObjects(root)
    lease = Lease.acquire(objects, LEASE, seconds=0.3)
    log = QueryLog(objects, PREFIX)
    log.append_answers(answers(["before"]), guard=lease.check)
    acknowledge(ready, "ready")
    wait_for(go)
    try:
        log.append_answers(answers(["stale"]), guard=lease.check)
    except CccountError as error:
        acknowledge(outcome, f"{type(error).__name__}: {error}")
    else:
        acknowledge(outcome, "written")
