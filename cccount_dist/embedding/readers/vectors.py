"""Vectors that somebody else computed: .npy, .npz, .parquet, .zarr, or a folder of img_emb/*.npy and metadata/*.parquet.

Nothing is unpickled. Vectors are streamed in blocks of rows, so memory does not grow with their number; ids, labels and paths
that lie beside them become columns of the collection.
"""

import math
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import zarr
from numpy.typing import NDArray

from cccount_dist.embedding.readers.table import first, text
from storage import parquet
from storage.errors import InputError
from storage.reading import reading, require_file, require_files_below

BLOCK_BYTES = 32 * 2**20
CHUNK_BYTES = 2**31
LABEL_BYTES = 16_384
MOST_ITEMS = 2**31 - 1  # neighbours are numbered with 32 bits
MOST_DIMENSIONS = 1_000_000

Column = Sequence[str | None]


@dataclass(frozen=True, slots=True)
class Vectors:
    """Given vectors: how many, how long, and a way to stream them from the beginning, as often as wanted."""

    items: int
    dimensions: int
    blocks: Callable[[], Iterator[NDArray[np.float32]]]
    columns: dict[str, Column] = field(default_factory=dict)  # id, label, uri, as far as they are known


def open_vectors(path: Path, label: str | None = None) -> Vectors:
    """Open given vectors; `label` names the column of labels of a parquet file or of the metadata."""
    if not path.exists():
        raise InputError(f"there is no file or folder {path}")
    with reading(path):
        found = _opened(path, label)
    if label is not None and "label" not in found.columns:
        raise InputError(f"{path} has no column {label!r} to take labels from")
    if found.items < 1 or found.dimensions < 1:
        raise InputError(f"{path} is empty: it has {found.items} vectors of {found.dimensions} dimensions")
    if found.items > MOST_ITEMS or found.dimensions > MOST_DIMENSIONS:
        raise InputError(
            f"{path} says that it has {found.items:,} vectors of {found.dimensions:,} dimensions: "
            f"more than {MOST_ITEMS:,} of {MOST_DIMENSIONS:,} cannot be used"
        )
    return replace(found, blocks=lambda: _guarded(found.blocks, path))


def _guarded(blocks: Callable[[], Iterator[NDArray[np.float32]]], path: Path) -> Iterator[NDArray[np.float32]]:
    """The blocks of a file, whose damage may be anywhere in it."""
    with reading(path):
        yield from blocks()


def _opened(path: Path, label: str | None) -> Vectors:
    if path.is_dir():
        require_files_below(path)
        found = _folder(path, label) if (path / "img_emb").is_dir() else _zarr(path)
    elif path.suffix.lower() in (".npy", ".npz", ".parquet"):
        require_file(path)
        found = {".npy": _npy, ".npz": _npz, ".parquet": _parquet}[path.suffix.lower()](path, label)
    else:
        raise InputError(f"{path}: vectors are read from .npy, .npz, .parquet, .zarr or a folder with img_emb/ in it")
    return found


def _npy(path: Path, label: str | None) -> Vectors:  # noqa: ARG001 (one signature for all)
    with path.open("rb") as source:
        shape, _ = _header(source, path)
    return Vectors(*shape, lambda: _npy_blocks(lambda: path.open("rb"), path))


def _npz(path: Path, label: str | None) -> Vectors:  # noqa: ARG001
    def member() -> IO[bytes]:
        # Closing the member closes the archive too: zipfile counts its open members.
        with zipfile.ZipFile(path) as archive:
            return archive.open("x.npy")

    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if "x.npy" not in names:
        keys = ", ".join(name.removesuffix(".npy") for name in names)
        raise InputError(f"{path} has no array `x` (the vectors): it has {keys or 'nothing'}")
    with member() as source:
        shape, _ = _header(source, path)
    columns: dict[str, Column] = {}
    if "y.npy" in names:
        labels = _npz_labels(path, shape[0])
        columns["label"] = [text(value) for value in labels.tolist()]
    return Vectors(*shape, lambda: _npy_blocks(member, path), columns)


