"""The Dask tasks of `matches`: the local features of one shard of pictures, and the matches of one shard of items.

Memory of a task: a shard of 256 items has 10 MB of features; their 30 nearest are at most 300 MB, read from the host's row cache
and let go when the task ends. Time: about 13 ms a picture, then 0.5 ms a pair.
"""

import mmap

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.images import UnreadableImageError, load_image
from cccount_dist.embedding.localfeatures import local_features, require_opencv
from cccount_dist.embedding.shard import NO_IMAGE, ShardReport, failures, shard_report
from cccount_dist.similarity.localmatches import COLUMNS, POINTS, SIDE, count_matches
from storage.arrays import JSON, ShardedArray
from storage.errors import ComputeError
from storage.rowcache import row_cache
from storage.schema import FEATURES, MATCHES, NEIGHBOR_INDEX, PREVIOUS_FEATURES
from storage.workspace import Workspace

SHARD_ROWS = 256  # items of a task
ITEM_BYTES = POINTS * COLUMNS
_OPENCV_BYTES = 192 * 2**20  # its library and the scales of a picture; with 64 MiB, 10,000 pictures took more than projected


def task_bytes(nearest: int) -> int:
    """What a task takes at most: features of its items and of all that they are compared with, one pair's distances, OpenCV."""
    return SHARD_ROWS * (nearest + 2) * ITEM_BYTES + 16 * POINTS * POINTS + _OPENCV_BYTES


def features_shard(workspace: str, shard: int) -> ShardReport:
    """Fill one shard of features.zarr; a picture that cannot be read has no points, and a note that says why."""
    opened = Workspace.open(workspace)
    array = opened.array(FEATURES)
    if array.attributes["opencv"] != (here := require_opencv()):
        raise ComputeError(
            f"this worker has OpenCV {here}, and {FEATURES.name} was begun with {array.attributes['opencv']}: "
            "install the same packages on every machine"
        )
    start, stop = array.shard_range(shard)
    if shard in array.done():  # a task that was retried after it had written
        return shard_report(shard, stop - start, len(failures(array, shard)))
    rows, failed = _known(opened, array, start, stop)
    uris = opened.collection().table.column("uri").slice(start + len(rows), stop - start - len(rows)).to_pylist()
    new = np.zeros((len(uris), POINTS, COLUMNS), np.int8)
    for row, uri in enumerate(uris):
        try:
            if uri:
                new[row] = local_features(load_image(uri, SIDE))
            else:
                failed[start + len(rows) + row] = NO_IMAGE
        except UnreadableImageError as error:
            failed[start + len(rows) + row] = str(error)
    notes: dict[str, JSON] = {"failed": {str(item): reason for item, reason in failed.items()}}
    array.write_shard(shard, np.concatenate([rows, new]), notes=notes)
    return shard_report(shard, stop - start, len(failed))


def _known(workspace: Workspace, array: ShardedArray, start: int, stop: int) -> tuple[NDArray[np.int8], dict[int, str]]:
    """Return as many rows from `start` on as were there before items were added, and their failures."""
    if workspace.has_array(PREVIOUS_FEATURES):
        before = workspace.array(PREVIOUS_FEATURES)
        there = min(stop, before.shape[0])
        if there > start and before.attributes == array.attributes and start // SHARD_ROWS in before.done():
            failed = {item: reason for item, reason in failures(before).items() if start <= item < there}
            return before.read(start, there), failed
    return np.empty((0, POINTS, COLUMNS), np.int8), {}


def matches_shard(workspace: str, shard: int) -> ShardReport:
    """Fill one shard of matches.zarr."""
    opened = Workspace.open(workspace)
    array = opened.array(MATCHES)
    start, stop = array.shard_range(shard)
    if shard not in array.done():
        near = opened.array(NEIGHBOR_INDEX).read(start, stop)[:, : array.shape[1]]
        features = row_cache(opened.array(FEATURES), opened.cache_folder(), "features")
        array.write_shard(shard, matches_of(features, near, start))
        _let_go(features)
    return shard_report(shard, stop - start, 0)


def matches_of(features: NDArray[np.int8], near: NDArray[np.int32], first: int = 0) -> NDArray[np.int16]:
    """Return how many points match, (m, k), of the items first, first + 1, … and those that their lists `near` (m, k) name.

    Of a pair the item with the lower number is looked at first: both find the same number.
    """
    found = np.full(near.shape, -1, np.int16)
    for row, others in enumerate(near.tolist()):
        for place, other in enumerate(others):
            if other >= 0:
                a, b = min(first + row, other), max(first + row, other)
                found[row, place] = count_matches(features[a], features[b])
    return found


def _let_go(rows: NDArray[np.int8]) -> None:
    """Give mapped pages back: Dask counts them as memory of the worker, and stops one that seems to grow."""
    mapped = getattr(rows, "_mmap", None)
    if isinstance(mapped, mmap.mmap):
        mapped.madvise(mmap.MADV_DONTNEED)


__all__ = ["ITEM_BYTES", "SHARD_ROWS", "features_shard", "matches_of", "matches_shard", "task_bytes"]
