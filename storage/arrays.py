"""Zarr arrays whose shards are owned by one writer each, with a done-marker for every shard.

A shard is written whole: encoded by zarr in memory (crc32c on every chunk), stored durably, then marked done with the digest
of its rows. A shard without a marker is never read, so the fill value of a chunk that nobody wrote cannot pass for data.
Memory is a few times the shard (16,384 rows at most by default); to ask what is done is O(shards).
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
import zarr
from numpy.typing import NDArray

from storage import layout
from storage.errors import ConflictError, CorruptionError, InputError, WorkspaceError
from storage.layout import CHUNK_ROWS, JSON, Layout
from storage.objects import Objects
from storage.problems import Problem
from storage.reading import known_errors
from storage.schema import ArraySpec
from storage.stamp import intact, stamped
from storage.typed import value_of

_MOST_SHARD_ROWS = 16_384


def default_shard_rows(items: int) -> int:
    """Return the rows of a shard: a multiple of the chunk, small enough that a small collection has several to share out.

    >>> default_shard_rows(1797), default_shard_rows(100_000), default_shard_rows(10_000_000)
    (256, 6400, 16384)
    """
    sixteenth = -(-items // 16)
    return min(max(-(-sixteenth // CHUNK_ROWS) * CHUNK_ROWS, CHUNK_ROWS), _MOST_SHARD_ROWS)


@dataclass(frozen=True, slots=True)
class _Marker:
    """What is known of a shard that is done. `generation` is the array's: a marker never vouches for another array."""

    generation: str
    size: int
    digest: str
    notes: Mapping[str, JSON]

    @classmethod
    def parse(cls, data: bytes) -> Self:
        if intact(data) is False:
            raise ValueError("its bytes are not those that were written")
        fields = json.loads(data)
        bytes.fromhex(digest := value_of(fields["digest"], str, "digest"))
        size = value_of(fields["size"], int, "size")
        return cls(value_of(fields["generation"], str, "generation"), size, digest, dict(fields["notes"]))


