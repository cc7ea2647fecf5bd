"""Real faults for storage tests: processes that are killed, disks that are full, folders that may not be written."""

import multiprocessing
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from storage.remote import RemoteObjects
from tests.forkserver import SERVER

_FORK = multiprocessing.get_context("fork")  # a spawned child would import everything anew: a second for each


class _Surroundings(dict[str, str]):
    """An environment that is in force as soon as it is unpickled: a store among the arguments after it looks there for its keys.

    A fork server has the one of the day on which it was started.
    """

    def __reduce__(self) -> tuple[Callable[[dict[str, str]], None], tuple[dict[str, str]]]:
        return _put_in_force, (dict(self),)


def _put_in_force(variables: dict[str, str]) -> None:
    os.environ.update(variables)


def _reported(
    result: Connection, _: _Surroundings | None, function: Callable[..., object], arguments: tuple[object, ...]
) -> None:
    try:
        result.send(("ok", function(*arguments)))
    except Exception as error:  # noqa: BLE001 - the parent raises nothing: the test looks at the error
        result.send((type(error).__name__, str(error)))


def started(function: Callable[..., object], *arguments: object) -> tuple[BaseProcess, Connection]:
    """Start a process; what it returns or raises can be received as ("ok", value) or (error name, message)."""
    context = _context(arguments)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_reported, args=(theirs, _Surroundings(os.environ), function, arguments), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def at_once(function: Callable[..., object], calls: Sequence[tuple[object, ...]]) -> list[tuple[str, object]]:
    """Run one process for each call, all at the same moment, and return what each returned or raised."""
    gate = _context(calls[0]).Barrier(len(calls))
    children = [started(_after_all_are_ready, gate, function, *arguments) for arguments in calls]
    results: list[tuple[str, object]] = []
    for process, result in children:
        assert result.poll(180), "a process hangs"
        results.append(result.recv())
        process.join()
    return results


def _context(arguments: Sequence[object]) -> Any:
    """The client of an object store has threads, and a fork cannot take them along."""
    return SERVER if any(isinstance(argument, RemoteObjects) for argument in arguments) else _FORK


def _after_all_are_ready(gate: Barrier, function: Callable[..., object], *arguments: object) -> object:
    gate.wait()
    return function(*arguments)


def killed_when(ready: Callable[[], bool], function: Callable[..., object], *arguments: object) -> None:
    """Start a process and kill -9 it as soon as `ready()` is true."""
    process, _ = started(function, *arguments)
    until(ready)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL, "the process ended before it was killed"


def later(seconds: float) -> Callable[[], bool]:
    """A condition that becomes true after a while."""
    moment = time.monotonic() + seconds
    return lambda: time.monotonic() > moment


def until(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 180
    while not ready():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.001)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of its own, of this size; only root can have one."""
    if os.geteuid() != 0:
        pytest.skip("a small disk must be mounted, and only root may mount")
    folder.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=False, capture_output=True
    ).returncode:
        pytest.skip("this machine does not let even root mount a tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill_up(disk: Path) -> Path:
    """Leave no byte free on the disk; deleting the returned file frees it again."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as sink:
        for size in (65536, 4096, 1):
            try:
                while True:
                    sink.write(b"x" * size)
            except OSError:
                continue
    return ballast


def as_somebody_else(function: Callable[..., object], *arguments: object) -> tuple[str, object]:
    """Run as a user without rights to other users' folders: root has them all."""

    def with_rights_dropped() -> object:
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        return function(*arguments)

    process, result = started(with_rights_dropped)
    assert result.poll(60), "the process hangs"
    outcome: tuple[str, object] = result.recv()
    process.join()
    return outcome


@contextmanager
def forbidden(folder: Path) -> Iterator[Path]:
    """A folder below `tmp_path` that anyone may read and that nobody but root may write."""
    folder.mkdir(exist_ok=True)
    for above in (folder.parent, *(above for above in folder.parents if above.name.startswith(("pytest-", "popen-")))):
        above.chmod(above.stat().st_mode | 0o055)
    mode = folder.stat().st_mode
    folder.chmod(0o555)
    try:
        yield folder
    finally:
        folder.chmod(mode)


def flip(path: Path, place: int) -> None:
    """Change one bit of one byte."""
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def cut(path: Path, size: int) -> None:
    os.truncate(path, size)
