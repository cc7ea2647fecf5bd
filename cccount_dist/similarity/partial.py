"""Partial results as files: some arrays, written whole or not at all, with a checksum.

They are renamed into place without waiting for the disk: a file that a power failure tore has a wrong checksum, and its task
is done again. What a tile found for a block takes 16 bytes for an item and 8 for a candidate.
"""

import json
import math
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.lists import Lists, packed
from storage.errors import CorruptionError
from storage.scratch import ScratchPath, read_whole, write_whole

_MAGIC = b"cccount1"
_HEADER = struct.Struct("<8sII")  # magic, checksum of the rest, length of the description


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


def write_found(path: ScratchPath, found: Found) -> None:
    write_arrays(path, found.degree, found.count, found.threshold, found.score, found.item)


def read_found(path: ScratchPath) -> Found:
    return Found(*read_arrays(path))


def write_arrays(path: ScratchPath, *arrays: NDArray[Any]) -> None:
    """Write some arrays as one file, whole or not at all."""
    parts = [np.ascontiguousarray(array) for array in arrays]
    text = json.dumps([[part.dtype.str, part.shape] for part in parts]).encode()
    description = text + b" " * (-(len(text) + _HEADER.size) % 16)  # what follows is aligned
    checksum = zlib.crc32(description)
    for part in parts:
        checksum = zlib.crc32(part.data, checksum)
    write_whole(path, [_HEADER.pack(_MAGIC, checksum, len(description)) + description, *(part.data for part in parts)])


def read_arrays(path: ScratchPath) -> list[NDArray[Any]]:
    """Return what `write_arrays` wrote; `CorruptionError` if the file is torn or altered."""
    data = read_whole(path)
    if len(data) < _HEADER.size:
        raise _damaged(path)
    magic, checksum, length = _HEADER.unpack_from(data)
    body = memoryview(data)[_HEADER.size :]
    if magic != _MAGIC or zlib.crc32(body) != checksum:
        raise _damaged(path)
    arrays: list[NDArray[Any]] = []
    at = length
    for kind, shape in json.loads(bytes(body[:length])):
        count = math.prod(shape)
        arrays.append(np.frombuffer(body, kind, count, at).reshape(shape))
        at += arrays[-1].nbytes
    return arrays


def is_sound(path: ScratchPath) -> bool:
    """Return whether the file is there and whole; one that is not is removed, so that its tile is computed again."""
    if not path.exists():
        return False
    try:
        read_arrays(path)
    except CorruptionError:
        path.unlink(missing_ok=True)
        return False
    return True


def _damaged(path: ScratchPath) -> CorruptionError:
    return CorruptionError(f"the partial result {path} is damaged: run the same command again, its tile is computed anew")
