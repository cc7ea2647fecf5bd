"""New items for a workspace that has vectors already: items keep their numbers, and only the new ones are embedded.

What the encoder gave so far is set aside in `previous.zarr`, the collection grows, and the next `cccount embed` takes the old
rows over. Killed between two steps, the same call goes on.
"""

import pyarrow as pa

from cccount_dist.embedding.given import ATTRIBUTES as GIVEN
from storage.arrays import ShardedArray
from storage.collection import Collection, write_collection
from storage.errors import InputError
from storage.schema import EMBEDDINGS, ENCODED, PREVIOUS
from storage.workspace import Workspace


def grown(collection: Collection, found: pa.Table) -> pa.Table:
    """Return the collection with the items of `found` that it has not, in their order, at its end."""
    known = dict(zip(collection.ids, collection.table.column("uri").to_pylist(), strict=True))
    ids, uris = found.column("id").to_pylist(), found.column("uri").to_pylist()
    for name, uri in zip(ids, uris, strict=True):
        if name in known and known[name] != uri:
            raise InputError(f"the id {name!r} is taken by {known[name]}, and cannot stand for {uri}: give ids with a manifest")
    new = found.filter(pa.array([name not in known for name in ids], pa.bool_()))
    table = pa.concat_tables(
        [collection.table.drop_columns(["item"]), new.drop_columns(["item"]).select(collection.table.column_names[1:])]
    )
    return table.add_column(0, collection.table.schema.field("item"), pa.array(range(len(table)), pa.int64()))


def add(workspace: Workspace, found: pa.Table) -> int:
    """Add what is new in `found` to the workspace and return how many items that were."""
    collection = workspace.collection()
    source = _source(workspace)
    if source is not None and source.attributes == GIVEN:
        raise InputError(f"{workspace.location} was made from given vectors: images cannot be added to it")
    table = grown(collection, found)
    if len(table) > collection.items:
        _set_aside(workspace)
        write_collection(workspace.objects, table)
    # Arrays of the old length must not pass for complete ones: made anew they are empty, and later stages say what to do.
    for spec in (EMBEDDINGS, ENCODED):
        if workspace.has_array(spec) and workspace.array(spec).shape[0] < len(table):
            array = workspace.array(spec)
            workspace.create_array(spec, (len(table), *array.shape[1:]), attributes=array.attributes)
    return len(table) - collection.items


def _source(workspace: Workspace) -> ShardedArray | None:
    """Return the array that holds what the encoder gave, if there is one."""
    for spec in (ENCODED, EMBEDDINGS):
        if workspace.has_array(spec) and workspace.array(spec).attributes.get("components") is None:
            return workspace.array(spec)
    return None


def _set_aside(workspace: Workspace) -> None:
    source = _source(workspace)
    if source is None or not source.done():
        return
    kept = workspace.create_array(PREVIOUS, source.shape, attributes=source.attributes, shard_rows=source.shard_rows)
    notes = source.notes()
    for shard in set(source.done()) - set(kept.done()):
        noted = notes[shard]
        kept.write_shard(shard, source.read(*source.shard_range(shard)), notes=noted if isinstance(noted, dict) else None)


__all__ = ["add", "grown"]
