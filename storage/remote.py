"""A workspace in an object store: `s3://bucket/prefix`, or `memory://name` for one process alone.

Every write is one PUT, which a store does whole or not at all; exclusive ones carry If-None-Match, changes If-Match. A store has
no locks, so `locked` is an object that is swapped by If-Match: a holder that died or hangs is overtaken, and whatever must not be
written by one that was overtaken rests on conditional writes as well (log parts, markers, the lease). Memory: one object.
"""

import json
import os
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import zarr.abc.store
import zarr.storage

from storage.errors import ConflictError, InputError, MissingObjectError, StoreError
from storage.holder import Holder

if TYPE_CHECKING:
    from obstore.store import ObjectStore
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype

LOCK_SECONDS = 30.0  # a lock that has not moved for so long is taken over: what it guards takes moments
_RETRY_SECONDS = 30
_FREE = b"free"


class RemoteObjects:
    """Objects below a prefix of an object store. Threads may share it; a forked process may not (the client has threads)."""

    def __init__(self, location: str) -> None:
        self.location = location.rstrip("/")
        scheme, _, rest = self.location.partition("://")
        names = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
        self._store = _opened(scheme, rest, next((url for name in names if (url := os.environ.get(name))), None))

    locks_can_break = True

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self.location,)  # credentials never travel: every process takes them from its own environment

    def read(self, key: str) -> bytes:
        return self._get(key)[0]

    def read_range(self, key: str, offset: int, size: int) -> bytes:
        """Return `size` bytes from `offset` on; fewer if the object ends before."""
        import obstore

        with _explained(self._where(key)):
            return bytes(obstore.get(self._store, key, options={"range": (offset, offset + size)}).bytes())

    def read_into(self, key: str, room: memoryview) -> int:
        data = self.read(key)[: len(room)]
        room[: len(data)] = data
        return len(data)

    def size(self, key: str) -> int | None:
        import obstore

        if not key:
            return None
        try:
            with _explained(self._where(key)):
                return int(obstore.head(self._store, key)["size"])
        except MissingObjectError:
            return None

    def keys(self, prefix: str) -> list[str]:
        return sorted(key for key in self._all(prefix) if not key.rpartition("/")[2].startswith((".lock-", ".tmp-")))

    def create(self, key: str, data: bytes) -> None:
        self._conditional(key, data, None)

    def replace(self, key: str, data: bytes) -> None:
        self._put(key, data, "overwrite")

    def swap(self, key: str, data: bytes, expected: bytes | None) -> None:
        if expected is None:
            self._conditional(key, data, None)
            return
        found, version = self._get(key)
        if found != expected:
            raise ConflictError(f"{self._where(key)} was changed by another process meanwhile")
        self._conditional(key, data, version)

    def delete(self, prefix: str) -> None:
        import obstore

        with _explained(self._where(prefix)):
            doomed = [*self._all(prefix), *([prefix] if prefix else [])]
            if doomed:
                obstore.delete(self._store, doomed)

    def sync(self, key: str) -> None:
        if self.size(key) is None:
            raise StoreError(f"cannot use {self._where(key)}: it was removed meanwhile: run the same command again")

    @contextmanager
    def locked(self, key: str) -> Iterator[None]:
        folder, _, name = key.rpartition("/")
        lock = f"{folder}/.lock-{name}" if folder else f".lock-{name}"
        mine = json.dumps(asdict(Holder.this_process())).encode()
        with _mutex(self._where(lock)):  # threads of one process need not ask the store to exclude each other
            version = self._take(lock, mine)
            try:
                yield
            finally:
                with suppress(ConflictError, MissingObjectError):  # it was overtaken: the lock is another's now
                    self._conditional(lock, _FREE, version)

    def zarr_store(self, *, read_only: bool) -> zarr.abc.store.Store:
        return _reader()(self._store, read_only=read_only)

    def sweep(self) -> list[str]:
        return []  # a PUT leaves nothing half-written

    def leftovers(self, prefix: str) -> list[str]:  # noqa: ARG002
        return []

    def _where(self, key: str) -> str:
        return f"{self.location}/{key}"

    def _all(self, prefix: str) -> list[str]:
        import obstore

        with _explained(self._where(prefix)):
            return [str(meta["path"]) for page in obstore.list(self._store, prefix or None) for meta in page]

    def _get(self, key: str) -> tuple[bytes, str]:
        import obstore

        with _explained(self._where(key)):
            found = obstore.get(self._store, key)
            return bytes(found.bytes()), str(found.meta["e_tag"])

    def _put(self, key: str, data: bytes, mode: Any) -> str:
        """Write and return the new version."""
        import obstore

        with _explained(self._where(key)):
            # One PUT: of a multipart upload only the last request is conditional, and on some stores not even that.
            return str(obstore.put(self._store, key, data, mode=mode, use_multipart=False)["e_tag"])

    def _conditional(self, key: str, data: bytes, version: str | None) -> str:
        """Write if the object still has this version (None: if there is none), and return the new one."""
        try:
            return self._put(key, data, "create" if version is None else {"e_tag": version})
        except ConflictError:
            # The network may have lost the answer to our own write, and the client has tried again: then what is there is ours.
            found, now = self._found(key)
            if found != data or now is None:
                raise
            return now

    def _found(self, key: str) -> tuple[bytes | None, str | None]:
        try:
            return self._get(key)
        except MissingObjectError:
            return None, None

    def _take(self, lock: str, mine: bytes) -> str:
        """Swap the lock from free, or from a holder that is dead or has not moved for `LOCK_SECONDS` of this host's own clock."""
        seen, since, pause = b"", time.monotonic(), 0.002
        while True:
            found, version = self._found(lock)
            if found != seen and found is not None:
                seen, since = found, time.monotonic()
            if found is None or found == _FREE or _is_dead(found) or time.monotonic() - since > LOCK_SECONDS:
                try:
                    return self._conditional(lock, mine, version)
                except (ConflictError, MissingObjectError):
                    continue  # another was faster
            time.sleep(pause * (1 + secrets.randbelow(100) / 100))
            pause = min(2 * pause, 0.1)