class ShardedArray:
    """One zarr array and its done-markers; made by `create` or `open`."""

    def __init__(self, objects: Objects, spec: ArraySpec, metadata: bytes) -> None:
        self.objects = objects
        self.spec = spec
        self._metadata = metadata
        self._layout = Layout.parse(metadata)
        self.shape = self._layout.shape
        self.shard_rows = self._layout.shard_rows
        self.shards = -(-self.shape[0] // self.shard_rows)
        self.attributes: dict[str, JSON] = dict(self._layout.attributes)
        self._zarr: zarr.Array[Any] = zarr.open_array(objects.zarr_store(read_only=True), path=spec.name, mode="r")
        self._markers: dict[int, _Marker] = {}

    @classmethod
    def create(
        cls,
        objects: Objects,
        spec: ArraySpec,
        shape: tuple[int, ...],
        *,
        attributes: Mapping[str, JSON],
        shard_rows: int | None = None,
    ) -> Self:
        """Return the array with this shape, sharding and attributes: the one that is there, or else a new one in its place.

        To open what is there is how a stage resumes. Killed at any moment it can be called again; called by several processes
        at once with the same arguments, all get the same array.
        """
        wanted = layout.plain(attributes, f"attributes of {spec.name}")
        rows = shard_rows if shard_rows is not None else default_shard_rows(shape[0])
        new = Layout(tuple(shape), rows, np.dtype(spec.dtype).name, wanted, layout.new_generation())
        new.check(spec)
        with objects.locked(f"{layout.marker_folder(spec)}/create"):
            metadata = layout.stored_metadata(objects, spec)
            # Killed before its last step, or zarr.json was lost: the copy stands for it, and the shards that are done stay done.
            found = metadata or layout.read_or_none(objects, layout.copy_key(spec))
            if found is None or not _same(new, found):
                _remove(objects, spec)
                files = new.metadata(spec)
                found = files.pop(layout.metadata_key(spec))
                objects.replace(layout.copy_key(spec), found)
                for key, group in files.items():
                    objects.replace(key, group)
                metadata = None
            if metadata is None:
                _remove_hollow_markers(objects, spec)
                objects.replace(layout.metadata_key(spec), found)
            return cls(objects, spec, found)

    @classmethod
    def open(cls, objects: Objects, spec: ArraySpec) -> Self:
        """Return the array that a stage has made; `WorkspaceError` if it has not."""
        metadata = layout.stored_metadata(objects, spec)
        if metadata is None:
            raise WorkspaceError(f"{objects.location} has no {spec.name}: run {spec.made_by} first")
        return cls(objects, spec, metadata)

    @classmethod
    def exists(cls, objects: Objects, spec: ArraySpec) -> bool:
        return objects.size(layout.metadata_key(spec)) is not None

    def shard_range(self, shard: int) -> tuple[int, int]:
        """Return the first row of the shard and the one after its last."""
        if not 0 <= shard < self.shards:
            raise InputError(f"{self.spec.name} has the shards 0 to {self.shards - 1}, not {shard}")
        return shard * self.shard_rows, min((shard + 1) * self.shard_rows, self.shape[0])

    def write_shard(self, shard: int, rows: NDArray[Any], *, notes: Mapping[str, JSON] | None = None) -> None:
        """Write one whole shard and mark it done.

        A shard that is done with the same rows stays as it is; with other rows it is a `ConflictError`: two writers disagree.
        """
        start, stop = self.shard_range(shard)
        self.spec.check(rows, (stop - start, *self.shape[1:]))
        kept = layout.plain(notes or {}, f"notes on a shard of {self.spec.name}")
        digest = layout.digest(rows)
        key = layout.marker_key(self.spec, shard)
        with self.objects.locked(key):
            self._check_current()
            there = self._read_marker(shard)
            if there is not None and there.digest != digest:
                raise ConflictError(
                    f"{self._where(key)}: another writer finished this shard with other values, and theirs are kept; "
                    f"to have it computed again delete that file and run {self.spec.made_by}"
                )
            if there is not None and self.objects.size(layout.shard_key(self.spec, shard)) == there.size:
                return
            data = self._layout.encode(self.spec, rows)
            self.objects.replace(layout.shard_key(self.spec, shard), data)
            if there is None:
                self.objects.delete(key)  # it may be one of an array that stood here before
                marker = _Marker(self._layout.generation, len(data), digest, kept)
                self.objects.create(key, stamped(key, json.dumps(asdict(marker), indent=1).encode()))

    def done(self) -> list[int]:
        """Return the numbers of the shards that are done, in order."""
        return sorted(self._done())

    def missing(self) -> list[int]:
        """Return the numbers of the shards that are not done, in order."""
        done = self._done()
        return [shard for shard in range(self.shards) if shard not in done]

    def notes(self) -> dict[int, JSON]:
        """Return what the writers noted about every shard that is done."""
        return {shard: marker.notes for shard, marker in sorted(self._done().items())}

    def require_complete(self) -> None:
        """Raise `WorkspaceError` unless every shard is done."""
        self._require(self.missing())

    def read(self, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """Return the rows [start, stop). Only rows of done shards; damage is a `CorruptionError`, never a fill value."""
        stop = self.shape[0] if stop is None else stop
        if not 0 <= start <= stop <= self.shape[0]:
            raise InputError(f"{self.spec.name} has the rows 0 to {self.shape[0]}, not {start} to {stop}")
        self._check_current()
        touched = range(start // self.shard_rows, -(-stop // self.shard_rows)) if start < stop else range(0)
        markers = {shard: marker for shard in touched if (marker := self._marker(shard)) is not None}
        self._require([shard for shard in touched if shard not in markers])
        out = np.empty((stop - start, *self.shape[1:]), dtype=self.spec.dtype)
        for shard, marker in markers.items():
            first, last = self.shard_range(shard)
            lo, hi = max(first, start), min(last, stop)
            problem = self._fill(out[lo - start : hi - start], shard, marker, lo, hi)
            if problem is not None:
                raise CorruptionError(str(problem))
        self._check_current()  # what was removed between the look at its size and the reading of it came as fill values
        return out

    def fingerprint(self) -> str:
        """Return 32 hexadecimal digits that change when any value, the shape, the type or an attribute does."""
        self.require_complete()
        content = hashlib.blake2b(digest_size=16)
        facts = [self.spec.name, self.spec.dtype, list(self.shape), self.shard_rows, self.attributes]
        content.update(json.dumps(facts, sort_keys=True).encode())
        for _, marker in sorted(self._done().items()):
            content.update(bytes.fromhex(marker.digest))
        return content.hexdigest()

    def problems(self, checked: Callable[[], None] | None = None) -> Iterator[Problem]:
        """Decode every shard that is done and compare it with its marker. A shard that is not done is not a problem.

        `checked` is called before each shard: it is how a caller shows progress.
        """
        for shard in range(self.shards):
            if checked is not None:
                checked()
            try:
                marker = self._read_marker(shard)
            except CorruptionError:
                yield Problem(self._where(layout.marker_key(self.spec, shard)), "the marker is damaged", self._repair("it"))
                continue
            if marker is not None:
                start, stop = self.shard_range(shard)
                buffer = np.empty((stop - start, *self.shape[1:]), dtype=self.spec.dtype)
                problem = self._fill(buffer, shard, marker, start, stop)
                if problem is not None:
                    yield problem
        for folder in (self.spec.name, layout.marker_folder(self.spec)):
            for key in self.objects.leftovers(folder):
                yield Problem(self._where(key), "a killed writer left this temporary file", "delete it: nothing needs it")

    def _fill(self, out: NDArray[Any], shard: int, marker: _Marker, start: int, stop: int) -> Problem | None:
        """Read rows of one shard into `out`, or return what keeps them from being read."""
        key = layout.shard_key(self.spec, shard)
        size = self.objects.size(key)
        reason = None
        if size is None:
            reason = "the shard is marked done, and its file is missing"
        elif size != marker.size:  # zarr reads an empty file as fill values, without a word
            reason = f"the file has {size} bytes instead of {marker.size}"
        else:
            try:
                out[...] = self._zarr[start:stop]
            except PermissionError:
                return Problem(self._where(key), "this user may not read the file", "make it readable for this user")
            except (ValueError, LookupError, OSError) as error:  # crc32c, the index of the shard, the disk
                reason = f"the file cannot be decoded ({str(error).partition('.')[0]})"
            if reason is None and (start, stop) == self.shard_range(shard) and layout.digest(out) != marker.digest:
                reason = "the file is whole, but its rows are not those that were marked done"
        if reason is None:
            return None
        return Problem(self._where(key), reason, self._repair(f"the marker {self._where(layout.marker_key(self.spec, shard))}"))

    def _repair(self, what: str) -> str:
        return f"delete {what} and run {self.spec.made_by} again: only this shard is computed"

    def _require(self, missing: list[int]) -> None:
        if missing:
            names = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
            raise WorkspaceError(
                f"{self._where(self.spec.name)}: {len(missing)} of {self.shards} shards are not done ({names}): "
                f"run {self.spec.made_by} again"
            )

    def _check_current(self) -> None:
        # Read under the shard's lock by writers: one that was overtaken by `create` of another array stops here.
        if layout.read_or_none(self.objects, layout.metadata_key(self.spec)) != self._metadata:
            raise ConflictError(f"{self._where(self.spec.name)} was made anew or damaged meanwhile: run the same command again")

    def _done(self) -> dict[int, _Marker]:
        names = [key.rpartition("/")[2].removesuffix(".json") for key in self.objects.keys(layout.marker_folder(self.spec))]
        shards = [int(name) for name in names if name.isdigit() and int(name) < self.shards]
        return {shard: marker for shard in shards if (marker := self._marker(shard)) is not None}

    def _marker(self, shard: int) -> _Marker | None:
        # A marker does not change while its array stands, so each is read once: a big array has thousands.
        if shard not in self._markers:
            marker = self._read_marker(shard)
            if marker is None:
                return None
            self._markers[shard] = marker
        return self._markers[shard]

    def _read_marker(self, shard: int) -> _Marker | None:
        key = layout.marker_key(self.spec, shard)
        data = layout.read_or_none(self.objects, key)
        if data is None:
            return None
        try:
            marker = _Marker.parse(data)
        except known_errors() as error:
            raise CorruptionError(f"{self._where(key)}: the marker is damaged; {self._repair('it')}") from error
        return marker if marker.generation == self._layout.generation else None

    def _where(self, key: str) -> str:
        return f"{self.objects.location}/{key}"


def array_problems(objects: Objects, spec: ArraySpec, checked: Callable[[], None] | None = None) -> Iterator[Problem]:
    """Check an array that may be there or not, or be too damaged to be opened."""
    problem = layout.metadata_problem(objects, spec)
    if problem is not None:
        yield problem
    elif ShardedArray.exists(objects, spec):
        yield from ShardedArray.open(objects, spec).problems(checked)
    elif objects.size(layout.copy_key(spec)) is not None:
        where = f"{objects.location}/{layout.metadata_key(spec)}"
        yield Problem(where, "the file is missing", f"copy {objects.location}/{layout.copy_key(spec)} to it")


def _same(new: Layout, metadata: bytes) -> bool:
    try:
        there = Layout.parse(metadata)
    except known_errors():
        return False
    return replace(there, generation="") == replace(new, generation="")


def _remove_hollow_markers(objects: Objects, spec: ArraySpec) -> None:
    # Someone may have deleted the folder of the array and not its markers: what they vouch for must be computed again.
    for key in objects.keys(layout.marker_folder(spec)):
        name = key.rpartition("/")[2].removesuffix(".json")
        if name.isdigit() and objects.size(layout.shard_key(spec, int(name))) is None:
            objects.delete(key)


def _remove(objects: Objects, spec: ArraySpec) -> None:
    # zarr.json first: from then on there is no array, whatever is left of it. Lock files stay: someone may wait on them.
    objects.delete(layout.metadata_key(spec))
    for key in objects.keys(layout.marker_folder(spec)):
        objects.delete(key)
    objects.delete(spec.name)


__all__ = ["CHUNK_ROWS", "JSON", "ShardedArray", "array_problems", "default_shard_rows"]
