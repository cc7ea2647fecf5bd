"""Which reader a path needs: the one place that knows all of them."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from cccount_dist.embedding.readers.folder import read_folder
from cccount_dist.embedding.readers.table import read_table
from storage.errors import InputError


def read_images(path: Path) -> Iterator[pa.Table]:
    """Yield the rows of a folder of images."""
    if not path.is_dir():
        raise InputError(f"there is no folder {path}")
    return read_folder(path)


def read_manifest(path: Path, label: str | None = None) -> Iterator[pa.Table]:
    """Yield the rows of a manifest; `label` names the column of labels."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    return read_table(path, label)


__all__ = ["read_images", "read_manifest"]