def _is_dead(lock: bytes) -> bool:
    try:
        return Holder(**json.loads(lock)).is_dead()
    except (ValueError, TypeError):
        return False  # not written by this version: wait for it to move


_mutexes: dict[str, threading.Lock] = {}


@contextmanager
def _mutex(name: str) -> Iterator[None]:
    with _mutexes.setdefault(name, threading.Lock()):
        yield


@lru_cache(maxsize=8)
def _opened(scheme: str, rest: str, endpoint: str | None) -> "ObjectStore":
    try:
        from obstore.store import MemoryStore, S3Store
    except ModuleNotFoundError as error:
        raise InputError(f"{scheme}://{rest} needs an extra package: install it with `pip install 'cccount[s3]'`") from error
    bucket, _, prefix = rest.partition("/")
    if not bucket:
        raise InputError(f"{scheme}://{rest} names no bucket: write s3://bucket/prefix")
    if scheme == "memory":
        return MemoryStore()
    return S3Store(
        bucket,
        prefix=prefix or None,
        config={"endpoint": endpoint} if endpoint else {},
        client_options={"allow_http": (endpoint or "").startswith("http://"), "connect_timeout": "5s", "timeout": "60s"},
        retry_config={"max_retries": 8, "retry_timeout": timedelta(seconds=_RETRY_SECONDS)},
    )


@lru_cache(maxsize=1)
def _reader() -> type[zarr.storage.ObjectStore[Any]]:
    class Reader(zarr.storage.ObjectStore["ObjectStore"]):
        """zarr's own store, with the store's refusals in our words: what is not explained passes for damage."""

        async def get(self, key: str, prototype: "BufferPrototype", byte_range: "ByteRequest | None" = None) -> "Buffer | None":
            with _explained(key):
                return await super().get(key, prototype, byte_range)

    return Reader


_REASONS: Mapping[str, str] = {
    "PermissionDeniedError": "no permission: the credentials in the environment may not do this",
    "UnauthenticatedError": "it does not accept the credentials in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)",
}


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """Turn what the store refuses into one line."""
    from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

    try:
        yield
    except FileNotFoundError as error:
        if "NoSuchBucket" in str(error):
            raise StoreError(f"cannot use {where}: there is no such bucket: make it first, or check AWS_ENDPOINT_URL") from error
        raise MissingObjectError(f"{where} does not exist") from error
    except AlreadyExistsError as error:
        raise ConflictError(f"{where} exists already: another process wrote it first") from error
    except PreconditionError as error:
        raise ConflictError(f"{where} was changed by another process meanwhile") from error
    except (BaseError, OSError) as error:
        reason = _REASONS.get(type(error).__name__, " ".join(str(error).split("\n\n")[0].split()))
        raise StoreError(f"cannot use {where}: {reason}") from error


__all__ = ["RemoteObjects"]
