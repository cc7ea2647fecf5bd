"""The lease of a campaign: of all processes only its holder may advance it, and its fencing number unmasks a stale one.

Every take-over raises the fence, under the lock under which guarded writes run: a holder that slept past its end finds
another fence in `check` and writes nothing. The fence never goes back: a released lease keeps its file, and every change of it is
a swap of what was read, so that it holds also on an object store, where a lock can be overtaken. Cost: one small file.

The end of a lease is a time of the holder's clock, and clocks are wrong at times. An end that lies farther ahead than the lease
lasts is not believed: whoever wants the lease watches whether it is renewed, for about the time of two renewals, and takes it
over if it is not. So a holder that was killed with its clock a year ahead blocks others for a minute, and not for a year.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType

from storage.errors import ConflictError, CorruptionError, InputError, LeaseError, MissingObjectError, StoreError
from storage.holder import Holder
from storage.objects import Objects
from storage.problems import Problem
from storage.reading import known_errors, reason
from storage.stamp import BLANK, filled, intact
from storage.typed import made, value_of

_SECONDS = 60.0  # that a lease lasts, if it does not say
_CLOCKS_DIFFER = 120.0  # seconds between hosts that nobody has to mind
_LONGEST_WATCH = 90.0
REPAIR = "make sure that no process advances this campaign, and delete it"


@dataclass(frozen=True, slots=True)
class _State:
    fence: int
    holder: Holder | None
    expires_at: datetime | None
    stored: bytes | None = None  # as which it was read
    seconds: float = _SECONDS  # that it lasts from each renewal on

    def is_held(self) -> bool:
        """Whether the time of a living holder is not over; one that is a dead process of this host holds nothing."""
        if self.holder is None or self.expires_at is None:
            return False
        return self.expires_at > datetime.now(UTC) and not self.holder.is_dead()

    def is_believed(self) -> bool:
        """Whether the end can be right: it lies no farther ahead than the lease lasts, give or take what clocks differ."""
        return self.expires_at is None or self.expires_at <= datetime.now(UTC) + timedelta(seconds=self.seconds + _CLOCKS_DIFFER)


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
        watched = _watched(objects, key)
        with objects.locked(key):
            state = _read(objects, key)
            if state.is_held() and state.holder and (watched is None or state.stored != watched):
                raise LeaseError(
                    f"campaign {Path(key).parent.name} is being advanced by pid {state.holder.pid} on host {state.holder.host} "
                    f"until {state.expires_at:%Y-%m-%d %H:%M:%S} UTC: wait for it, or stop that process"
                )
            lease = cls(objects, key, state.fence + 1, Holder.this_process(), seconds)
            try:
                lease._write(state)
            except (ConflictError, MissingObjectError) as error:
                raise LeaseError(f"campaign {Path(key).parent.name}: another process was faster: wait for it") from error
        return lease

    def check(self) -> None:
        """Raise `LeaseError` unless this is still the holder. As a guard of a write it runs under the lock of the campaign."""
        self._checked()

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Be the holder for a moment in which nobody can take over: for a write that is quick; `LeaseError` if it is lost."""
        with self.objects.locked(self.key):
            self._checked()
            yield

    def _checked(self) -> _State:
        state = _read(self.objects, self.key)
        if state.fence != self.fence or (state.holder is not None and state.holder.token != self.holder.token):
            raise LeaseError(f"this process lost the lease (fence {self.fence}, now {state.fence}): nothing was written")
        if state.holder is None:
            raise LeaseError(f"this process released the lease (fence {self.fence}) before: nothing was written")
        return state

    def renew(self) -> None:
        """Begin the lease's time again; `LeaseError` if another process took it over."""
        with self.objects.locked(self.key):
            self._write(self._checked())

    def release(self) -> None:
        """Let the next process in. Nothing happens if the lease was lost already."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        with self.objects.locked(self.key):
            try:
                _swap(self.objects, self.key, self._checked(), _State(self.fence, None, None))
            except (ConflictError, MissingObjectError):
                return

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

    def _write(self, before: _State) -> None:
        expires_at = datetime.now(UTC) + timedelta(seconds=self.seconds)
        _swap(self.objects, self.key, before, _State(self.fence, self.holder, expires_at, seconds=self.seconds))


def _watched(objects: Objects, key: str) -> bytes | None:
    """Watch a lease whose end cannot be right, and return what it is if nobody renews it; None for any other lease."""
    state = _read(objects, key)
    if not state.is_held() or state.is_believed():
        return None
    end = time.monotonic() + min(_LONGEST_WATCH, 2.0 * state.seconds / 3.0 + 1.0)
    while time.monotonic() < end:
        time.sleep(min(1.0, state.seconds / 10.0))
        if _read(objects, key).stored != state.stored:
            return None  # its holder lives, and only its clock is wrong
    return state.stored


def is_held(objects: Objects, key: str) -> bool:
    """Whether a process holds the lease at this moment; nobody is believed who says that it does for days."""
    state = _read(objects, key)
    return state.is_held() and state.is_believed()


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
            value_of(content["fence"], int, "fence"),
            None if holder is None else made(Holder, holder),
            None if expires_at is None else datetime.fromisoformat(expires_at).astimezone(UTC),
            data,
            float(content.get("seconds", _SECONDS)),
        )
    except known_errors() as error:
        raise CorruptionError(f"{objects.location}/{key} is damaged ({reason(error)}): {REPAIR}") from error


def lease_problems(objects: Objects, key: str) -> Iterator[Problem]:
    """Check that a lease can be read; nothing is raised for damage."""
    path = f"{objects.location}/{key}"
    try:
        if intact(_read(objects, key).stored or b"") is False:
            yield Problem(path, "its bytes are not those that were written", REPAIR)
    except (CorruptionError, StoreError) as error:  # the store's for a pipe or a device
        yield Problem(path, str(error).removeprefix(f"{path} ").removesuffix(f": {REPAIR}"), REPAIR)


def _swap(objects: Objects, key: str, before: _State, state: _State) -> None:
    content = {
        "fence": state.fence,
        "holder": None if state.holder is None else asdict(state.holder),
        "expires_at": None if state.expires_at is None else state.expires_at.isoformat(),
    } | ({} if state.holder is None else {"seconds": state.seconds})
    # Of two members of one name the last one counts: whoever reads a lease, also an earlier version, finds these three.
    text = json.dumps(content, indent=1).replace("{", f'{{\n "fence": "{BLANK}",', 1)
    objects.swap(key, filled(text.encode()), before.stored)


__all__ = ["Holder", "Lease", "is_held", "lease_problems"]
