"""Partial results of a stage, where all workers see them: files of a folder, or objects of the workspace's store.

Some arrays, written whole or not at all, with a checksum. They are renamed into place without waiting for the disk: a file that
a power failure tore has a wrong checksum, and its task is done again. Memory and time: the size of the file.
"""

import json
import math
import shutil
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storage.errors import CorruptionError, MissingObjectError
from storage.objects import Objects, explaining, temporary_beside

_MAGIC = b"cccount1"
_HEADER = struct.Struct("<8sII")  # magic, checksum of the rest, length of the description


@dataclass(frozen=True, slots=True)
class StorePath:
    """One object, with what a stage uses of `pathlib.Path`."""

    objects: Objects
    key: str

    def __truediv__(self, name: str) -> "StorePath":
        return StorePath(self.objects, f"{self.key}/{name}")

    def __str__(self) -> str:
        return f"{self.objects.location}/{self.key}"

    def exists(self) -> bool:
        return self.objects.size(self.key) is not None

    def read_bytes(self) -> bytes:
        return self.objects.read(self.key)

    def unlink(self, *, missing_ok: bool = False) -> None:
        if not missing_ok and not self.exists():
            raise MissingObjectError(f"{self} does not exist")
        self.objects.delete(self.key)


ScratchPath = Path | StorePath


def write_whole(path: ScratchPath, pieces: list[bytes | memoryview]) -> None:
    """Write a file, whole or not at all. It returns before the disk has it."""
    if isinstance(path, StorePath):
        path.objects.replace(path.key, b"".join(pieces))
        return
    temporary = temporary_beside(path)
    try:
        with explaining(path):
            with temporary.open("xb") as sink:
                for piece in pieces:
                    sink.write(piece)
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_all(folder: ScratchPath) -> None:
    """Remove a folder of partial results."""
    if isinstance(folder, StorePath):
        folder.objects.delete(folder.key)
        return
    with explaining(folder):
        shutil.rmtree(folder)


def read_whole(path: ScratchPath) -> bytes:
    if isinstance(path, StorePath):
        return path.read_bytes()
    with explaining(path):
        return path.read_bytes()


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
    try:
        for kind, shape in json.loads(bytes(body[:length])):
            count = math.prod(shape)
            arrays.append(np.frombuffer(body, kind, count, at).reshape(shape))
            at += arrays[-1].nbytes
    except ValueError as error:  # of the header only the length is not under the checksum
        raise _damaged(path) from error
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


__all__ = [
    "ScratchPath", "StorePath", "is_sound", "read_arrays", "read_whole", "remove_all", "write_arrays", "write_whole",
]  # fmt: skip
