"""A small array of embeddings for tests: how it is made, and what is in it."""

import numpy as np
from numpy.typing import NDArray

from storage.arrays import ShardedArray
from storage.objects import LocalObjects
from storage.schema import EMBEDDINGS

ITEMS, DIMENSIONS, SHARD_ROWS = 1000, 4, 256


def vectors(items: int = ITEMS, dimensions: int = DIMENSIONS, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((items, dimensions), dtype=np.float32)


def made(objects: LocalObjects, **attributes: str) -> ShardedArray:
    return ShardedArray.create(objects, EMBEDDINGS, (ITEMS, DIMENSIONS), attributes=attributes, shard_rows=SHARD_ROWS)


def write_all(array: ShardedArray, rows: NDArray[np.float32]) -> None:
    for shard in array.missing():
        start, stop = array.shard_range(shard)
        array.write_shard(shard, rows[start:stop])
