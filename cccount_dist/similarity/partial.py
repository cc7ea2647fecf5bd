"""What a tile found for a block, as a file of `storage/scratch.py`: 16 bytes for an item and 8 for a candidate."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.lists import Lists, packed
from storage.scratch import ScratchPath, is_sound, read_arrays, write_arrays


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of the items of one block; candidates are packed, item after item."""

    degree: NDArray[np.float64]  # (rows,)
    count: NDArray[np.int32]  # (rows,) candidates of each item, or OVERFULL
    threshold: NDArray[np.float32]  # (rows,)
    score: NDArray[np.float32]
    item: NDArray[np.int32]


def found_in(lists: Lists) -> Found:
    return Found(lists.degree, lists.filled, lists.threshold, *packed(lists))


def write_found(path: ScratchPath, found: Found) -> None:
    write_arrays(path, found.degree, found.count, found.threshold, found.score, found.item)


def read_found(path: ScratchPath) -> Found:
    return Found(*read_arrays(path))


__all__ = ["Found", "found_in", "is_sound", "read_arrays", "read_found", "write_arrays", "write_found"]
