"""Every image below a folder, in the order of their relative paths, which are also their ids.

The walk is streamed into Arrow strings and sorted there. Names that start with a dot are skipped (`._a.jpg` of macOS is no
image); a linked folder is entered, unless it is one of its own ancestors. What has the name of an image and is no file (a pipe, a
device, a link that leads nowhere or to itself) is an item that cannot be used, with the reason: nobody waits for it.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from cccount_dist.embedding.address import Address
from cccount_dist.embedding.images import SUFFIXES
from cccount_dist.embedding.readers.tablerows import BATCH, Row, batches
from storage.errors import InputError
from storage.reading import reason, unusable


def read_folder(folder: Path, *, required: bool = True) -> Iterator[pa.Table]:
    """Yield rows with `id` (path relative to the folder) and `uri` (absolute path)."""
    root = folder.resolve()
    problems: dict[str, str] = {}
    paths = _relative_paths(root, problems)
    if required and not len(paths):
        raise InputError(f"{folder} has no images: looked for {', '.join(sorted(SUFFIXES))} in it and in the folders below")

    def rows() -> Iterator[Row]:
        for chunk in paths.chunks:
            for value in chunk:
                relative = value.as_py()
                problem = problems.get(relative)
                yield {"id": relative, "uri": Address(str(root / relative)).uri(), "problem": problem}

    yield from batches(rows())


def _relative_paths(root: Path, problems: dict[str, str]) -> pa.ChunkedArray:
    """Return the paths in order; those that are no files go into `problems`, with the reason."""
    parts, held = [], []
    for path, problem in _walk(root, "", ()):
        if problem is not None:
            problems[path] = problem
        held.append(path)
        if len(held) == BATCH:
            parts.append(pa.array(held, pa.string()))
            held = []
    found = pa.chunked_array([*parts, pa.array(held, pa.string())])
    # Arrow compares bytes: the order is the same on every machine and in every language.
    return found.take(pc.array_sort_indices(found.combine_chunks()))


def _walk(folder: Path, prefix: str, ancestors: tuple[tuple[int, int], ...]) -> Iterator[tuple[str, str | None]]:
    try:
        status = folder.stat()
        with os.scandir(folder) as entries:
            here = (status.st_dev, status.st_ino)
            if here in ancestors:
                return
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if _is_folder(entry):
                    yield from _walk(folder / entry.name, f"{prefix}{entry.name}/", (*ancestors, here))
                elif os.path.splitext(entry.name)[1].lower() in SUFFIXES:  # noqa: PTH122 (a Path for each file costs more than the walk)
                    yield _text(prefix + entry.name, folder), _problem(entry)
    except OSError as error:
        raise InputError(f"cannot list {folder}: {error.strerror or error}") from error


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _problem(entry: "os.DirEntry[str]") -> str | None:
    """Return why an entry cannot be read: it is a pipe, a device, a link to nothing. For a file the walk knows it already."""
    try:
        return None if entry.is_file() else unusable(entry.path)
    except OSError as error:
        return reason(error)


def left_out(folder: Path) -> dict[str, int]:
    """Count the files below a folder that are not read, by their endings, most frequent first; `hidden`: a dot comes first."""
    found: Counter[str] = Counter()
    for _, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            ending = os.path.splitext(name)[1].lower()  # noqa: PTH122  as in the walk above
            if name.startswith("."):
                found["hidden"] += 1
            elif ending not in SUFFIXES:
                found[ending or "without an ending"] += 1
    return dict(found.most_common())


def _text(path: str, folder: Path) -> str:
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{folder} has a file whose name is not UTF-8, {path!r}: rename it") from error
    return path


__all__ = ["left_out", "read_folder"]
