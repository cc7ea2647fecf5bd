"""How a sharded array lies in a workspace: its keys, its zarr metadata, the bytes of a shard.

`zarr.json` has a copy beside the markers: it is a few hundred bytes on which gigabytes depend. A stamp (`stamp.py`) in the
attribute that is ours tells which of the two is damaged.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.codecs import Crc32cCodec
from zarr.core.buffer import Buffer
from zarr.storage import MemoryStore

from storage import formats
from storage.errors import CorruptionError, FormatError, InputError, MissingObjectError
from storage.objects import Objects
from storage.problems import Problem
from storage.reading import known_errors
from storage.schema import ArraySpec
from storage.stamp import BLANK, filled, intact
from storage.version import __version__

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"

CHUNK_ROWS = 256
_OURS = "cccount"  # the attribute that is not the caller's
_NUMBER = re.compile(r" format (\d+) by cccount (\S+) ")


@dataclass(frozen=True, slots=True)
class Layout:
    """What `zarr.json` says. `generation` tells an array from the one that stood in its place before.

    It also holds the number of the format: fingerprints leave it out, and an earlier version reads past it.
    """

    shape: tuple[int, ...]
    shard_rows: int
    dtype: str
    attributes: Mapping[str, JSON]
    generation: str

    @classmethod
    def parse(cls, metadata: bytes) -> Self:
        fields = json.loads(metadata)
        attributes = dict(fields["attributes"])
        generation = str(attributes.pop(_OURS))
        rows = int(fields["chunk_grid"]["configuration"]["chunk_shape"][0])
        return cls(tuple(int(n) for n in fields["shape"]), rows, str(fields["data_type"]), attributes, generation)

    def check(self, spec: ArraySpec) -> None:
        if len(self.shape) != len(spec.dims) or min(self.shape) < 1:
            raise InputError(f"{spec.name} has the axes {', '.join(spec.dims)}, all of at least 1, not the shape {self.shape}")
        if self.shard_rows < 1 or (self.shard_rows > CHUNK_ROWS and self.shard_rows % CHUNK_ROWS):
            raise InputError(
                f"{spec.name}: a shard has up to {CHUNK_ROWS} rows or a multiple of that, not {self.shard_rows}: choose another"
            )

    def metadata(self, spec: ArraySpec) -> dict[str, bytes]:
        """Return `zarr.json` of the array and of the groups above it, by key."""
        return {key: filled(data) for key, data in self._stored(spec, None).items() if key != "zarr.json"}

    def encode(self, spec: ArraySpec, rows: NDArray[Any]) -> bytes:
        """Return the object of a shard that holds these rows; a short last shard is padded by zarr with the fill value."""
        alone = Layout((len(rows), *self.shape[1:]), self.shard_rows, self.dtype, {}, "")
        return alone._stored(spec, rows)[shard_key(spec, 0)]

    def _stored(self, spec: ArraySpec, rows: NDArray[Any] | None) -> dict[str, bytes]:
        store: dict[str, Buffer] = {}
        array = zarr.create_array(
            MemoryStore(store),
            name=spec.name,
            shape=self.shape,
            dtype=self.dtype,
            shards=(self.shard_rows, *self.shape[1:]),
            chunks=(min(self.shard_rows, CHUNK_ROWS), *self.shape[1:]),
            filters=None,
            compressors=(Crc32cCodec(),),
            fill_value=spec.fill,
            dimension_names=spec.dims,
            attributes={**self.attributes, _OURS: self.generation},
            # Without this zarr stores nothing for a chunk of fill values, and a shard of items without vectors would look lost.
            config={"write_empty_chunks": True},
        )
        if rows is not None:
            array[...] = rows
        return {key: buffer.to_bytes() for key, buffer in store.items()}


def new_generation() -> str:
    """Return what no other array has, with the format's number and a blank for the stamp."""
    return f"{secrets.token_hex(8)} format {formats.ARRAYS.present} by cccount {__version__} {BLANK}"


