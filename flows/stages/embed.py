"""`cccount embed`: fill embeddings.zarr on a Dask cluster, one task for each shard that is not done.

With a map of the collection, or with `--components`, the encoder's vectors go to encoded.zarr, and a second step writes what is
made of them to embeddings.zarr. Nothing that an array of the workspace holds already is encoded again.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import distributed

from cccount_dist.campaign.outcome import Outcome, optional
from cccount_dist.embedding.encoders import NEEDS_MAP, open_encoder
from cccount_dist.embedding.fitting import check_map
from cccount_dist.embedding.given import ATTRIBUTES as GIVEN
from cccount_dist.embedding.given import is_of_distances
from cccount_dist.embedding.projection import Projection, project_shard, projection_for
from cccount_dist.embedding.shard import ShardReport, embed_shard, failures
from cccount_dist.taken import encoding_bytes, require_for
from flows.compute.clients import run_tasks
from flows.compute.progress import progress
from flows.stages.mapping import MapReport, map_for, refuse_without, report_of, stored_map
from flows.stages.passes import require_memory
from storage.arrays import JSON, ShardedArray
from storage.errors import InputError
from storage.layout import marker_folder
from storage.schema import EMBEDDINGS, ENCODED, PREVIOUS, ArraySpec
from storage.workspace import Workspace

Standing = Literal["missing", "partial", "complete"]


@dataclass(frozen=True, slots=True)
class Failure:
    """An image without a vector."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded(Outcome):
    """What `cccount embed` came to."""

    items: int
    encoder: str
    dimensions: int
    failed: Sequence[Failure]
    seconds: float
    items_per_second: float
    shards: int
    shards_resumed: int
    peak_worker_bytes: int
    map: MapReport | None = optional()  # noqa: RUF009 (of the collection, where there is one)

    def words(self) -> str:
        items = f"{self.items:,} item{'' if self.items == 1 else 's'}"
        text = f"{items} embedded with {self.encoder} ({self.dimensions} dimensions) in {self.seconds:.1f} s."
        if self.map is not None:
            text += f"\n{self.map.words()}"
        if self.failed:
            first = self.failed[0]
            are = "is" if len(self.failed) == 1 else "are"
            text += f"\n{len(self.failed):,} could not be read and {are} left out; the first: {first.id}: {first.reason}"
        return text


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be made: by which encoder, and what of its vectors."""

    attributes: dict[str, JSON]  # of the array that holds what the encoder gave
    dimensions: int  # of its vectors
    components: int | None
    mapped: bool

    @property
    def spec(self) -> ArraySpec:
        """Where the encoder's vectors go."""
        return EMBEDDINGS if self.components is None and not self.mapped else ENCODED


def embed(
    workspace: str,
    *,
    encoder: str = "auto",
    components: int | None = None,
    map: str | None = None,  # noqa: A002 (the option's name)
    strict: bool = False,
    client: distributed.Client,
) -> Embedded:
    """Embed every item. Run again, only missing shards are computed."""
    began = time.perf_counter()
    opened = Workspace.open(workspace)
    require_for("embed", opened)
    collection = opened.collection()
    plan = _planned(opened, encoder, components, map)
    require_memory(client, encoding_bytes(str(plan.attributes["encoder"]), collection.items, plan.dimensions))
    array = opened.create_array(plan.spec, (collection.items, plan.dimensions), attributes=plan.attributes)
    missing = array.missing()
    name = str(plan.attributes["encoder"])
    task = partial(embed_shard, opened.location, name, strict=strict, spec=plan.spec)
    reports = _fill(client, task, array, f"embedding with {name}", "images")
    failed = failures(array)
    if failed != collection.problems():
        opened.update_collection(collection.with_problems(failed).table)
    if strict and failed:  # an earlier run, without --strict, went past them
        item, reason = next(iter(failed.items()))
        raise InputError(f"{collection.ids[item]}: {reason} (--strict stops at the first image without a vector)")
    if len(failed) == collection.items:
        raise InputError(f"none of the {collection.items} images could be embedded; the first: {collection.ids[0]}: {failed[0]}")
    final, peak, about = _finished(opened, client, plan, array)
    _remove(opened, PREVIOUS)
    if plan.spec == EMBEDDINGS:
        _remove(opened, ENCODED)  # of another encoder, or the same rows once more
    seconds = time.perf_counter() - began
    return Embedded(
        items=collection.items,
        encoder=name,
        dimensions=final.shape[1],
        failed=[Failure(collection.ids[item], reason) for item, reason in failed.items()],
        seconds=seconds,
        items_per_second=sum(_rows(array, shard) for shard in missing) / seconds,
        shards=array.shards,
        shards_resumed=array.shards - len(missing),
        peak_worker_bytes=max((peak, *(report.peak_bytes for report in reports))),
        map=about,
    )


def _remove(workspace: Workspace, spec: ArraySpec) -> None:
    """Remove an array that is no longer needed."""
    if workspace.has_array(spec):
        for key in (spec.name, marker_folder(spec)):
            workspace.objects.delete(key)


