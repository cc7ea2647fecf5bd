"""`cccount matches`: local features of every picture, and how many of them match those of its nearest neighbours.

The stage reads pictures and neighbors.zarr, and writes features.zarr and matches.zarr, one task for each shard that is not done.
Where items were added, the features of the others are taken over; lists of neighbours have changed then, and are gone through
again.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import distributed
from dask.utils import format_bytes

from cccount_dist.campaign.answerwords import percent_words
from cccount_dist.campaign.hindrance import missing_input
from cccount_dist.campaign.outcome import Outcome
from cccount_dist.embedding.localfeatures import REVISION, require_opencv
from cccount_dist.embedding.localshard import ITEM_BYTES, SHARD_ROWS, features_shard, matches_shard, task_bytes
from cccount_dist.embedding.shard import ShardReport, failures
from cccount_dist.similarity.localmatches import COLUMNS, POINTS
from flows.compute.clients import run_tasks
from flows.stages.embed import Failure, Standing
from flows.stages.passes import require_memory
from storage.arrays import JSON, ShardedArray
from storage.errors import InputError, WorkspaceError
from storage.layout import marker_folder
from storage.schema import FEATURES, MATCHES, NEIGHBOR_INDEX, PREVIOUS_FEATURES
from storage.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched(Outcome):
    """What `cccount matches` came to."""

    items: int
    nearest: int
    without_points: int  # pictures in which fewer than three points were found
    failed: Sequence[Failure]
    matched_pairs: float  # share of the pairs compared that have matches
    seconds: float
    shards: int
    shards_resumed: int
    peak_worker_bytes: int

    def words(self) -> str:
        text = (
            f"{self.items:,} pictures, each compared with its {self.nearest} nearest: "
            f"{percent_words(self.matched_pairs)} of the pairs have points that match; {self.seconds:.1f} s."
        )
        if self.without_points:
            text += f"\n{self.without_points:,} have too little texture, or could not be read: they match nothing."
        if self.failed:
            text += f"\nThe first that could not be read: {self.failed[0].id}: {self.failed[0].reason}"
        return text


def matches(workspace: str, *, nearest: int = 30, client: distributed.Client) -> Matched:
    """Compare every picture with its nearest. Run again, only missing shards are computed."""
    began = time.perf_counter()
    opened = Workspace.open(workspace)
    version = require_opencv()
    collection = opened.collection()
    if not any(collection.uri(item) for item in range(collection.items)):
        raise InputError(f"{workspace} has no pictures, only vectors: local matches are looked for in pictures")
    lacks = missing_input(opened)
    if lacks is not None:
        raise WorkspaceError(f"{workspace} has not yet {lacks[0]}: run `{lacks[1]}` first")
    require_memory(client, task_bytes(nearest))
    features = _features(opened, version)
    done_before = len(features.done())
    reports = _fill(client, partial(features_shard, opened.location), features, "local features", "pictures")
    _remove_previous(opened)
    array = _array(opened, features, nearest)
    done_before += len(array.done())
    reports += _fill(
        client, partial(matches_shard, opened.location), array, f"matches with the {array.shape[1]} nearest", "items"
    )
    bare, share = _summary(features, array)
    return Matched(
        items=collection.items,
        nearest=array.shape[1],
        without_points=bare,
        failed=[Failure(collection.ids[item], reason) for item, reason in failures(features).items()],
        matched_pairs=share,
        seconds=time.perf_counter() - began,
        shards=features.shards + array.shards,
        shards_resumed=done_before,
        peak_worker_bytes=max((0, *(report.peak_bytes for report in reports))),
    )


def standing(workspace: str, *, nearest: int) -> Standing:
    """How much of this has been done: read off the arrays, without a cluster."""
    opened = Workspace.open(workspace)
    if not opened.has_array(FEATURES):
        return "missing"
    features = opened.array(FEATURES)
    if features.shape[0] != opened.collection().items or features.missing() or missing_input(opened) is not None:
        return "partial"
    if not opened.has_array(MATCHES):
        return "partial"
    array = opened.array(MATCHES)
    shape, attributes = _wanted(opened, features, nearest)
    return "complete" if array.shape == shape and array.attributes == attributes and not array.missing() else "partial"


def _features(opened: Workspace, version: str) -> ShardedArray:
    items = opened.collection().items
    attributes: dict[str, JSON] = {"opencv": version, "revision": REVISION}
    if opened.has_array(FEATURES):
        before = opened.array(FEATURES)
        if before.shape[0] < items and before.attributes == attributes and before.done():
            _set_aside(opened, before)
    array = opened.create_array(FEATURES, (items, POINTS, COLUMNS), attributes=attributes, shard_rows=SHARD_ROWS)
    if array.missing():
        sys.stderr.write(f"{FEATURES.name} will take at most {format_bytes(items * ITEM_BYTES)}\n")
    return array


def _set_aside(opened: Workspace, before: ShardedArray) -> None:
    kept = opened.create_array(PREVIOUS_FEATURES, before.shape, attributes=before.attributes, shard_rows=before.shard_rows)
    notes = before.notes()
    for shard in sorted(set(before.done()) - set(kept.done())):
        noted = notes[shard]
        kept.write_shard(shard, before.read(*before.shard_range(shard)), notes=noted if isinstance(noted, dict) else None)


def _remove_previous(opened: Workspace) -> None:
    if opened.has_array(PREVIOUS_FEATURES):
        for key in (PREVIOUS_FEATURES.name, marker_folder(PREVIOUS_FEATURES)):
            opened.objects.delete(key)


def _wanted(opened: Workspace, features: ShardedArray, nearest: int) -> tuple[tuple[int, ...], dict[str, JSON]]:
    index = opened.array(NEIGHBOR_INDEX)
    attributes: dict[str, JSON] = {"neighbors": index.fingerprint(), "features": features.fingerprint(), "revision": REVISION}
    return (index.shape[0], min(nearest, index.shape[1])), attributes


def _array(opened: Workspace, features: ShardedArray, nearest: int) -> ShardedArray:
    shape, attributes = _wanted(opened, features, nearest)
    return opened.create_array(MATCHES, shape, attributes=attributes, shard_rows=SHARD_ROWS)


def _fill(
    client: distributed.Client, task: "partial[ShardReport]", array: ShardedArray, describe: str, unit: str
) -> list[ShardReport]:
    missing = array.missing()
    ranges = [array.shard_range(shard) for shard in missing]
    sizes = [stop - start for start, stop in ranges]
    before = array.shape[0] - sum(sizes)
    return run_tasks(client, task, missing, describe=describe, unit=unit, done_before=before, sizes=sizes)


def _summary(features: ShardedArray, array: ShardedArray) -> tuple[int, float]:
    """Return how many pictures have too few points to match anything, and the share of pairs that match; shard by shard."""
    bare, pairs, matched = 0, 0, 0
    for shard in range(features.shards):
        bare += int((~features.read(*features.shard_range(shard))[:, 2, 2:].any(axis=1)).sum())
        found = array.read(*array.shard_range(shard))
        pairs, matched = pairs + int((found >= 0).sum()), matched + int((found > 0).sum())
    return bare, matched / max(pairs, 1)


__all__ = ["Matched", "matches", "standing"]
