"""Read the tensors of a torch checkpoint (.pth) without torch and without running anything that is in it.

A checkpoint is a pickle, and a pickle is a program. This reader knows four names (an ordered dictionary, the two functions
that rebuild a tensor, the storage types) and refuses every other, so a hostile file can build dictionaries of arrays and
nothing else. Both layouts are read: the zip of torch >= 1.6 and the older sequence of pickles.
"""

import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from storage.errors import InputError
from storage.reading import known_errors, open_regular, reason

_DTYPES = {"FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2", "LongStorage": "<i8", "IntStorage": "<i4"}
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C

Tensors = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class _Storage:
    """Numbers that tensors are cut from: where they are is known while unpickling, in old files what they are only later."""

    kind: str
    key: str


@dataclass(frozen=True, slots=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_checkpoint(path: Path) -> Tensors:
    """Return the named tensors of a checkpoint; `InputError` if it holds anything else."""
    strange: tuple[type[BaseException], ...] = (pickle.UnpicklingError, *known_errors())
    try:
        open_regular(path).close()  # nobody waits for a pipe
        return _zipped(path) if zipfile.is_zipfile(path) else _legacy(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except strange as error:
        raise InputError(f"{path} is not a checkpoint of plain tensors: {reason(error)}") from error


def _zipped(path: Path) -> Tensors:
    with zipfile.ZipFile(path) as archive:
        index = next((name for name in archive.namelist() if name.endswith("/data.pkl")), None)
        if index is None:
            raise ValueError("no data.pkl in it")
        found = _Unpickler(io.BytesIO(archive.read(index))).load()
        root = index.removesuffix("data.pkl")
        return _tensors(found, lambda storage: np.frombuffer(archive.read(f"{root}data/{storage.key}"), _DTYPES[storage.kind]))


def _legacy(path: Path) -> Tensors:
    with path.open("rb") as source:
        if _Unpickler(source).load() != _LEGACY_MAGIC:
            raise ValueError("it does not begin as one")
        _Unpickler(source).load()  # version of the protocol
        _Unpickler(source).load()  # the writing machine
        found = _Unpickler(source).load()
        keys = _Unpickler(source).load()
        kinds = {tensor.storage.key: tensor.storage.kind for tensor in found.values() if isinstance(tensor, _Tensor)}
        data = {key: _numbers(source, _DTYPES[kinds[key]]) for key in keys}
        return _tensors(found, lambda storage: data[storage.key])


def _numbers(source: IO[bytes], dtype: str) -> NDArray[Any]:
    (count,) = struct.unpack("<q", source.read(8))
    return np.frombuffer(source.read(count * np.dtype(dtype).itemsize), dtype)


def _tensors(found: object, read: Callable[[_Storage], NDArray[Any]]) -> Tensors:
    if not isinstance(found, dict) or not all(isinstance(tensor, _Tensor) for tensor in found.values()):
        raise ValueError("it holds more than named tensors")
    return {str(name): _cut(read(tensor.storage), tensor) for name, tensor in found.items()}


def _cut(numbers: NDArray[Any], tensor: _Tensor) -> NDArray[Any]:
    """Cut a tensor out of its storage, within its bounds: as_strided alone would read whatever memory lies behind."""
    if min(tensor.shape, default=1) == 0:
        return np.empty(tensor.shape, numbers.dtype)
    last = tensor.offset + sum((length - 1) * step for length, step in zip(tensor.shape, tensor.strides, strict=True))
    if tensor.offset < 0 or min(tensor.strides, default=0) < 0 or last >= len(numbers):
        raise ValueError(f"a tensor reaches to {last} in a storage of {len(numbers)}")
    steps = [step * numbers.itemsize for step in tensor.strides]
    return np.lib.stride_tricks.as_strided(numbers[tensor.offset :], tensor.shape, steps).copy()


def _rebuilt(storage: _Storage, offset: int, shape: Sequence[int], strides: Sequence[int], *_: object) -> _Tensor:
    return _Tensor(storage, int(offset), tuple(map(int, shape)), tuple(map(int, strides)))


def _parameter(tensor: _Tensor, *_: object) -> _Tensor:
    return tensor


class _Unpickler(pickle.Unpickler):
    """Knows only what a dictionary of tensors is made of."""

    def find_class(self, module: str, name: str) -> object:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch._utils" and name in ("_rebuild_tensor", "_rebuild_tensor_v2"):
            return _rebuilt
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return _parameter
        if module == "torch" and name in _DTYPES:
            return name
        raise pickle.UnpicklingError(f"it wants to use {module}.{name}, which no plain checkpoint does")

    def persistent_load(self, pid: Any) -> _Storage:
        if pid[0] != "storage":
            raise pickle.UnpicklingError(f"it refers to {pid[0]!r}")
        return _Storage(str(pid[1]), str(pid[2]))


__all__ = ["read_checkpoint"]
