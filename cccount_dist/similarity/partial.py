"""Partial results as files: candidates, counts and degree of one block, written whole or not at all, with a checksum.

They are renamed into place without waiting for the disk: a file that a power failure tore has a wrong checksum, and its tile
is computed again. Size: 16 bytes for an item and 8 for a candidate.
"""

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.lists import Lists, packed
from storage.errors import CorruptionError
from storage.objects import explaining, temporary_beside

_HEADER = struct.Struct("<8sqqI4x")  # 32 bytes: what follows is aligned
_MAGIC = b"cccount1"


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of the items of one block; candidates are packed, item after item."""

    degree: NDArray[np.float64]  # (rows,)
    count: NDArray[np.int32]  # (rows,) candidates of each item, or OVERFULL
    threshold: NDArray[np.float32]  # (rows,)
    score: NDArray[np.float32]
    item: NDArray[np.int32]


def found_in(lists: Lists) -> Found:
    return Found(lists.degree, lists.filled, lists.threshold, *packed(lists))


def write_found(path: Path, found: Found) -> None:
    parts = [np.ascontiguousarray(part) for part in (found.degree, found.count, found.threshold, found.score, found.item)]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part.data, checksum)
    header = _HEADER.pack(_MAGIC, len(found.count), len(found.item), checksum)
    temporary = temporary_beside(path)
    try:
        with explaining(path):
            with temporary.open("xb") as sink:
                sink.write(header)
                for part in parts:
                    sink.write(part.data)
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_found(path: Path) -> Found:
    """Return what `write_found` wrote; `CorruptionError` if the file is torn or altered."""
    with explaining(path):
        data = path.read_bytes()
    try:
        magic, rows, entries, checksum = _HEADER.unpack_from(data)
    except struct.error as error:
        raise _damaged(path) from error
    body = memoryview(data)[_HEADER.size :]
    if magic != _MAGIC or len(body) != 16 * rows + 8 * entries or zlib.crc32(body) != checksum:
        raise _damaged(path)
    lengths = ((np.float64, rows), (np.int32, rows), (np.float32, rows), (np.float32, entries), (np.int32, entries))
    parts: list[NDArray[Any]] = []
    at = 0
    for kind, length in lengths:
        parts.append(np.frombuffer(body, kind, length, at))
        at += parts[-1].nbytes
    return Found(*parts)


def is_sound(path: Path) -> bool:
    """Return whether the file is there and whole; one that is not is removed, so that its tile is computed again."""
    if not path.exists():
        return False
    try:
        read_found(path)
    except CorruptionError:
        path.unlink(missing_ok=True)
        return False
    return True


def _damaged(path: Path) -> CorruptionError:
    return CorruptionError(f"the partial result {path} is damaged: run the same command again, its tile is computed anew")
