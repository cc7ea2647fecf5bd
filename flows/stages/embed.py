"""`cccount embed`: fill embeddings.zarr on a Dask cluster, one task for each shard that is not done.

With `--components` the encoder's vectors go to encoded.zarr, and a second step writes them centred and shortened to
embeddings.zarr. Nothing that an array of the workspace holds already is encoded again.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import distributed

from cccount_dist.campaign.outcome import Outcome
from cccount_dist.embedding.encoders import open_encoder
from cccount_dist.embedding.given import ATTRIBUTES as GIVEN
from cccount_dist.embedding.projection import project_shard, projection_for
from cccount_dist.embedding.shard import ShardReport, embed_shard, failures
from flows.compute.clients import run_tasks
from flows.compute.progress import progress
from storage.arrays import JSON, ShardedArray
from storage.errors import InputError
from storage.schema import EMBEDDINGS, ENCODED, PREVIOUS
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

    def words(self) -> str:
        items = f"{self.items:,} item{'' if self.items == 1 else 's'}"
        text = f"{items} embedded with {self.encoder} ({self.dimensions} dimensions) in {self.seconds:.1f} s."
        if self.failed:
            first = self.failed[0]
            are = "is" if len(self.failed) == 1 else "are"
            text += f"\n{len(self.failed):,} could not be read and {are} left out; the first: {first.id}: {first.reason}"
        return text


def embed(
    workspace: str,
    *,
    encoder: str = "auto",
    components: int | None = None,
    strict: bool = False,
    client: distributed.Client,
) -> Embedded:
    """Embed every item. Run again, only missing shards are computed."""
    began = time.perf_counter()
    opened = Workspace.open(workspace)
    collection = opened.collection()
    attributes, dimensions = _encoder(opened, encoder, components)
    if components is not None and not 1 <= components <= dimensions:
        raise InputError(f"--components must be from 1 to {dimensions}, the length of the encoder's vectors, not {components}")
    spec = EMBEDDINGS if components is None else ENCODED
    array = opened.create_array(spec, (collection.items, dimensions), attributes=attributes)
    missing = array.missing()
    name = str(attributes["encoder"])
    task = partial(embed_shard, opened.location, name, strict=strict, spec=spec)
    reports = _fill(client, task, array, f"embedding with {name}", "images")
    failed = failures(array)
    if failed != collection.problems():
        opened.update_collection(collection.with_problems(failed).table)
    if strict and failed:  # an earlier run, without --strict, went past them
        item, reason = next(iter(failed.items()))
        raise InputError(f"{collection.ids[item]}: {reason} (--strict stops at the first image without a vector)")
    if len(failed) == collection.items:
        raise InputError(f"none of the {collection.items} images could be embedded; the first: {collection.ids[0]}: {failed[0]}")
    final = array if components is None else _projected(opened, client, {**attributes, "components": components})
    if opened.has_array(PREVIOUS):
        for key in (PREVIOUS.name, "markers/previous"):
            opened.objects.delete(key)
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
        peak_worker_bytes=max((report.peak_bytes for report in reports), default=0),
    )


def standing(workspace: str, encoder: str, components: int | None) -> Standing:
    """How much of this has been done: read off the arrays, without a cluster."""
    opened = Workspace.open(workspace)
    attributes, dimensions = _encoder(opened, encoder, components)
    collection = opened.collection()
    spec = EMBEDDINGS if components is None else ENCODED
    if not opened.has_array(spec):
        return "missing"
    array = opened.array(spec)
    if array.shape != (collection.items, dimensions) or array.attributes != attributes:
        return "missing"
    if array.missing():
        return "missing" if len(array.missing()) == array.shards else "partial"
    if opened.has_array(PREVIOUS) or failures(array) != collection.problems():
        return "partial"  # killed behind the last shard
    return "complete" if components is None or _is_projected(opened, {**attributes, "components": components}) else "partial"


def _is_projected(opened: Workspace, attributes: Mapping[str, JSON]) -> bool:
    if not opened.has_array(EMBEDDINGS):
        return False
    array = opened.array(EMBEDDINGS)
    return attributes.items() <= array.attributes.items() and not array.missing()


def _encoder(workspace: Workspace, encoder: str, components: int | None) -> tuple[dict[str, JSON], int]:
    """Return the attributes of the encoder's array and the length of its vectors."""
    for spec in (ENCODED, EMBEDDINGS):
        if workspace.has_array(spec) and workspace.array(spec).attributes == GIVEN:
            if encoder not in ("auto", "given") or components is None:
                raise InputError(
                    f"{workspace.location} was made from given vectors, and has nothing to encode: "
                    "go on with `cccount neighbors`, or shorten them with --components"
                )
            return dict(GIVEN), workspace.array(spec).shape[1]
    model = open_encoder(encoder)
    return {"encoder": model.name, "revision": model.revision, "components": None}, model.dimensions


def _projected(workspace: Workspace, client: distributed.Client, attributes: Mapping[str, JSON]) -> ShardedArray:
    items = workspace.array(ENCODED).shape[0]
    with progress("finding components", items, "vectors") as update:
        projection = projection_for(workspace, attributes, update)
    shape = (items, projection.basis.shape[1])
    array = workspace.create_array(EMBEDDINGS, shape, attributes={**attributes, "projection": projection.digest()})
    _fill(client, partial(project_shard, workspace.location), array, f"projecting to {shape[1]} components", "vectors")
    return array


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
