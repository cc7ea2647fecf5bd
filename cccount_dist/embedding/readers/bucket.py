"""Every image below a prefix of an object store, in the order of their keys: what `folder.py` is for a folder.

Memory: the keys. Names that start with a dot are skipped, as there.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

import pyarrow as pa

from cccount_dist.embedding.address import Address
from cccount_dist.embedding.images import SUFFIXES
from cccount_dist.embedding.readers.tablerows import batches
from storage.errors import InputError
from storage.objects import open_objects


def read_bucket(location: str) -> Iterator[pa.Table]:
    """Yield rows with `id` (key below the prefix) and `uri` (`s3://bucket/key`)."""
    objects = open_objects(location)
    keys = [key for key in objects.keys("") if _is_image(key)]
    if not keys:
        raise InputError(f"{location} has no images: looked for {', '.join(sorted(SUFFIXES))} below it")
    yield from batches({"id": key, "uri": Address(f"{objects.location}/{key}").uri()} for key in keys)


def _is_image(key: str) -> bool:
    path = PurePosixPath(key)
    return path.suffix.lower() in SUFFIXES and not any(part.startswith(".") for part in path.parts)


__all__ = ["read_bucket"]
