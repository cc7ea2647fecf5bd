"""New items for a workspace that has vectors already: items keep their numbers, and only the new ones are embedded.

What the encoder gave so far is set aside in `previous.zarr`, the collection grows, and the next `cccount embed` takes the old
rows over; vectors from elsewhere are put behind the old ones at once. Killed between two steps, the same call goes on.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cccount_dist.embedding.given import ATTRIBUTES as GIVEN
from cccount_dist.embedding.given import is_of_distances, write_given
from cccount_dist.embedding.readers.vectors import Vectors
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
            raise InputError(
                f"the id {name!r} is taken by {known[name]}, and cannot stand for {uri}: tell them apart with --prefix "
                "TEXT, or give ids with a manifest"
            )
    new = found.filter(pa.array([name not in known for name in ids], pa.bool_()))
    table = pa.concat_tables(
        [collection.table.drop_columns(["item"]), new.drop_columns(["item"]).select(collection.table.column_names[1:])]
    )
    return table.add_column(0, collection.table.schema.field("item"), pa.array(range(len(table)), pa.int64()))


def add(workspace: Workspace, found: pa.Table) -> int:
    """Add what is new in `found` to the workspace and return how many items that were."""
    collection = workspace.collection()
    source = _source(workspace)
    _refuse_of_distances(workspace, source)
    if source is not None and source.attributes == GIVEN:
        raise InputError(
            f"{workspace.location} was made from given vectors: add vectors to it (--embeddings), images have none of this kind"
        )
    return _grow(workspace, collection, grown(collection, found))


def with_prefix(found: pa.Table, prefix: str) -> pa.Table:
    """Return the items under ids that begin with `prefix`: camera cards repeat their names."""
    ids = pa.array([f"{prefix}{name}" for name in found.column("id").to_pylist()], pa.string())
    return found.set_column(found.column_names.index("id"), found.schema.field("id"), ids)


def named_again(collection: Collection, found: pa.Table) -> list[tuple[str, str]]:
    """Items of `found` whose file is in the collection already under another id, with that id: each is counted twice."""
    known = dict(zip(collection.table.column("uri").to_pylist(), collection.ids, strict=True))
    rows = zip(found.column("id").to_pylist(), found.column("uri").to_pylist(), strict=True)
    ids = set(collection.ids)
    return [(name, known[uri]) for name, uri in rows if uri in known and name not in ids]


def add_given(
    workspace: Workspace, found: pa.Table, vectors: Vectors, *, named: bool, progress: Callable[[int], None] | None = None
) -> int:
    """Add vectors from elsewhere and return how many items are new; `named`: their ids are their own, not just row numbers.

    Memory: a shard and a block; time: every vector is copied once.
    """
    collection, source = workspace.collection(), _source(workspace)
    _refuse_of_distances(workspace, source)
    if source is None or source.attributes != GIVEN:
        raise InputError(
            f"{workspace.location} was not made from given vectors: its own are another encoder's, and cannot be compared with "
            "these; add the images (--images)"
        )
    if source.shape[1] != vectors.dimensions:
        raise InputError(
            f"the vectors in {workspace.location} have {source.shape[1]} dimensions, and these {vectors.dimensions}: "
            "compute them with the same encoder"
        )
    kept = workspace.array(PREVIOUS).shape[0] if workspace.has_array(PREVIOUS) else None
    if kept is not None and collection.items - kept == vectors.items:  # a killed call: it goes on
        table, added = collection.table, vectors.items
    else:
        source.require_complete()
        table = grown(collection, found if named else _numbered_on(found, collection.items))
        added = len(table) - collection.items
        if added not in (0, vectors.items):
            raise InputError(
                f"{vectors.items - added:,} of the {vectors.items:,} vectors have ids that {workspace.location} has already, and "
                f"{added:,} have not: name only new ones, or tell them apart with --prefix TEXT"
            )
    if added:
        _grow(workspace, collection, table)
        spec = ENCODED if workspace.has_array(ENCODED) else EMBEDDINGS
        both = Vectors(len(table), vectors.dimensions, lambda: _one_after_the_other(workspace.array(PREVIOUS), vectors))
        write_given(workspace.array(spec), both, progress)
        for key in (PREVIOUS.name, "markers/previous"):
            workspace.objects.delete(key)
    return added


def _refuse_of_distances(workspace: Workspace, source: ShardedArray | None) -> None:
    if source is not None and is_of_distances(source.attributes):
        raise InputError(
            f"{workspace.location} was made from given distances, and those to new items are not known: make a new workspace "
            "with the distances of all"
        )


def _numbered_on(found: pa.Table, first: int) -> pa.Table:
    """Items that have no names are called by their numbers, which go on."""
    ids = pa.array([str(first + row) for row in range(len(found))], pa.string())
    return found.set_column(found.column_names.index("id"), found.schema.field("id"), ids)


def _one_after_the_other(old: ShardedArray, new: Vectors) -> Iterator[NDArray[np.float32]]:
    for shard in range(old.shards):
        yield old.read(*old.shard_range(shard))
    yield from new.blocks()


def _grow(workspace: Workspace, collection: Collection, table: pa.Table) -> int:
    """Write the larger collection down; what was embedded is set aside before."""
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


__all__ = ["add", "add_given", "grown", "named_again", "with_prefix"]
