"""The lease of a campaign: of all processes only its holder may advance it, and its fencing number unmasks a stale one.

Every take-over raises the fence, under the lock under which guarded writes run: a holder that slept past its end finds
another fence in `check` and writes nothing. The fence never goes back: a released lease keeps its file. Cost: one small file.
"""

import json
import os
import secrets
import socket
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType

from storage.errors import ConflictError, CorruptionError, InputError, LeaseError, MissingObjectError, StoreError
from storage.objects import Objects
from storage.problems import Problem

REPAIR = "make sure that no process advances this campaign, and delete it"


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, told apart from a later one with the same number: `started` counts from the boot in `boot`."""

    host: str
    pid: int
    started: int
    boot: str
    token: str

    @classmethod
    def this_process(cls) -> "Holder":
        pid = os.getpid()
        return cls(socket.gethostname(), pid, _start_of(pid) or 0, _boot(), secrets.token_hex(16))

    def is_dead(self) -> bool:
        """True only if this host can see that the process is gone; the process of another host may always be alive."""
        here = bool(self.boot) and (self.host, self.boot) == (socket.gethostname(), _boot())
        return here and _start_of(self.pid) != self.started


@dataclass(frozen=True, slots=True)
class _State:
    fence: int
    holder: Holder | None
    expires_at: datetime | None

    def is_held(self) -> bool:
        """Whether the time of a living holder is not over; one that is a dead process of this host holds nothing."""
        if self.holder is None or self.expires_at is None:
            return False
        return self.expires_at > datetime.now(UTC) and not self.holder.is_dead()


class Lease:
    """Made by `acquire`. As a context manager it renews itself in a daemon thread and is released at the end."""

    def __init__(self, objects: Objects, key: str, fence: int, holder: Holder, seconds: float) -> None:
        self.objects = objects
        self.key = key
        self.fence = fence
        self.holder = holder
        self.seconds = seconds
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @classmethod
    def acquire(cls, objects: Objects, key: str, *, seconds: float = 60.0) -> "Lease":
        """Take the lease at `key` (`campaigns/<name>/lease.json`), or raise `LeaseError` that says who holds it until when.

        A holder that is a dead process of this host is followed at once, any other one after its end.
        """
        if not seconds > 0:
            raise InputError(f"a lease lasts longer than 0 seconds, not {seconds}")
        with objects.locked(key):
            state = _read(objects, key)
            if state.is_held() and state.holder:
                raise LeaseError(
                    f"campaign {Path(key).parent.name} is being advanced by pid {state.holder.pid} on host {state.holder.host} "
                    f"until {state.expires_at:%Y-%m-%d %H:%M:%S} UTC: wait for it, or stop that process"
                )
            lease = cls(objects, key, state.fence + 1, Holder.this_process(), seconds)
            lease._write()
        return lease

    def check(self) -> None:
        """Raise `LeaseError` unless this is still the holder. As a guard of a write it runs under the lock of the campaign."""
        state = _read(self.objects, self.key)
        if state.fence != self.fence or (state.holder is not None and state.holder.token != self.holder.token):
            raise LeaseError(f"this process lost the lease (fence {self.fence}, now {state.fence}): nothing was written")
        if state.holder is None:
            raise LeaseError(f"this process released the lease (fence {self.fence}) before: nothing was written")

    def renew(self) -> None:
        """Begin the lease's time again; `LeaseError` if another process took it over."""
        with self.objects.locked(self.key):
            self.check()
            self._write()

    def release(self) -> None:
        """Let the next process in. Nothing happens if the lease was lost already."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        with self.objects.locked(self.key):
            try:
                self.check()
            except LeaseError:
                return
            _replace(self.objects, self.key, _State(self.fence, None, None))

    def __enter__(self) -> "Lease":
        self._thread = threading.Thread(target=self._keep, name=f"lease {self.key}", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()

    def _keep(self) -> None:
        while not self._stop.wait(self.seconds / 3):
            try:
                self.renew()
            except (LeaseError, CorruptionError):
                return  # `check` meets the same and raises it where somebody listens
            except (StoreError, ConflictError):
                continue  # a full disk or a lock that hangs may be over before the end; if not, `check` tells who took over

    def _write(self) -> None:
        expires_at = datetime.now(UTC) + timedelta(seconds=self.seconds)
        _replace(self.objects, self.key, _State(self.fence, self.holder, expires_at))


def is_held(objects: Objects, key: str) -> bool:
    """Whether a process holds the lease at this moment."""
    return _read(objects, key).is_held()


def _read(objects: Objects, key: str) -> _State:
    try:
        data = objects.read(key)
    except MissingObjectError:
        return _State(0, None, None)
    try:
        content = json.loads(data)
        holder = content["holder"]
        expires_at = content["expires_at"]
        return _State(
            int(content["fence"]),
            None if holder is None else Holder(**holder),
            None if expires_at is None else datetime.fromisoformat(expires_at).astimezone(UTC),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptionError(f"{objects.location}/{key} is damaged ({error}): {REPAIR}") from error


def lease_problems(objects: Objects, key: str) -> Iterator[Problem]:
    """Check that a lease can be read; nothing is raised for damage."""
    try:
        _read(objects, key)
    except CorruptionError as error:
        path = f"{objects.location}/{key}"
        yield Problem(path, str(error).removeprefix(f"{path} ").removesuffix(f": {REPAIR}"), REPAIR)


def _replace(objects: Objects, key: str, state: _State) -> None:
    content = {
        "fence": state.fence,
        "holder": None if state.holder is None else asdict(state.holder),
        "expires_at": None if state.expires_at is None else state.expires_at.isoformat(),
    }
    objects.replace(key, json.dumps(content, indent=1).encode())


def _boot() -> str:
    """Return what a process number is valid for: this boot of the machine, and this container's space of numbers."""
    try:
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _start_of(pid: int) -> int | None:
    """Return when a process started, in clock ticks since the boot; None if it is gone, or only waits to be buried."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])
