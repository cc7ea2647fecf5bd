"""Every image below a folder, in the order of their relative paths, which are also their ids.

The walk is streamed into Arrow strings and sorted there. Names that start with a dot are skipped (`._a.jpg` of macOS is no
image); a linked folder is entered, unless it is one of its own ancestors.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from cccount_dist.embedding.address import Address
from cccount_dist.embedding.images import SUFFIXES
from cccount_dist.embedding.readers.rows import BATCH, Row, batches
from storage.errors import InputError


def read_folder(folder: Path, *, required: bool = True) -> Iterator[pa.Table]:
    """Yield rows with `id` (path relative to the folder) and `uri` (absolute path)."""
    root = folder.resolve()
    paths = _relative_paths(root)
    if required and not len(paths):
        raise InputError(f"{folder} has no images: looked for {', '.join(sorted(SUFFIXES))} in it and in the folders below")

    def rows() -> Iterator[Row]:
        for chunk in paths.chunks:
            for value in chunk:
                relative = value.as_py()
                yield {"id": relative, "uri": Address(str(root / relative)).uri()}

    yield from batches(rows())


def _relative_paths(root: Path) -> pa.ChunkedArray:
    parts, held = [], []
    for path in _walk(root, "", ()):
        held.append(path)
        if len(held) == BATCH:
            parts.append(pa.array(held, pa.string()))
            held = []
    found = pa.chunked_array([*parts, pa.array(held, pa.string())])
    # Arrow compares bytes: the order is the same on every machine and in every language.
    return found.take(pc.array_sort_indices(found.combine_chunks()))


def _walk(folder: Path, prefix: str, ancestors: tuple[tuple[int, int], ...]) -> Iterator[str]:
    try:
        status = folder.stat()
        with os.scandir(folder) as entries:
            here = (status.st_dev, status.st_ino)
            if here in ancestors:
                return
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir():
                    yield from _walk(folder / entry.name, f"{prefix}{entry.name}/", (*ancestors, here))
                elif os.path.splitext(entry.name)[1].lower() in SUFFIXES:  # noqa: PTH122 (a Path for each file costs more than the walk)
                    yield _text(prefix + entry.name, folder)
    except OSError as error:
        raise InputError(f"cannot list {folder}: {error.strerror or error}") from error


def _text(path: str, folder: Path) -> str:
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{folder} has a file whose name is not UTF-8, {path!r}: rename it") from error
    return path


__all__ = ["read_folder"]
