"""File access behind one small interface: a workspace lies in a folder (here) or in an object store (`remote.py`).

A key is a relative path with `/`. Everything is written through this interface, object by object (a shard is one); arrays are
read through `zarr_store`, which fetches parts of a shard. What `create` and `replace` return from is durable: it survives
`kill -9` and power loss.
"""

import errno
import fcntl
import hashlib
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import zarr.abc.store
import zarr.storage

from storage.errors import ConflictError, InputError, MissingObjectError, StoreError
from storage.reading import open_regular, read_regular

REMOTE = ("s3", "memory")  # schemes of object stores; `memory` is for one process, to try things
TEMPORARY = ".tmp-"  # names that start with a dot are skipped by pyarrow.dataset: a torn one never breaks a scan


class Objects(Protocol):
    """The operations that a workspace needs from whatever it lies on."""

    @property
    def location(self) -> str:
        """What a user would type to get here."""

    @property
    def locks_can_break(self) -> bool:
        """Whether a holder of `locked` that hangs is overtaken: then what it writes afterwards must be conditional."""

    def read(self, key: str) -> bytes:
        """Return the whole object; `MissingObjectError` if there is none."""

    def read_range(self, key: str, offset: int, size: int) -> bytes:
        """Return `size` bytes from `offset` on; fewer if the object ends before."""

    def read_into(self, key: str, room: memoryview) -> int:
        """Read the object's beginning to a place in memory, as much as has room; return how much that was."""

    def size(self, key: str) -> int | None:
        """Return the object's size in bytes, or None if there is none."""

    def keys(self, prefix: str) -> list[str]:
        """Return all keys below `prefix`, sorted, without temporary files."""

    def create(self, key: str, data: bytes) -> None:
        """Write a new object, durably and exclusively: `ConflictError` if the key is taken."""

    def replace(self, key: str, data: bytes) -> None:
        """Write an object, durably; a reader sees the old one or the new one, never a mixture."""

    def swap(self, key: str, data: bytes, expected: bytes | None) -> None:
        """Replace an object that still is `expected` (None: not there), or raise `ConflictError`. Called under `locked(key)`."""

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

    def leftovers(self, prefix: str) -> list[str]:
        """Return what `sweep` would remove below `prefix`."""