def _check_number(metadata: bytes, where: str) -> None:
    """Raise `FormatError` for an array of a format that is not read here; nothing for bytes that say no number."""
    try:
        found = _NUMBER.search(str(json.loads(metadata)["attributes"][_OURS]))
    except known_errors():  # it is damaged, which who reads it says
        return
    if found is not None:
        formats.ARRAYS.check(int(found[1]), where, found[2])


def stored_metadata(objects: Objects, spec: ArraySpec) -> bytes | None:
    """Return `zarr.json`, or None if there is no such array; `CorruptionError` if it cannot be trusted."""
    problem = _problem(objects, spec)
    if problem is not None:
        raise CorruptionError(str(problem))
    return read_or_none(objects, metadata_key(spec))


def metadata_problem(objects: Objects, spec: ArraySpec) -> Problem | None:
    """Return what is wrong with `zarr.json`. That it is missing is no problem: then there is no array."""
    try:
        return _problem(objects, spec)
    except FormatError as error:
        return error.problem


def _problem(objects: Objects, spec: ArraySpec) -> Problem | None:
    path, copy_path = (f"{objects.location}/{key}" for key in (metadata_key(spec), copy_key(spec)))
    metadata, copy = read_or_none(objects, metadata_key(spec)), read_or_none(objects, copy_key(spec))
    for data, where in ((metadata, path), (copy, copy_path)):
        _check_number(data or b"", where)
    if metadata is None:
        return None
    if copy is None:
        return Problem(copy_path, "the copy of zarr.json is missing", f"copy {path} to it")
    if metadata != copy and _is_whole(metadata) and not _is_whole(copy):
        return Problem(copy_path, "the copy of zarr.json is damaged", f"copy {path} over it")
    if metadata != copy:
        return Problem(path, "the file differs from its copy: one of them is damaged", f"copy {copy_path} over it")
    try:
        found = Layout.parse(metadata)
    except known_errors():
        remake = f"delete {objects.location}/{spec.name} and run {spec.made_by} again"
        return Problem(path, "the file and its copy are damaged", remake)
    if found.dtype != spec.dtype or len(found.shape) != len(spec.dims):
        remake = f"delete {objects.location}/{spec.name} and run {spec.made_by} again"
        return Problem(path, f"it holds {found.dtype} {found.shape}, not {spec.dtype} with {len(spec.dims)} axes", remake)
    return None


def _is_whole(metadata: bytes) -> bool:
    """Whether these bytes are what was written; of an array that is older than stamps only that they can be read is known."""
    try:
        Layout.parse(metadata)
    except known_errors():
        return False
    return intact(metadata) is not False


def read_or_none(objects: Objects, key: str) -> bytes | None:
    try:
        return objects.read(key)
    except MissingObjectError:
        return None


def plain(values: Mapping[str, JSON], what: str) -> dict[str, JSON]:
    """Return the values as they come back from a file (tuples as lists); `InputError` if they would not come back the same."""
    try:
        found: dict[str, JSON] = json.loads(json.dumps(dict(values), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be plain JSON without NaN: {error}") from error
    if _OURS in found:
        raise InputError(f"{what} may not have the name {_OURS!r}: choose another")
    return found


def digest(rows: NDArray[Any]) -> str:
    """Return the fingerprint of the rows themselves, whatever the layout that holds them."""
    return hashlib.blake2b(np.ascontiguousarray(rows).data, digest_size=32).hexdigest()


def metadata_key(spec: ArraySpec) -> str:
    return f"{spec.name}/zarr.json"


def shard_key(spec: ArraySpec, shard: int) -> str:
    return "/".join((spec.name, "c", str(shard), *("0" for _ in spec.dims[1:])))


def marker_folder(spec: ArraySpec) -> str:
    return "markers/" + spec.name.replace(".zarr", "").replace("/", "-")


def marker_key(spec: ArraySpec, shard: int) -> str:
    return f"{marker_folder(spec)}/{shard:06d}.json"


def copy_key(spec: ArraySpec) -> str:
    return f"{marker_folder(spec)}/array.json"


__all__ = [
    "CHUNK_ROWS", "JSON", "Layout", "copy_key", "digest", "marker_folder", "marker_key", "metadata_key",
    "metadata_problem", "new_generation", "plain", "read_or_none", "shard_key", "stored_metadata",
]  # fmt: skip
