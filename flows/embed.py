"""`cccount embed`: fill embeddings.zarr on a Dask cluster, one task for each shard that is not done."""

import time
from functools import partial
from typing import Any

import distributed
import pyarrow.compute as pc

from cccount_dist.embedding.encoders import open_encoder
from cccount_dist.embedding.shard import embed_shard, failures
from flows.compute import run_tasks
from storage.errors import InputError
from storage.schema import EMBEDDINGS
from storage.workspace import Workspace


def embed(
    workspace: str,
    *,
    encoder: str = "auto",
    components: int | None = None,
    strict: bool = False,
    client: distributed.Client,
) -> dict[str, Any]:
    """Embed every item and return the fields of `cccount embed --json`. Run again, only missing shards are computed."""
    began = time.perf_counter()
    opened = Workspace.open(workspace)
    collection = opened.collection()
    if not pc.any(pc.is_valid(collection.table.column("uri"))).as_py():
        raise InputError(f"{workspace} was made from vectors and has no images to embed: go on with `cccount neighbors`")
    model = open_encoder(encoder)
    array = opened.create_array(
        EMBEDDINGS,
        (collection.items, model.dimensions),
        attributes={"encoder": model.name, "revision": model.revision, "components": components},
    )
    missing = array.missing()
    run_tasks(
        client,
        partial(embed_shard, opened.location, model.name, strict=strict),
        missing,
        describe=f"embedding with {model.name}",
        unit="shards",
        done_before=array.shards - len(missing),
    )
    failed = failures(array)
    if failed != collection.problems():
        opened.update_collection(collection.with_problems(failed).table)
    if strict and failed:  # an earlier run, without --strict, went past them
        item, reason = next(iter(failed.items()))
        raise InputError(f"{collection.ids[item]}: {reason} (--strict stops at the first image without a vector)")
    if len(failed) == collection.items:
        raise InputError(f"none of the {collection.items} images could be embedded; the first: {collection.ids[0]}: {failed[0]}")
    seconds = time.perf_counter() - began
    computed = sum(array.shard_range(shard)[1] - array.shard_range(shard)[0] for shard in missing)
    return {
        "items": collection.items,
        "encoder": model.name,
        "dimensions": array.shape[1],
        "failed": [{"id": collection.ids[item], "reason": reason} for item, reason in failed.items()],
        "seconds": seconds,
        "items_per_second": computed / seconds,
        "shards": array.shards,
        "shards_resumed": array.shards - len(missing),
    }


__all__ = ["embed"]
