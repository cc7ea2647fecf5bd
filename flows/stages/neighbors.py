"""`cccount neighbors`: the k nearest neighbours and the degree of every item, on a Dask cluster.

The stage reads embeddings.zarr and writes neighbors.zarr. Run again it goes on where it was: finished blocks are not
touched, and tiles whose partial results are whole in the scratch folder are not computed again.
"""

import sys
import time
from dataclasses import dataclass, replace
from functools import partial

import distributed

from cccount_dist.campaign.outcome import Outcome, optional
from cccount_dist.embedding.given import is_of_distances
from cccount_dist.similarity.approximate import ApproximatePass
from cccount_dist.similarity.exact import ExactPass, survey
from cccount_dist.similarity.grid import grid_for
from cccount_dist.similarity.inmemory import too_few
from cccount_dist.similarity.lists import capacity
from cccount_dist.similarity.metrics import Metric, check_metric
from cccount_dist.similarity.remaining import Remaining, has_passes, scratch_folder, scratch_name
from cccount_dist.taken import require_for
from flows.compute.clients import run_tasks
from flows.stages import approximate
from flows.stages.embed import Standing
from flows.stages.passes import require_memory, run_stages
from storage.arrays import JSON, ShardedArray
from storage.errors import InputError
from storage.schema import DEGREE, EMBEDDINGS, NEIGHBOR_INDEX, NEIGHBOR_SIMILARITY, SIMILARITY, ArraySpec
from storage.workspace import Workspace

_PASSES: dict[str, type[ExactPass]] = {"exact": ExactPass, "approximate": ApproximatePass}
USUAL = 50  # neighbours of each item, where nobody said how many


@dataclass(frozen=True, slots=True)
class _Done:
    """What a pass reports."""

    tiles: int
    resumed: int
    peak: int = 0
    recall: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbored(Outcome):
    """What `cccount neighbors` came to."""

    items: int
    dimensions: int
    k: int
    metric: str
    engine: str
    seconds: float
    tiles: int
    tiles_resumed: int
    peak_worker_bytes: int
    recall: float | None
    usual_k: int | None = optional()  # k was lowered from this, because the collection is small

    def words(self) -> str:
        kind = f"{self.k} neighbours each by {self.metric} similarity ({self.engine})"
        tiles = f"{self.tiles:,} tile{'' if self.tiles == 1 else 's'}, {self.tiles_resumed:,} of them from before"
        recall = "" if self.recall is None else f" Recall on a sample: {self.recall:.3f}."
        lowered = ""
        if self.usual_k is not None:
            lowered = (
                f"\nThe usual k is {self.usual_k}: this collection is small, so k is {self.k}, all others that have a vector."
            )
        return f"{self.items:,} items, {kind}; {tiles}; {self.seconds:.1f} s.{recall}{lowered}"


def neighbors(
    workspace: str,
    *,
    k: int | None = None,
    metric: Metric | None = None,
    engine: str = "exact",
    client: distributed.Client,
) -> Neighbored:
    """Find the neighbours of every item; `k` None: 50, or as many as a small collection has; `metric` None: see `_metric`."""
    began = time.perf_counter()
    if engine not in _PASSES:
        raise InputError(f"there is no engine {engine!r}: use one of {', '.join(_PASSES)}")
    if k is not None and k < 1:
        raise InputError(f"--k must be at least 1, not {k}")
    opened = Workspace.open(workspace)
    require_for("neighbors", opened)
    job = _pass(opened, k, metric, engine)
    with scratch_folder(opened, job.scratch):
        done = _run(opened, job, client, engine=engine)
        _remove_store(opened)
    return Neighbored(
        items=job.grid.items,
        dimensions=job.dimensions,
        k=job.k,
        metric=job.metric,
        engine=engine,
        seconds=time.perf_counter() - began,
        tiles=done.tiles,
        tiles_resumed=done.resumed,
        peak_worker_bytes=done.peak,
        recall=done.recall,
        usual_k=USUAL if k is None and job.k < USUAL else None,
    )


def standing(workspace: str, *, k: int | None, metric: str | None, engine: str) -> Standing:
    """How much of this has been done: read off the arrays and the scratch folder, without a cluster."""
    opened = Workspace.open(workspace)
    job = _pass(opened, k, metric, engine)
    begun = has_passes(opened)  # also what a kill behind the last block left
    if not begun and _is_complete(opened, job, _attributes(job, engine)):
        return "complete"
    return "partial" if begun or _is_begun(opened, _attributes(job, engine)) else "missing"


def _usual(opened: Workspace, items: int) -> int:
    """How many neighbours are kept where nobody said: in a small collection every other item that has a vector."""
    there = items - len(opened.collection().problems())
    return max(1, min(USUAL, there - 1))


