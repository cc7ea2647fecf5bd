"""Somebody else's vectors into `embeddings.zarr`: looked through once, then copied shard by shard, both as a stream.

A vector with NaN or infinite values becomes an item without a vector, with the reason. A vector of zeros is kept: its cosine
similarity to everything is 0. Memory: one shard and one block.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from cccount_dist.embedding.readers.tablerows import batches, numbered
from cccount_dist.embedding.readers.vectors import Vectors, rebatched
from cccount_dist.embedding.shard import NOT_FINITE, finite_rows
from storage.arrays import JSON, ShardedArray
from storage.errors import InputError

Progress = Callable[[int], None]
ATTRIBUTES: dict[str, JSON] = {"encoder": "given", "revision": "given", "components": None}
DISTANCES = "distances"  # in the place of the encoder: vectors that stand for given distances


def of_distances(digest: str) -> dict[str, JSON]:
    """Return the attributes of vectors that stand for the distances of this digest."""
    return {"encoder": DISTANCES, "revision": digest, "components": None}


def is_of_distances(attributes: Mapping[str, JSON]) -> bool:
    return attributes.get("encoder") == DISTANCES


def given_collection(vectors: Vectors, path: Path, progress: Progress | None = None) -> pa.Table:
    """Return the collection table of given vectors, with the reason beside every vector that cannot be used."""
    return given_items(vectors, _look_through(vectors, path, progress))


def given_items(vectors: Vectors, problems: Mapping[int, str] = MappingProxyType({})) -> pa.Table:
    """Return the collection table of given vectors without a look at them."""
    columns = vectors.columns
    rows = (
        {
            "id": (columns["id"][row] if "id" in columns else None) or str(row),
            "uri": columns["uri"][row] if "uri" in columns else None,
            "label": columns["label"][row] if "label" in columns else None,
            "problem": problems.get(row),
        }
        for row in range(vectors.items)
    )
    return numbered(batches(rows), "init --embeddings")


def write_given(array: ShardedArray, vectors: Vectors, progress: Progress | None = None) -> None:
    """Fill every shard that is not done."""
    missing = set(array.missing())
    for shard, rows in enumerate(rebatched(vectors.blocks(), array.shard_rows)):
        if shard in missing:
            start, _ = array.shard_range(shard)
            good = finite_rows(rows)
            notes = {"failed": {str(start + int(row)): NOT_FINITE for row in np.flatnonzero(~good)}}
            array.write_shard(shard, np.where(good[:, None], rows, np.float32(np.nan)), notes=notes)
        if progress is not None:
            progress(array.shard_range(shard)[1])


def _look_through(vectors: Vectors, path: Path, progress: Progress | None) -> dict[int, str]:
    problems: dict[int, str] = {}
    row = zeros = 0
    for block in vectors.blocks():
        good = finite_rows(block)
        problems.update({row + int(bad): NOT_FINITE for bad in np.flatnonzero(~good)})
        zeros += int(np.count_nonzero(~block.any(axis=1)))
        row += len(block)
        if progress is not None:
            progress(row)
    if row != vectors.items:
        raise InputError(f"{path} says that it has {vectors.items} vectors, and has {row}")
    if len(problems) == row:
        raise InputError(f"{path}: every one of the {row} vectors has NaN or infinite values")
    if len(problems) + zeros == row:
        raise InputError(f"{path}: no vector has a value other than zero")
    return problems


__all__ = [
    "ATTRIBUTES", "DISTANCES", "given_collection", "given_items", "is_of_distances", "of_distances", "write_given",
]  # fmt: skip
