"""Distances that somebody else measured: a square matrix (.npy, .zarr), a graph (.npz of scipy.sparse) or pairs (.parquet).

A graph or a list may hold some pairs only: the others are as far apart as the shortest way through pairs that are listed, and
without any way as far as the farthest pair. Nothing is unpickled. Memory 8 n² bytes, so the number of items has a limit;
time O(n²) for a matrix, a shortest way from every item for a graph.
"""

import hashlib
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, load_npz
from scipy.sparse.csgraph import dijkstra

from cccount_dist.embedding.readers.vectors import open_matrix
from cccount_dist.room import Size
from cccount_dist.taken import require
from storage.errors import InputError
from storage.reading import reading, require_file, require_files_below

MOST_ITEMS = 10_000
_MOST_PAIRS = 2 * 10**8
_ROWS = 256  # of a matrix that are read at a time, or items whose shortest ways are found at a time
_SAME = 1e-4  # two directions of a pair may differ by so much of the larger one: what float32 and sums in another order leave

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Distances of some pairs, each pair once."""

    first: Ints
    second: Ints
    distance: Floats


@dataclass(frozen=True, slots=True)
class Distances:
    """Checked distances: of all pairs (n, n), or of some.

    ids : names of the items, where the file has them
    digest : of every number that was read: the same for the same distances
    """

    items: int
    given: Floats | Pairs
    digest: str
    ids: Sequence[str] | None = None

    def matrix(self, progress: Progress | None = None) -> Floats:
        """Return the distances of all pairs (n, n). The array of a matrix is the given one: whoever changes it has used it up."""
        return self.given if isinstance(self.given, np.ndarray) else _ways(self.items, self.given, progress)


def open_distances(path: Path, ids: Sequence[str] | None = None) -> Distances:
    """Read and check distances; `ids`: of the collection that they are about, in its order, if it is known otherwise."""
    if not path.exists():
        raise InputError(f"there is no file or folder {path}")
    with reading(path):
        found = _opened(path, ids)
    if ids is not None and found.items != len(ids):
        raise InputError(f"{path} has distances of {found.items:,} items, and the collection has {len(ids):,}: it needs one each")
    return found


def _opened(path: Path, ids: Sequence[str] | None) -> Distances:
    ending = path.suffix.lower()
    if path.is_dir():
        require_files_below(path)
        return _zarr(path)
    require_file(path)
    if ending == ".npy":
        return _npy(path)
    if ending == ".npz":
        return _npz(path, None if ids is None else len(ids))
    if ending == ".parquet":
        return _parquet(path, ids)
    raise InputError(f"{path}: distances are read from .npy, .npz (scipy.sparse.save_npz), .zarr or .parquet (u, v, distance)")


def _npy(path: Path) -> Distances:
    square = np.load(path, mmap_mode="r", allow_pickle=False)
    _check_square(path, square.shape, square.dtype)
    return _dense(path, len(square), lambda start, stop: square[start:stop])


def _zarr(path: Path) -> Distances:
    square = open_matrix(path)
    _check_square(path, square.shape, square.dtype)
    return _dense(path, square.shape[0], lambda start, stop: np.asarray(square[start:stop]))


def _check_square(path: Path, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> None:
    if dtype.kind not in "fiu":
        raise InputError(f"{path} holds {dtype}, not distances")
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"{path} has the shape {shape}: distances are a square, one row and one column for each item")
    _check_count(path, shape[0])


def _check_count(path: Path, items: int) -> None:
    if items > MOST_ITEMS:
        raise InputError(
            f"{path} is too large: distances of {items:,} items, and of more than {MOST_ITEMS:,} they cannot be used; "
            "give vectors (--embeddings), or distances of a part"
        )
    if items < 2:
        raise InputError(f"{path} has distances of {items} items: there is nothing to compare")
    require("init --distances", Size(items))


def _dense(path: Path, items: int, rows: Callable[[int, int], NDArray[np.generic]]) -> Distances:
    square = np.empty((items, items), np.float64)
    for start in range(0, items, _ROWS):
        block = square[start : start + _ROWS]
        block[:] = rows(start, min(start + _ROWS, items))
        if (wrong := _unusable(block)) is not None:
            row, column = divmod(wrong, items)
            raise InputError(_wrong(path, start + row, column, float(block[row, column])))
    for start in range(0, items, _ROWS):
        stop = min(start + _ROWS, items)
        one, other = square[start:stop, start:], square[start:, start:stop].T
        apart = np.argwhere(np.abs(one - other) > _SAME * np.maximum(one, other))
        if len(apart):
            u, v = (apart[0] + start).tolist()
            raise InputError(_asymmetric(path, u, v, float(square[u, v]), float(square[v, u])))
        mean = (one + other) / 2
        square[start:stop, start:] = mean
        square[start:, start:stop] = mean.T
    loose = np.flatnonzero(np.diagonal(square) > _SAME * square.max(initial=0.0))
    if len(loose):
        raise InputError(f"{path}: item {loose[0]} is {square[loose[0], loose[0]]:g} away from itself, and that must be 0")
    np.fill_diagonal(square, 0.0)
    _check_any(path, square)
    return Distances(items, square, hashlib.sha256(square.data).hexdigest()[:32])


def _unusable(values: Floats) -> int | None:
    """Return the place of the first value that is no distance."""
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0.0)))
    return int(wrong[0]) if len(wrong) else None


def _wrong(path: Path, u: object, v: object, value: float) -> str:
    kind = "negative" if value < 0 else "no number" if np.isnan(value) else "infinite"
    return f"{path}: the distance of {u} and {v} is {kind} ({value:g}): every distance must be 0 or more"


def _asymmetric(path: Path, u: object, v: object, there: float, back: float) -> str:
    return f"{path} is not symmetric: from {u} to {v} it is {there:g}, from {v} to {u} {back:g}; give one distance for a pair"


def _check_any(path: Path, values: Floats) -> None:
    if not np.any(values):
        raise InputError(f"{path}: every distance is 0: no two items differ")


def _npz(path: Path, items: int | None) -> Distances:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        size = sum(member.file_size for member in archive.infolist())
    if "format.npy" not in names or "shape.npy" not in names:
        raise InputError(f"{path} is no sparse matrix: write it with scipy.sparse.save_npz, or a full one as .npy")
    if size > 24 * _MOST_PAIRS:  # a small file may unpack to more than there is memory
        raise InputError(f"{path} unpacks to {size / 2**30:,.1f} GiB: more than {_MOST_PAIRS:,} pairs cannot be used")
    loaded = load_npz(path)
    _check_square(path, loaded.shape, loaded.dtype)
    if hasattr(loaded, "check_format"):  # places that point outside would be read, and written, beyond the arrays
        loaded.check_format(full_check=True)
    graph = coo_array(loaded)
    count = graph.shape[0] if items is None else max(items, graph.shape[0])
    return _sparse(path, count, graph.row.astype(np.int64), graph.col.astype(np.int64), graph.data.astype(np.float64))


def _parquet(path: Path, known: Sequence[str] | None) -> Distances:
    with pq.ParquetFile(path) as source:
        names, rows = source.schema_arrow.names, source.metadata.num_rows
        lacking = [name for name in ("u", "v", "distance") if name not in names]
        if lacking:
            raise InputError(f"{path} has no column {lacking[0]!r}: a list of pairs has u, v and distance")
        if rows > _MOST_PAIRS:
            raise InputError(f"{path} is too large: {rows:,} pairs, and more than {_MOST_PAIRS:,} cannot be used")
        table = source.read(columns=["u", "v", "distance"], use_threads=False)
    for name in table.column_names:
        if table.column(name).null_count:
            raise InputError(f"{path}: the column {name!r} has empty values")
    distance = table.column("distance").to_numpy().astype(np.float64)
    if all(pa.types.is_integer(table.schema.field(name).type) for name in "uv"):
        first, second = (table.column(name).to_numpy().astype(np.int64) for name in "uv")
        least = int(min(first.min(initial=0), second.min(initial=0)))
        if least < 0:
            raise InputError(f"{path} names the item {least}: items are numbered from 0")
        items = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
        return _sparse(path, items if known is None else max(items, len(known)), first, second, distance)
    named = [[str(value) for value in table.column(name).to_pylist()] for name in "uv"]
    ids = list(known) if known is not None else sorted({*named[0], *named[1]})
    place = {name: number for number, name in enumerate(ids)}
    stranger = next((name for column in named for name in column if name not in place), None)
    if stranger is not None:
        raise InputError(f"{path} names the item {stranger!r}, which is not in the collection")
    first, second = (np.array([place[name] for name in column], np.int64) for column in named)
    return _sparse(path, len(ids), first, second, distance, ids)


def _sparse(path: Path, items: int, first: Ints, second: Ints, distance: Floats, ids: Sequence[str] | None = None) -> Distances:
    _check_count(path, items)

    def named(item: int) -> object:
        return item if ids is None else repr(ids[item])

    if (wrong := _unusable(distance)) is not None:
        raise InputError(_wrong(path, named(int(first[wrong])), named(int(second[wrong])), float(distance[wrong])))
    own = first == second
    if np.any(distance[own] > 0.0):
        at = np.flatnonzero(own & (distance > 0.0))[0]
        raise InputError(f"{path}: item {named(int(first[at]))} is {distance[at]:g} away from itself, and that must be 0")
    first, second, distance = first[~own], second[~own], distance[~own]
    if not len(first):
        raise InputError(f"{path} has no pair of two items")
    _check_any(path, distance)
    key = np.minimum(first, second) * items + np.maximum(first, second)
    order = np.argsort(key, kind="stable")
    key, distance = key[order], distance[order]
    start = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    low, high = np.minimum.reduceat(distance, start), np.maximum.reduceat(distance, start)
    apart = np.flatnonzero(high - low > _SAME * high)
    if len(apart):
        u, v = divmod(int(key[start[apart[0]]]), items)
        raise InputError(_asymmetric(path, named(u), named(v), float(low[apart[0]]), float(high[apart[0]])))
    pairs = Pairs(*np.divmod(key[start], items), (low + high) / 2)
    digest = hashlib.sha256(key[start].data)
    digest.update(pairs.distance.data)
    return Distances(items, pairs, digest.hexdigest()[:32], ids)


def _ways(items: int, pairs: Pairs, progress: Progress | None) -> Floats:
    """Return the shortest ways (n, n); pairs that are listed keep their distance, whatever way is shorter."""
    both = np.concatenate([pairs.first, pairs.second]), np.concatenate([pairs.second, pairs.first])
    order = np.lexsort((both[1], both[0]))
    ends = np.concatenate([[0], np.cumsum(np.bincount(both[0], minlength=items))])
    # Not made by `csr_array(coo)`, which would add up and drop: a distance of 0 is a pair like any other.
    graph = csr_array((np.concatenate([pairs.distance, pairs.distance])[order], both[1][order], ends), shape=(items, items))
    square = np.empty((items, items), np.float64)
    for start in range(0, items, _ROWS):
        stop = min(start + _ROWS, items)
        square[start:stop] = dijkstra(graph, directed=True, indices=np.arange(start, stop))
        if progress is not None:
            progress(stop)
    # The way back may add up the same steps in another order.
    for start in range(0, items, _ROWS):
        part = slice(start, start + _ROWS)
        square[part, start:] = np.minimum(square[part, start:], square[start:, part].T)
        square[start:, part] = square[part, start:].T
    square[pairs.first, pairs.second] = square[pairs.second, pairs.first] = pairs.distance
    there = np.isfinite(square)
    if not there.all():
        square[~there] = square[there].max()
    return square


__all__ = ["MOST_ITEMS", "Distances", "Pairs", "open_distances"]