class LocalObjects:
    """Objects in a local (or network-mounted) folder."""

    locks_can_break = False  # the kernel lets go of them when the process dies, and not before

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def location(self) -> str:
        return str(self.root)

    def path(self, key: str) -> Path:
        return self.root / key

    def read(self, key: str) -> bytes:
        try:
            return read_regular(self.path(key))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise MissingObjectError(f"{self.path(key)} does not exist") from error
        except OSError as error:
            raise explained(error, self.path(key)) from error

    def read_range(self, key: str, offset: int, size: int) -> bytes:
        try:
            with open_regular(self.path(key)) as source:
                source.seek(offset)
                return source.read(size)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise MissingObjectError(f"{self.path(key)} does not exist") from error
        except OSError as error:
            raise explained(error, self.path(key)) from error

    def read_into(self, key: str, room: memoryview) -> int:
        try:
            with open_regular(self.path(key)) as source:
                return source.readinto(room)  # type: ignore[attr-defined, no-any-return]
        except (FileNotFoundError, NotADirectoryError) as error:
            raise MissingObjectError(f"{self.path(key)} does not exist") from error
        except OSError as error:
            raise explained(error, self.path(key)) from error

    def size(self, key: str) -> int | None:
        try:
            return self.path(key).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise explained(error, self.path(key)) from error

    def keys(self, prefix: str) -> list[str]:
        top = self.path(prefix)
        found = []
        try:
            for folder, _, names in os.walk(top, onerror=_raise_unless_absent):
                here = Path(folder).relative_to(self.root).as_posix()
                start = "" if here == "." else f"{here}/"  # by text: a log lists at every append, and Path is ten times slower
                found += [start + name for name in names if not _is_temporary(name)]
        except OSError as error:
            raise explained(error, top) from error
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

    def swap(self, key: str, data: bytes, expected: bytes | None) -> None:
        try:
            found: bytes | None = self.read(key)
        except MissingObjectError:
            found = None
        if found != expected:
            raise ConflictError(f"{self.path(key)} was changed by another process meanwhile")
        self.replace(key, data)

    @contextmanager
    def _written(self, key: str, data: bytes) -> Iterator[Path]:
        """A durable temporary file beside `key`; the folder is made durable when the caller has put it in its place."""
        target = self.path(key)
        temporary = temporary_beside(target)
        try:
            make_folder(target.parent)
            try:
                with temporary.open("xb") as sink:
                    sink.write(data)
                    sink.flush()
                    os.fsync(sink.fileno())
                yield temporary
            finally:
                temporary.unlink(missing_ok=True)
            sync_folder(target.parent)
        except OSError as error:
            raise explained(error, target) from error

    def delete(self, prefix: str) -> None:
        top = self.path(prefix)
        try:
            if top.is_dir():
                _remove_folder(top)
            else:
                top.unlink(missing_ok=True)
        except NotADirectoryError:  # something above the key is a file: there is no such key
            return
        except OSError as error:
            raise explained(error, top) from error

    def sync(self, key: str) -> None:
        try:
            descriptor = os.open(self.path(key), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            # zarr makes the folders above a chunk and syncs none of them: without this a power loss may take a whole folder.
            for folder in (self.path(key).parent, *self.path(key).parent.parents):
                sync_folder(folder)
                if folder == self.root:
                    break
        except OSError as error:
            raise explained(error, self.path(key)) from error

    @contextmanager
    def locked(self, key: str) -> Iterator[None]:
        # flock(2) belongs to the open file, so it excludes threads as well, and the kernel lets go when the process dies.
        path = self.path(key).with_name(f".lock-{Path(key).name}")
        try:
            make_folder(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise explained(error, path) from error
        try:
            _lock(descriptor, path)
            yield
        finally:
            os.close(descriptor)

    def zarr_store(self, *, read_only: bool) -> zarr.abc.store.Store:
        return zarr.storage.LocalStore(self.root, read_only=read_only)

    def sweep(self) -> list[str]:
        swept = []
        for name in self.leftovers(""):
            try:
                self.path(name).unlink(missing_ok=True)
            except OSError:  # a folder that may only be read: its leftovers are listed by `leftovers`, and harm nobody
                continue
            swept.append(name)
        return swept

    def leftovers(self, prefix: str) -> list[str]:
        found = []
        for folder, _, names in os.walk(self.path(prefix)):
            here = Path(folder)
            found += [(here / name).relative_to(self.root).as_posix() for name in names if _is_leftover(here / name)]
        return sorted(found)


def open_objects(location: str | Path) -> Objects:
    """Return the objects at a folder or URL.

    >>> open_objects("census").location
    'census'
    """
    text = str(location)
    scheme, found, _ = text.partition("://")
    if not found:
        return LocalObjects(Path(text))
    if scheme not in REMOTE:
        raise InputError(f"{text!r} is neither a local folder nor an object store that cccount knows: write s3://bucket/prefix")
    from storage.remote import RemoteObjects  # its client takes a moment to load

    return RemoteObjects(text)


def is_remote(location: str | Path) -> bool:
    """Whether this names a place in an object store.

    >>> is_remote("s3://bucket/photos"), is_remote("photos")
    (True, False)
    """
    return str(location).partition("://")[0] in REMOTE and "://" in str(location)


def _is_temporary(name: str) -> bool:
    return name.startswith((TEMPORARY, ".lock-")) or name.endswith(".partial")


_LOCK_SECONDS = 30.0


def _lock(descriptor: int, path: Path) -> None:
    """Take the lock, but do not wait for ever: its holder may be a process that somebody has stopped."""
    deadline = time.monotonic() + _LOCK_SECONDS
    pause = 0.0005
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise ConflictError(
                    f"{path} has been locked for {_LOCK_SECONDS:.0f} s by another process, which may hang or be stopped: "
                    f"see who holds it with `fuser {path}`, continue or end that process, and run the same command again"
                ) from error
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        else:
            return


_STALE_SECONDS = 3600.0
_HOST = hashlib.blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()


def temporary_beside(target: Path) -> Path:
    """Return a new name for a file that becomes `target`; it tells `sweep` which process of which host is writing it."""
    return target.with_name(f"{TEMPORARY}{os.getpid()}-{_HOST}-{secrets.token_hex(6)}")


# Only names of exactly these forms are ours or zarr's: a user may keep images, and half-finished downloads, in the same folder.
_OWN_NAME = re.compile(re.escape(TEMPORARY) + r"(?P<process>\d+)-(?P<host>[0-9a-f]{8})-[0-9a-f]{12}")
_ZARR_NAME = re.compile(r".+\.[0-9a-f]{32}\.partial")


def _is_leftover(path: Path) -> bool:
    """Whether nobody will finish this temporary file: its process is dead, or, where that cannot be known, it is old."""
    own = _OWN_NAME.fullmatch(path.name)
    if own is not None and own["host"] == _HOST:
        return not _is_alive(int(own["process"]))
    if own is None and _ZARR_NAME.fullmatch(path.name) is None:
        return False
    try:
        return time.time() - path.stat().st_mtime > _STALE_SECONDS
    except FileNotFoundError:
        return False


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        return True
    return True


def _raise_unless_absent(error: OSError) -> None:
    # os.walk is silent by default, and an unreadable folder would look like an empty one: work that is done would look undone.
    if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        raise error


def _remove_folder(top: Path) -> None:
    for attempt in range(10):
        for folder, folders, names in os.walk(top, topdown=False):
            for name in names:
                (Path(folder) / name).unlink(missing_ok=True)
            for name in folders:
                _remove_if_empty(Path(folder) / name)
        _remove_if_empty(top)
        if top.is_symlink() or not top.exists():  # a link to a bigger disk is the user's: it stays, and stays usable
            return
        time.sleep(0.01 * attempt)  # a writer that is just being told to stop put one more file in
    top.rmdir()


def _remove_if_empty(folder: Path) -> None:
    if folder.is_symlink():
        return
    try:
        folder.rmdir()
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:
            raise


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, durably."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def explained(error: OSError, path: Path) -> StoreError:
    """Return the one-line `StoreError` for what the operating system refused."""
    reasons = {
        errno.ENOSPC: "the disk is full: free some space and run the same command again, what is done stays done",
        errno.EDQUOT: "the disk quota is used up: free some space and run the same command again",
        errno.EACCES: "no permission: make the folder writable for this user, or choose another one",
        errno.EPERM: "not permitted: make the folder writable for this user, or choose another one",
        errno.EROFS: "the file system is read-only: choose another folder",
        errno.ENOENT: "it was removed meanwhile: run the same command again",
        errno.ENOTDIR: "a file is where a folder should be: choose another place",
        errno.EEXIST: "a file is where a folder should be: choose another place",
    }
    return StoreError(f"cannot use {path}: {reasons.get(error.errno or 0, error.strerror or str(error))}")


@contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses inside into a `StoreError`; for file operations only, not for callers' code."""
    try:
        yield
    except OSError as error:
        raise explained(error, path) from error


__all__ = [
    "LocalObjects", "Objects", "explained", "explaining", "is_remote", "make_folder", "open_objects", "sync_folder",
    "temporary_beside",
]  # fmt: skip
