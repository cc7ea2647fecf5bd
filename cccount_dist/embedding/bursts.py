"""Bursts: frames that one camera took within moments and that look alike are one sighting, and should count once.

Items of one group (camera) are put in order of time; a frame belongs to the burst of the frame before it if at most `seconds`
lie between them and their cosine similarity is at least `similarity`. O(n (log n + d)) time, and a few numbers for each item.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from storage.errors import InputError

SECONDS = 3.0
SIMILARITY = 0.8
_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Bursts:
    """The burst of every item (n,), numbered from 0, and the first frame of every burst, in order of item."""

    burst: NDArray[np.int64]
    first: NDArray[np.int64]


def find_bursts(
    table: pa.Table, vectors: NDArray[np.float32], *, seconds: float = SECONDS, similarity: float = SIMILARITY
) -> Bursts:
    """Group the frames of a collection table by time and look; items without a time or a vector stand alone.

    `vectors` (n, d) may be a memory map: rows are read in blocks.
    """
    known = table.column("taken_at").is_valid().to_numpy()
    if not known.any():
        raise InputError("no item has a time (taken_at): bursts are found by time; give one with a manifest")
    moments = table.column("taken_at").cast(pa.int64()).fill_null(0).to_numpy()  # microseconds
    cameras = table.column("group").combine_chunks().fill_null("").dictionary_encode().indices.to_numpy()
    items = np.flatnonzero(known)
    order = items[np.lexsort((items, moments[items], cameras[items]))]
    before, after = order[:-1], order[1:]
    near = (cameras[before] == cameras[after]) & (moments[after] - moments[before] <= seconds * 1e6)
    alike = np.zeros(len(before), bool)
    places = np.flatnonzero(near)
    for start in range(0, len(places), _BLOCK):
        part = places[start : start + _BLOCK]
        alike[part] = _cosine(vectors[before[part]], vectors[after[part]]) >= similarity
    leader = np.arange(len(table))
    # Along the order of time a burst is a run of links, and the place where its run begins is its leader.
    begins = np.maximum.accumulate(np.where(np.concatenate([[False], alike]), 0, np.arange(len(order))))
    leader[order] = order[begins]
    first, burst = np.unique(leader, return_inverse=True)
    return Bursts(burst.astype(np.int64), first)


def _cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the cosine of each pair of rows; NaN, which is similar to nothing, without a vector."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((x * y).sum(axis=1) / lengths)


__all__ = ["Bursts", "find_bursts"]
