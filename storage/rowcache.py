"""Rows at memory-map speed: a plain `.npy` copy of an array, built once on each host from the zarr shards.

Random rows from zarr cost milliseconds each, from the map microseconds. The file's name carries the array's fingerprint, so a
cache is never stale. Building reads shard by shard: memory of two shards, one pass; afterwards the pages belong to the kernel.
Behind the rows stands a stamp (`stamp.py`) for `cccount verify`: no reader of .npy looks there.
"""

import fcntl
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storage.arrays import ShardedArray
from storage.errors import InputError, StoreError
from storage.objects import LocalObjects, explained, explaining, make_folder, sync_folder, temporary_beside
from storage.stamp import Trailer


def row_cache(
    array: ShardedArray,
    folder: Path,
    name: str = "raw",
    prepare: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[Any]:
    """Return all rows as a read-only memory map, building it if this host has none yet.

    Parameters
    ----------
    name
        What `prepare` makes of the rows; caches of other names are left alone, older ones of this name are removed.
    prepare
        Applied to each block of rows; returns as many rows, of float32 when the array holds float32.
    progress
        Called with (rows done, rows in all) while building.
    """
    if not re.fullmatch(r"[a-z0-9_-]+", name):
        raise InputError(f"{name!r} cannot name a row cache: use small letters, digits, _ and -")
    path = folder / f"{name}-{array.fingerprint()}.npy"
    found = _opened(path, array.shape[0])
    if found is not None:
        return found
    with explaining(path):
        make_folder(folder)
    with _locked(folder / f".lock-{name}"):
        found = _opened(path, array.shape[0])  # another process of this host may have built it while this one waited
        if found is None:
            with explaining(path):
                _remove_others(folder, name)
            LocalObjects(folder).sweep()
            _build(array, path, prepare, progress)
            found = _opened(path, array.shape[0])
    if found is None:
        raise StoreError(f"{path} was removed or cut while it was being built: run the same command again")
    return found


def _build(
    array: ShardedArray,
    path: Path,
    prepare: Callable[[NDArray[Any]], NDArray[Any]] | None,
    progress: Callable[[int, int], None] | None,
) -> None:
    temporary, trailer = temporary_beside(path), Trailer()
    with explaining(path):
        sink = temporary.open("xb", buffering=0)  # nothing stays in a buffer on which close() could fail once more
    try:
        with sink:
            for shard, block in enumerate(_blocks(array, prepare)):
                with explaining(path):
                    if shard == 0:
                        _write(sink, _header(block, array.shape[0]), trailer)
                    _write(sink, np.ascontiguousarray(block).data.cast("B"), trailer)
                if progress is not None:
                    progress(array.shard_range(shard)[1], array.shape[0])
            with explaining(path):
                _write(sink, memoryview(trailer.bytes()))
                os.fsync(sink.fileno())
        with explaining(path):
            temporary.replace(path)
            sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _blocks(array: ShardedArray, prepare: Callable[[NDArray[Any]], NDArray[Any]] | None) -> Iterator[NDArray[Any]]:
    first: NDArray[Any] | None = None
    for shard in range(array.shards):
        start, stop = array.shard_range(shard)
        rows = array.read(start, stop)
        block = rows if prepare is None else prepare(rows)
        first = block if first is None else first
        if block.shape != (stop - start, *first.shape[1:]) or block.dtype != first.dtype:
            raise InputError(f"prepare made {block.dtype} {block.shape} of {stop - start} rows of {array.spec.name}")
        yield block


def _header(block: NDArray[Any], items: int) -> memoryview:
    sink = io.BytesIO()
    header = {"descr": np.lib.format.dtype_to_descr(block.dtype), "fortran_order": False, "shape": (items, *block.shape[1:])}
    np.lib.format.write_array_header_1_0(sink, header)
    return memoryview(sink.getvalue())


def _write(sink: FileIO, rest: memoryview, trailer: Trailer | None = None) -> None:
    if trailer is not None:
        trailer.feed(rest)
    while rest:  # an unbuffered write takes 2 GiB at most, and less on a disk that is just getting full
        rest = rest[sink.write(rest) :]


def _opened(path: Path, items: int) -> NDArray[Any] | None:
    """The map, or None if there is no usable file: one that a disk has cut short is built again."""
    try:
        rows: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        return None
    except (ValueError, EOFError):  # a damaged header, or less data than it promises
        return None
    except OSError as error:
        raise explained(error, path) from error
    return rows if rows.ndim >= 1 and len(rows) == items else None


def _remove_others(folder: Path, name: str) -> None:
    pattern = re.compile(re.escape(name) + r"-[0-9a-f]{32}\.npy")
    for path in folder.iterdir():
        if pattern.fullmatch(path.name):
            with suppress(FileNotFoundError):
                path.unlink()  # who has it mapped keeps it: the kernel frees it after them


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with explaining(path):
        lock = path.open("ab")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go by the kernel when the process dies
        yield


__all__ = ["row_cache"]
