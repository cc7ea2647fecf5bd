"""A frozen sampler as blobs that are named by what is in them: small arrays share one, large ones are cut, so what stays is
written once; the last blob is the graph, with where each array is.

Whoever reads a blob checks its sum (crc32, some GB/s), so a flipped byte is seen; names are for not writing anything twice
(blake2b, about 1 GB/s). An array that still lies where it was read to, and has the same sum, keeps its names. Memory: one blob
beside the arrays.
"""

import hashlib
import json
import math
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.frozen import Frozen
from cccount_dist.sampling.thawing import dtype_of
from storage.errors import CorruptionError

Array = NDArray[Any]
Blob = tuple[str, bytes | memoryview]
BLOB_BYTES = 1 << 23  # of one blob at most
_ALONE = 1 << 18  # bytes from which on an array has blobs of its own: what never changes is then never written again


def blob_name(data: bytes | memoryview) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()


class Lying:
    """Large arrays that were read, as long as they are in use: where they lie, and the blobs that they came from."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[int, int], tuple[weakref.ref[Array], list[tuple[str, int]]]] = {}

    def keep(self, array: Array, blobs: list[tuple[str, int]]) -> None:
        self._arrays[_place(array)] = weakref.ref(array), blobs

    def blobs(self, array: Array) -> list[tuple[str, int]]:
        """The names and sums of the blobs that an array at this place came from; it may have been changed since."""
        found = self._arrays.get(_place(array))
        return [] if found is None or found[0]() is None else found[1]


def _place(array: Array) -> tuple[int, int]:
    return array.__array_interface__["data"][0], array.nbytes


class Packing:
    """Cuts a frozen sampler into blobs. `names` and `sums` are those of all blobs, when they have been taken."""

    def __init__(self, frozen: Frozen, lying: Lying | None = None) -> None:
        self.names: list[str] = []
        self.sums: list[int] = []
        self._frozen = frozen
        self._lying = lying or Lying()
        self._table: list[Any] = []  # dtype, size and places of each array

    def blobs(self) -> Iterator[Blob]:
        """Yield the name and the bytes of every blob."""
        shared = bytearray()
        waiting: list[list[Any]] = []  # places in the shared blob, whose number is not known yet
        for array in self._frozen.arrays:
            data = np.ascontiguousarray(array).view(np.uint8).data if array.size else memoryview(b"")
            places: list[list[int]] = []
            self._table.append([np.lib.format.dtype_to_descr(array.dtype), array.size, places])
            if len(data) >= _ALONE:
                before = self._lying.blobs(array)
                for number, start in enumerate(range(0, len(data), BLOB_BYTES)):
                    piece = data[start : start + BLOB_BYTES]
                    places.append([len(self.names), 0, len(piece)])
                    yield self._named(piece, before[number] if before else None)
            elif len(data):
                place = [-1, len(shared), len(data)]
                places.append(place)
                waiting.append(place)
                shared += data
                if len(shared) >= BLOB_BYTES:
                    yield self._shared(shared, waiting)
                    shared, waiting = bytearray(), []
        if shared:
            yield self._shared(shared, waiting)
        yield self._named(json.dumps([self._table, self._frozen.graph], separators=(",", ":")).encode())

    def _shared(self, data: bytearray, waiting: list[list[Any]]) -> Blob:
        for place in waiting:
            place[0] = len(self.names)
        return self._named(bytes(data))

    def _named(self, data: bytes | memoryview, before: tuple[str, int] | None = None) -> Blob:
        total = zlib.crc32(data)
        self.names.append(before[0] if before is not None and before[1] == total else blob_name(data))
        self.sums.append(total)
        return self.names[-1], data


def unpacked(
    names: Sequence[str],
    sums: Sequence[int],
    read: Callable[[str], bytes],
    lying: Lying | None = None,
    into: Callable[[str, memoryview], int] | None = None,
) -> Frozen:
    """Return what was frozen; `CorruptionError` for a blob that is not what was written.

    Large arrays are there to be taken, small ones are flat and not to be changed. `lying` is told where the large ones are;
    `into` reads a blob straight to where it is wanted and says how much that was.
    """
    if len(names) != len(sums) or not names:
        raise CorruptionError("a snapshot without its blobs")

    def blob(number: int) -> bytes:
        data = read(names[number])
        check(number, data)
        return data

    def check(number: int, data: bytes | memoryview) -> None:
        if zlib.crc32(data) != sums[number]:
            raise CorruptionError(f"the blob {names[number]} is damaged")

    def fill(number: int, room: memoryview) -> None:
        if into is None:
            room[:] = blob(number)
        elif into(names[number], room) != len(room):
            raise CorruptionError(f"the blob {names[number]} is not whole")
        else:
            check(number, room)

    shared: dict[int, bytes] = {}
    arrays = []
    table, graph = json.loads(blob(len(names) - 1))
    for descr, size, places in table:
        dtype = dtype_of(descr)
        if sum(length for _, _, length in places) != math.prod((size, dtype.itemsize)):
            raise ValueError(f"{places} are not {size} of {dtype}")
        if size * dtype.itemsize < _ALONE:
            pieces = [_from_shared(blob, shared, place) for place in places]
            arrays.append(np.frombuffer(pieces[0], dtype) if pieces else np.empty(size, dtype))
            continue
        array = np.empty(size, dtype)
        data, at = array.view(np.uint8).data, 0
        for number, _, length in places:
            fill(number, data[at : at + length])
            at += length
        if lying is not None:
            lying.keep(array, [(names[number], sums[number]) for number, _, _ in places])
        arrays.append(array)
    return Frozen(graph, arrays)


def _from_shared(blob: Callable[[int], bytes], shared: dict[int, bytes], place: Sequence[int]) -> memoryview:
    number, start, length = place
    if number not in shared:
        shared[number] = blob(number)
    return memoryview(shared[number])[start : start + length]


__all__ = ["BLOB_BYTES", "Lying", "Packing", "blob_name", "unpacked"]