def _npz_labels(path: Path, items: int) -> NDArray[np.generic]:
    """The array `y`; its header is looked at first, for a small file may unpack to more than there is memory."""
    with zipfile.ZipFile(path) as archive, archive.open("y.npy") as source:
        shape, _, dtype = _any_header(source)
    if shape != (items,):
        raise InputError(f"{path}: `y` has the shape {shape} for {items} vectors")
    if dtype.itemsize > LABEL_BYTES:
        raise InputError(f"{path}: `y` holds {dtype}, and a label has at most {LABEL_BYTES:,} bytes")
    with np.load(path, allow_pickle=False) as arrays:
        labels: NDArray[np.generic] = arrays["y"]
    return labels


def _any_header(source: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    version = np.lib.format.read_magic(source)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(source)


def _header(source: IO[bytes], path: Path) -> tuple[tuple[int, int], np.dtype[np.generic]]:
    shape, fortran, dtype = _any_header(source)
    if dtype.kind not in "fiu":
        raise InputError(f"{path} holds {dtype}, not numbers (pickled objects are never read)")
    if len(shape) != 2:
        raise InputError(f"{path} has the shape {shape}: vectors are two-dimensional, (items, dimensions)")
    if fortran:
        raise InputError(f"{path} is stored column by column: save numpy.ascontiguousarray(x) instead")
    return (int(shape[0]), int(shape[1])), dtype


def _npy_blocks(opened: Callable[[], IO[bytes]], path: Path) -> Iterator[NDArray[np.float32]]:
    with opened() as source:
        (items, dimensions), dtype = _header(source, path)
        rows = _block_rows(dimensions, dtype.itemsize)
        for start in range(0, items, rows):
            count = min(rows, items - start) * dimensions
            data = source.read(count * dtype.itemsize)  # a block, whatever the header says: see MOST_DIMENSIONS
            if len(data) != count * dtype.itemsize:
                raise InputError(
                    f"{path} ends in the middle, in row {start + len(data) // (dimensions * dtype.itemsize)} of {items}"
                )
            yield _as_float32(np.frombuffer(data, dtype).reshape(-1, dimensions))


def _parquet(path: Path, label: str | None) -> Vectors:
    with pq.ParquetFile(path) as source:
        schema, items = source.schema_arrow, source.metadata.num_rows
        lists = [f.name for f in schema if _is_list(f.type) and _is_number(f.type.value_type)]
        if len(lists) != 1:
            raise InputError(f"{path} needs exactly one list column of numbers: it has {len(lists)}")
        column = lists[0]
        sample = next(source.iter_batches(batch_size=1, columns=[column], use_threads=False), None)
        dimensions = len(sample.column(0)[0].as_py() or ()) if sample is not None and items else 0
        wanted = {"id": "id", "uri": "uri", "label": label or "label"}
        columns: dict[str, Column] = {
            ours: [text(value) for value in source.read(columns=[theirs], use_threads=False).column(0).to_pylist()]
            for ours, theirs in wanted.items()
            if theirs in schema.names and theirs != column
        }

    def blocks() -> Iterator[NDArray[np.float32]]:
        with pq.ParquetFile(path) as source:
            row = 0
            for batch in source.iter_batches(batch_size=_block_rows(dimensions, 8), columns=[column], use_threads=False):
                values = batch.column(0)
                lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
                wrong = np.flatnonzero(lengths != dimensions)
                if wrong.size:
                    found = lengths[wrong[0]]
                    raise InputError(
                        f"{path} row {row + int(wrong[0])}: a vector of {found} numbers among vectors of {dimensions}"
                    )
                flat = values.flatten().to_numpy(zero_copy_only=False)
                yield _as_float32(flat.reshape(-1, dimensions))
                row += len(values)

    return Vectors(items, dimensions, blocks, columns)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def open_matrix(path: Path) -> zarr.Array[Any]:
    """Return the array that a zarr store is, or the only two-dimensional one of its group."""
    node = zarr.open(path, mode="r")
    if not isinstance(node, zarr.Group):
        return node
    arrays = [array for _, array in node.arrays() if array.ndim == 2]
    if len(arrays) != 1:
        raise InputError(f"{path} needs exactly one two-dimensional array: it has {len(arrays)}")
    return arrays[0]


def _zarr(path: Path) -> Vectors:
    node = open_matrix(path)
    if node.ndim != 2 or node.dtype.kind not in "fiu":
        raise InputError(f"{path} holds {node.dtype} of the shape {node.shape}: vectors are numbers, (items, dimensions)")
    array = node
    items, dimensions = array.shape
    _require_chunks(array, path)
    step = max((array.shards or array.chunks)[0], _block_rows(dimensions, array.dtype.itemsize))

    def blocks() -> Iterator[NDArray[np.float32]]:
        for start in range(0, items, step):
            yield _as_float32(np.asarray(array[start : start + step]))

    return Vectors(items, dimensions, blocks)


def _require_chunks(array: zarr.Array[Any], path: Path) -> None:
    """Raise `InputError` if most of an array was never written: zarr would read fill values, for ever if the shape is large."""
    stored = array.shards or array.chunks
    if math.prod(stored) * array.dtype.itemsize > CHUNK_BYTES:
        raise InputError(f"{path} has chunks of {stored}: write it with chunks of less than {CHUNK_BYTES // 2**20:,} MiB")
    chunks = math.prod(-(-length // size) for length, size in zip(array.shape, array.chunks, strict=True))
    there = array.nchunks_initialized
    if chunks > 2 * there:
        raise InputError(f"{path} is not complete: {chunks - there:,} of its {chunks:,} chunks were never written")


def _folder(path: Path, label: str | None) -> Vectors:
    files = sorted((path / "img_emb").glob("*.npy"), key=_number)
    if not files:
        raise InputError(f"{path}/img_emb has no .npy files")
    parts = [_npy(file, None) for file in files]
    if len({part.dimensions for part in parts}) > 1:
        raise InputError(f"{path}/img_emb has vectors of different lengths: {sorted({part.dimensions for part in parts})}")
    columns: dict[str, list[str | None]] = {}
    metadata = sorted((path / "metadata").glob("*.parquet"), key=_number)
    if metadata:
        if [_number(file) for file in metadata] != [_number(file) for file in files]:
            raise InputError(f"{path}: img_emb has {len(files)} files and metadata {len(metadata)}, or their numbers differ")
        for file, part in zip(metadata, parts, strict=True):
            _add_metadata(columns, file, part.items, label)

    def blocks() -> Iterator[NDArray[np.float32]]:
        for part in parts:
            yield from part.blocks()

    return Vectors(sum(part.items for part in parts), parts[0].dimensions, blocks, dict(columns))


def _add_metadata(columns: dict[str, list[str | None]], file: Path, items: int, label: str | None) -> None:
    table = parquet.from_bytes(file.read_bytes())
    if len(table) != items:
        raise InputError(f"{file} has {len(table)} rows for {items} vectors")
    for record in table.to_pylist():
        path = text(first(record, ("image_path", "path", "uri", "url")))
        found = {"id": text(record.get("id")) or path, "label": text(record.get(label or "label"))}
        found["uri"] = path if path is not None and path.startswith("/") else None
        for name, value in found.items():
            columns.setdefault(name, []).append(value)


def _number(file: Path) -> tuple[int, str]:
    digits = re.findall(r"\d+", file.stem)
    return (int(digits[-1]), "") if digits else (-1, file.stem)


def _block_rows(dimensions: int, itemsize: int) -> int:
    return max(1, BLOCK_BYTES // max(1, dimensions * itemsize))


def _as_float32(values: NDArray[np.generic]) -> NDArray[np.float32]:
    with np.errstate(over="ignore", invalid="ignore"):  # what does not fit becomes infinite, and is refused by name later
        return values.astype(np.float32)


def rebatched(blocks: Iterator[NDArray[np.float32]], rows: int) -> Iterator[NDArray[np.float32]]:
    """Cut a stream of blocks into blocks of exactly `rows` rows; the last may be shorter."""
    held: list[NDArray[np.float32]] = []
    count = 0
    for block in blocks:
        rest = block
        while len(rest):
            piece, rest = rest[: rows - count], rest[rows - count :]
            held.append(piece)
            count += len(piece)
            if count == rows:
                yield np.concatenate(held)
                held, count = [], 0
    if held:
        yield np.concatenate(held)


__all__ = ["Vectors", "open_matrix", "open_vectors", "rebatched"]
