"""A small array on a disk, and where it lies."""

from pathlib import Path

import pytest

from storage.arrays import ShardedArray
from storage.objects import LocalObjects
from tests.storage.smallarray import made, vectors, write_all


@pytest.fixture
def objects(tmp_path: Path) -> LocalObjects:
    return LocalObjects(tmp_path / "ws")


@pytest.fixture
def complete(objects: LocalObjects) -> ShardedArray:
    array = made(objects)
    write_all(array, vectors())
    return array
