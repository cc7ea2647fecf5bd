"""File access behind one small interface, so that a workspace can lie in a folder today and in an object store tomorrow.

A key is a relative path with `/`. Small things (tables, markers, log parts, leases) go through this interface whole; large
arrays go through `zarr_store`. What `create` and `replace` return from is durable: it survives `kill -9` and power loss.
"""

import errno
import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import zarr.abc.store
import zarr.storage

from storage.errors import ConflictError, InputError, MissingObjectError, StoreError

TEMPORARY = ".tmp-"  # names that start with a dot are skipped by pyarrow.dataset: a torn one never breaks a scan


class Objects(Protocol):
    """The operations that a workspace needs from whatever it lies on."""

    @property
    def location(self) -> str:
        """What a user would type to get here."""

    def read(self, key: str) -> bytes:
        """Return the whole object; `MissingObjectError` if there is none."""

    def size(self, key: str) -> int | None:
        """Return the object's size in bytes, or None if there is none."""

    def keys(self, prefix: str) -> list[str]:
        """Return all keys below `prefix`, sorted, without temporary files."""

    def create(self, key: str, data: bytes) -> None:
        """Write a new object, durably and exclusively: `ConflictError` if the key is taken."""

    def replace(self, key: str, data: bytes) -> None:
        """Write an object, durably; a reader sees the old one or the new one, never a mixture."""

    def delete(self, prefix: str) -> None:
        """Remove the object or everything below the prefix; nothing happens if there is none."""

    def sync(self, key: str) -> None:
        """Make an object durable that was written through `zarr_store`."""

    def locked(self, key: str) -> AbstractContextManager[None]:
        """Exclude every other process and thread from the same `locked(key)`; for moments, not for minutes."""

    def zarr_store(self, *, read_only: bool) -> zarr.abc.store.Store:
        """Return a zarr store over all keys."""

    def sweep(self) -> list[str]:
        """Remove temporary files that dead writers left behind, and return their names."""


class LocalObjects:
    """Objects in a local (or network-mounted) folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def location(self) -> str:
        return str(self.root)

    def path(self, key: str) -> Path:
        return self.root / key

    def read(self, key: str) -> bytes:
        try:
            return self.path(key).read_bytes()
        except FileNotFoundError as error:
            raise MissingObjectError(f"{self.path(key)} does not exist") from error
        except OSError as error:
            raise _explained(error, self.path(key)) from error

    def size(self, key: str) -> int | None:
        try:
            return self.path(key).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _explained(error, self.path(key)) from error

    def keys(self, prefix: str) -> list[str]:
        found = []
        for folder, _, names in os.walk(self.path(prefix), onerror=_unless_missing):
            here = Path(folder).relative_to(self.root).as_posix() + "/"
            here = "" if here == "./" else here
            found += [here + name for name in names if not _is_temporary(name)]  # not by Path: a log lists often
        return sorted(found)

    def create(self, key: str, data: bytes) -> None:
        with self._written(key, data) as temporary:
            try:
                # link(2) fails where rename(2) would overwrite: this is what makes the write exclusive.
                os.link(temporary, self.path(key))
            except FileExistsError as error:
                raise ConflictError(f"{self.path(key)} exists already: another process wrote it first") from error

    def replace(self, key: str, data: bytes) -> None:
        with self._written(key, data) as temporary:
            temporary.replace(self.path(key))

    @contextmanager
    def _written(self, key: str, data: bytes) -> Iterator[Path]:
        """A durable temporary file beside `key`; the folder is made durable when the caller has put it in its place."""
        target = self.path(key)
        temporary = target.with_name(f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(6)}")
        try:
            _make_folder(target.parent)
            try:
                with temporary.open("xb") as sink:
                    sink.write(data)
                    sink.flush()
                    os.fsync(sink.fileno())
                yield temporary
            finally:
                temporary.unlink(missing_ok=True)
            _sync_folder(target.parent)
        except OSError as error:
            raise _explained(error, target) from error

    def delete(self, prefix: str) -> None:
        top = self.path(prefix)
        try:
            if not top.is_dir():
                top.unlink(missing_ok=True)
                return
            for folder, folders, names in os.walk(top, topdown=False):
                for name in names:
                    (Path(folder) / name).unlink(missing_ok=True)
                for name in folders:
                    (Path(folder) / name).rmdir()
            top.rmdir()
        except OSError as error:
            raise _explained(error, top) from error

    def sync(self, key: str) -> None:
        try:
            descriptor = os.open(self.path(key), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            for folder in self.path(key).relative_to(self.root).parents:  # zarr made them without a sync
                _sync_folder(self.root / folder)
        except OSError as error:
            raise _explained(error, self.path(key)) from error

    @contextmanager
    def locked(self, key: str) -> Iterator[None]:
        # flock(2) belongs to the open file, so it excludes threads as well, and the kernel lets go when the process dies.
        path = self.path(key).with_name(f".lock-{Path(key).name}")
        try:
            _make_folder(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise _explained(error, path) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def zarr_store(self, *, read_only: bool) -> zarr.abc.store.Store:
        return zarr.storage.LocalStore(self.root, read_only=read_only)

    def sweep(self) -> list[str]:
        # A name carries the writer's process id: what a living process on this host is still writing stays.
        swept = []
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = Path(folder) / name
                if _is_leftover(path):
                    path.unlink(missing_ok=True)
                    swept.append(path.relative_to(self.root).as_posix())
        return sorted(swept)


def open_objects(location: str | Path) -> Objects:
    """Return the objects at a folder or URL.

    >>> open_objects("census").location
    'census'
    """
    text = str(location)
    if "://" in text:
        raise InputError(f"{text!r} is not a local folder: object-store workspaces are not supported by this version")
    return LocalObjects(Path(text))


def _is_temporary(name: str) -> bool:
    return name.startswith((TEMPORARY, ".lock-")) or name.endswith(".partial")


_STALE_SECONDS = 3600.0


def _is_leftover(path: Path) -> bool:
    name = path.name
    if name.startswith(TEMPORARY):
        process = name.removeprefix(TEMPORARY).partition("-")[0]
        return not (process.isdigit() and Path(f"/proc/{process}").exists())
    if name.endswith(".partial"):  # zarr's own temporary name tells nothing about its writer: only its age does
        try:
            return time.time() - path.stat().st_mtime > _STALE_SECONDS
        except FileNotFoundError:
            return False
    return False


def _unless_missing(error: OSError) -> None:
    # os.walk would pass over a folder that it cannot read, and a log that cannot be read must not look like an empty one.
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise _explained(error, Path(error.filename)) from error


def _make_folder(folder: Path) -> None:
    # A durable file in a folder whose own name is not durable is lost with it: each new name is made durable in its parent.
    if not folder.exists():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _explained(error: OSError, path: Path) -> StoreError:
    reasons = {
        errno.ENOSPC: "the disk is full: free some space and run the same command again, what is done stays done",
        errno.EDQUOT: "the disk quota is used up: free some space and run the same command again",
        errno.EACCES: "no permission: make the folder writable for this user, or choose another one",
        errno.EPERM: "not permitted: make the folder writable for this user, or choose another one",
        errno.EROFS: "the file system is read-only: choose another folder",
        errno.ENOTDIR: "a file is where a folder should be: choose another place",
    }
    return StoreError(f"cannot use {path}: {reasons.get(error.errno or 0, error.strerror or str(error))}")


__all__ = ["LocalObjects", "Objects", "open_objects"]