def _metric(embeddings: ShardedArray, wanted: str | None, location: str) -> Metric:
    """How similarity is measured; vectors that stand for given distances have those, and nothing else."""
    if not is_of_distances(embeddings.attributes):
        return check_metric(wanted or "cosine")
    if wanted not in (None, "euclidean"):
        raise InputError(
            f"--metric {wanted} is of no use here: {location} was made from given distances, which its vectors have as Euclidean "
            "ones; leave --metric out"
        )
    return "euclidean"


def _pass(opened: Workspace, wanted: int | None, told: str | None, engine: str) -> ExactPass:
    embeddings = opened.array(EMBEDDINGS)
    metric = _metric(embeddings, told, opened.location)
    items, dimensions = embeddings.shape
    k = _usual(opened, items) if wanted is None else wanted
    grid = grid_for(items, 8 * capacity(k))
    fingerprint = embeddings.fingerprint()
    scratch = scratch_name(engine, fingerprint, metric, k, grid.tile_rows)
    return _PASSES[engine](opened.location, fingerprint, metric, k, grid, dimensions, scratch)


def _attributes(job: ExactPass, engine: str) -> dict[str, JSON]:
    return {
        "engine": engine,
        "metric": job.metric,
        "k": job.k,
        "embeddings": job.embeddings,
        "tile_rows": job.grid.tile_rows,
    }


def _run(opened: Workspace, job: ExactPass, client: distributed.Client, *, engine: str) -> _Done:
    attributes = _attributes(job, engine)
    parts = job.grid.blocks if isinstance(job, ApproximatePass) else job.grid.tiles
    if _is_complete(opened, job, attributes):
        recall = opened.array(NEIGHBOR_INDEX).attributes["recall"]
        return _Done(parts, parts, recall=recall if isinstance(recall, float) else None)
    if isinstance(job, ApproximatePass):
        approximate.require_faiss(client)
    require_memory(client, job.task_bytes())
    seen = run_tasks(client, partial(survey, job), [0], describe="reading vectors", unit="passes")[0]
    if seen.usable <= job.k:
        raise InputError(too_few(seen.usable, job.k))
    if seen.scale is not None:
        job = replace(job, scale=seen.scale)
        attributes["mean_squared_distance"] = seen.scale.mean_square
    if isinstance(job, ApproximatePass):
        searched, recall, peak = approximate.search(job, client)
        missing = _create(opened, job, {**attributes, "recall": recall})
        return _Done(parts, parts - searched, max(seen.peak, peak, approximate.write(job, missing, client)), recall)
    missing = _create(opened, job, {**attributes, "recall": None})
    computed, peaks = run_stages(job, Remaining(job, missing), client, "neighbours")
    return _Done(parts, parts - computed, max(seen.peak, *peaks))


def _create(opened: Workspace, job: ExactPass, attributes: dict[str, JSON]) -> list[int]:
    """Open or make the three arrays, and return the blocks of which a shard is missing."""
    missing: set[int] = set()
    for spec, shape in _outputs(job):
        missing.update(opened.create_array(spec, shape, attributes=attributes, shard_rows=job.grid.tile_rows).missing())
    return sorted(missing)


def _remove_store(opened: Workspace) -> None:
    """Remove what an older version kept on request, n² bytes, and nothing ever read."""
    there = [key for key in (SIMILARITY.name, "markers/similarity") if any(True for _ in opened.objects.keys(key))]
    for key in there:
        opened.objects.delete(key)
    if there:
        sys.stderr.write(f"{SIMILARITY.name} of an older version was removed: nothing reads it, and it took much room\n")


def _outputs(job: ExactPass) -> list[tuple[ArraySpec, tuple[int, ...]]]:
    lists = (job.grid.items, job.k)
    return [(NEIGHBOR_INDEX, lists), (NEIGHBOR_SIMILARITY, lists), (DEGREE, (job.grid.items,))]


def _is_begun(opened: Workspace, attributes: dict[str, JSON]) -> bool:
    array = opened.array(NEIGHBOR_INDEX) if opened.has_array(NEIGHBOR_INDEX) else None
    return array is not None and attributes.items() <= array.attributes.items() and len(array.missing()) < array.shards


def _is_complete(opened: Workspace, job: ExactPass, attributes: dict[str, JSON]) -> bool:
    for spec, shape in _outputs(job):
        if not opened.has_array(spec):
            return False
        array = opened.array(spec)
        same = array.shape == shape and array.shard_rows == job.grid.tile_rows and attributes.items() <= array.attributes.items()
        if not same or array.missing():
            return False
    return True


__all__ = ["Neighbored", "neighbors", "standing"]