def standing(workspace: str, encoder: str, components: int | None, map: str | None = None) -> Standing:  # noqa: A002
    """How much of this has been done: read off the arrays, without a cluster."""
    opened = Workspace.open(workspace)
    plan = _planned(opened, encoder, components, map)
    collection = opened.collection()
    if not opened.has_array(plan.spec):
        return "missing"
    array = opened.array(plan.spec)
    if array.shape != (collection.items, plan.dimensions) or array.attributes != plan.attributes:
        return "missing"
    if array.missing():
        return "missing" if len(array.missing()) == array.shards else "partial"
    if opened.has_array(PREVIOUS) or failures(array) != collection.problems():
        return "partial"  # killed behind the last shard
    return "complete" if plan.spec == EMBEDDINGS or _is_projected(opened, plan) else "partial"


def _is_projected(opened: Workspace, plan: _Plan) -> bool:
    if not opened.has_array(EMBEDDINGS):
        return False
    wanted: dict[str, JSON] = {**plan.attributes, "components": plan.components}
    if plan.mapped:
        stored = stored_map(opened, plan.attributes)
        if stored is None:
            return False
        wanted = {**plan.attributes, "components": stored.dimensions, "map": True, "projection": stored.digest()}
    array = opened.array(EMBEDDINGS)
    return wanted.items() <= array.attributes.items() and ("map" in array.attributes) == plan.mapped and not array.missing()


def _planned(workspace: Workspace, encoder: str, components: int | None, wanted: str | None) -> _Plan:
    """Resolve what was not said: the encoder and the map that the workspace has, or else the default ones."""
    if wanted is not None and check_map(wanted) == "auto" and components is not None:
        raise InputError(f"--components {components} and --map auto are two ways to make vectors shorter: give one of them")
    attributes, dimensions = _encoder(workspace, encoder, derived=components is not None or wanted == "auto")
    if components is not None and not 1 <= components <= dimensions:
        raise InputError(f"--components must be from 1 to {dimensions}, the length of the encoder's vectors, not {components}")
    name = str(attributes["encoder"])
    if components is not None or wanted == "none":
        refuse_without(name)
    mapped = components is None and (wanted == "auto" or (wanted is None and (name in NEEDS_MAP or _has_map(workspace, name))))
    return _Plan(attributes, dimensions, components, mapped)


def _has_map(workspace: Workspace, encoder: str) -> bool:
    """Whether the vectors that are there went through a map: then those that are added do, too."""
    there = workspace.array(EMBEDDINGS).attributes if workspace.has_array(EMBEDDINGS) else {}
    return "map" in there and there["encoder"] == encoder


def _encoder(workspace: Workspace, encoder: str, *, derived: bool) -> tuple[dict[str, JSON], int]:
    """Return the attributes of the encoder's array and the length of its vectors; `derived`: something is made of them."""
    there = [workspace.array(spec) for spec in (ENCODED, EMBEDDINGS) if workspace.has_array(spec)]
    for array in there:
        if is_of_distances(array.attributes):
            raise InputError(
                f"{workspace.location} was made from given distances, and has nothing to encode: go on with `cccount neighbors`"
            )
        if array.attributes == GIVEN:
            if encoder not in ("auto", "given") or not (derived or _has_map(workspace, "given")):
                raise InputError(
                    f"{workspace.location} was made from given vectors, and has nothing to encode: "
                    "go on with `cccount neighbors`, or shorten them with --components or --map auto"
                )
            return dict(GIVEN), array.shape[1]
    if encoder == "auto" and there:  # a workspace keeps its encoder, whatever the default has become
        encoder = str(there[-1].attributes["encoder"])
    model = open_encoder(encoder)
    return {"encoder": model.name, "revision": model.revision, "components": None}, model.dimensions


def _finished(
    workspace: Workspace, client: distributed.Client, plan: _Plan, array: ShardedArray
) -> tuple[ShardedArray, int, MapReport | None]:
    """Make embeddings.zarr of what the encoder gave, where it is not that itself."""
    if plan.mapped:
        projection, peak = map_for(workspace, plan.attributes, client)
        attributes = {**plan.attributes, "components": projection.dimensions, "map": True}
        final, reports = _projected(workspace, client, projection, attributes, "mapping")
        return final, max((peak, *(report.peak_bytes for report in reports))), report_of(projection)
    if plan.components is not None:
        attributes = {**plan.attributes, "components": plan.components}
        with progress("finding components", array.shape[0], "vectors") as update:
            projection = projection_for(workspace, attributes, update)
        final, _ = _projected(workspace, client, projection, attributes, "projecting")
        return final, 0, None
    return array, 0, None


def _projected(
    workspace: Workspace, client: distributed.Client, projection: Projection, attributes: Mapping[str, JSON], doing: str
) -> tuple[ShardedArray, list[ShardReport]]:
    shape = (workspace.array(ENCODED).shape[0], projection.dimensions)
    array = workspace.create_array(EMBEDDINGS, shape, attributes={**attributes, "projection": projection.digest()})
    task = partial(project_shard, workspace.location)
    return array, _fill(client, task, array, f"{doing} to {shape[1]} components", "vectors")


def _fill(
    client: distributed.Client, task: Callable[[int], ShardReport], array: ShardedArray, describe: str, unit: str
) -> list[ShardReport]:
    missing = array.missing()
    sizes = [_rows(array, shard) for shard in missing]
    before = array.shape[0] - sum(sizes)
    return run_tasks(client, task, missing, describe=describe, unit=unit, done_before=before, sizes=sizes)


def _rows(array: ShardedArray, shard: int) -> int:
    start, stop = array.shard_range(shard)
    return stop - start


__all__ = ["Embedded", "Failure", "Standing", "embed", "standing"]
