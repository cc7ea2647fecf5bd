"""`cccount init`: a collection from images, a manifest or given vectors, and the workspace that holds it.

Everything that can be wrong with the input is found before the first byte is written. Killed while vectors are copied, the
same command goes on where it stopped; failed, it takes back what it wrote.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from cccount_dist.embedding.additions import add
from cccount_dist.embedding.bursts import SECONDS, SIMILARITY, find_bursts
from cccount_dist.embedding.given import ATTRIBUTES, given_collection, write_given
from cccount_dist.embedding.readers.labels import is_label_file, labelled, with_label_file
from cccount_dist.embedding.readers.source import read_images, read_manifest
from cccount_dist.embedding.readers.vectors import Vectors
from cccount_dist.embedding.readers.views import open_views
from flows.progress import progress
from storage.arrays import JSON
from storage.errors import InputError, WorkspaceError
from storage.objects import is_remote, open_objects
from storage.rowcache import row_cache
from storage.schema import EMBEDDINGS
from storage.workspace import Workspace

FEWEST = 2


def initialise(
    workspace: str,
    *,
    images: str | None = None,
    manifest: str | None = None,
    embeddings: str | Sequence[str] | None = None,
    labels: str | None = None,
) -> dict[str, Any]:
    """Make a workspace from one source and return the fields of `cccount init --json`.

    `images` beside a manifest is the folder that its relative paths start from. Several `embeddings` are views of the same items.
    """
    paths = [Path(one) for one in ([embeddings] if isinstance(embeddings, str) else embeddings or [])]
    if (not paths) == (images is None and manifest is None):
        raise InputError("give exactly one of --images, --manifest (with --images for where its paths start) and --embeddings")
    label_file = Path(labels) if labels is not None and is_label_file(labels) else None
    column = labels if label_file is None else None
    vectors: Vectors | None = None
    if not paths:
        table = _read(images, manifest, column)
    else:
        vectors = open_views(paths, column)
        with progress("reading vectors", vectors.items, "vectors") as update:
            table = given_collection(vectors, paths[0], update)
    if label_file is not None:
        table = with_label_file(table, label_file)
    if len(table) < FEWEST:
        raise InputError(f"{manifest or images or paths[0]} has one item: there is nothing to compare it with")
    if vectors is None:
        Workspace.create(workspace, table)
    else:
        _write(workspace, table, vectors)
    return {
        "workspace": workspace,
        "items": len(table),
        "dimensions": None if vectors is None else vectors.dimensions,
        "labelled": labelled(table),
        "failed": [
            {"id": row["id"], "reason": row["problem"]}
            for row in table.filter(pa.compute.is_valid(table.column("problem"))).select(["id", "problem"]).to_pylist()
        ],
    }


def extend(
    workspace: str, *, images: str | None = None, manifest: str | None = None, labels: str | None = None
) -> dict[str, Any]:
    """Add the items of a folder or manifest that the workspace has not yet; `cccount embed` then embeds only those."""
    if labels is not None and is_label_file(labels):
        raise InputError(f"--labels {labels}: labels of added items come from the folder's names or a column of the manifest")
    opened = Workspace.open(workspace)
    added = add(opened, _read(images, manifest, labels))
    collection = opened.collection()
    return {"workspace": workspace, "items": collection.items, "added": added, "labelled": labelled(collection.table)}


def first_frames(workspace: str, into: str, *, seconds: float = SECONDS, similarity: float = SIMILARITY) -> dict[str, Any]:
    """Make a second workspace with the first frame of every burst and its vector, so that a burst counts once."""
    opened = Workspace.open(workspace)
    array, table = opened.array(EMBEDDINGS), opened.collection().table
    array.require_complete()
    vectors = row_cache(array, opened.cache_folder())
    bursts = find_bursts(table, vectors, seconds=seconds, similarity=similarity)
    kept = table.take(bursts.first)
    kept = kept.set_column(0, table.schema.field("item"), pa.array(range(len(kept)), pa.int64()))
    if len(kept) < FEWEST:
        raise InputError(f"{workspace} is one single burst: nothing would be left to compare")
    rows = array.shard_rows
    chosen = Vectors(len(kept), array.shape[1], lambda: (vectors[bursts.first[i : i + rows]] for i in range(0, len(kept), rows)))
    _write(into, kept, chosen, array.attributes)
    return {"workspace": into, "items": len(kept), "frames": len(table), "dimensions": array.shape[1]}


def _read(images: str | None, manifest: str | None, column: str | None) -> pa.Table:
    folder = images if images is None or is_remote(images) else Path(images)
    if manifest is not None and is_remote(manifest):
        raise InputError(f"--manifest {manifest}: copy the table to a disk first; the images that it names may be in the store")
    if manifest is not None:
        return read_manifest(Path(manifest), column, folder)
    if folder is None:
        raise InputError("give --images, or --manifest (with --images for where its paths start)")
    return read_images(folder, column)


def _write(location: str, table: pa.Table, vectors: Vectors, attributes: Mapping[str, JSON] = ATTRIBUTES) -> None:
    workspace = _unfinished(location, table, attributes)
    fresh = not is_remote(location) and not Path(location).exists()  # other things may lie below a prefix
    if workspace is None:
        workspace = Workspace.create(location, table)
    try:
        shape = (vectors.items, vectors.dimensions)
        array = workspace.create_array(EMBEDDINGS, shape, attributes=attributes)
        with progress("writing vectors", vectors.items, "vectors") as update:
            write_given(array, vectors, update)
    except BaseException:
        _take_back(location, fresh=fresh)
        raise


def _unfinished(location: str, table: pa.Table, attributes: Mapping[str, JSON]) -> Workspace | None:
    """Return the workspace that a killed `init` of the same vectors left, or None."""
    try:
        workspace = Workspace.open(location)
    except WorkspaceError:
        return None
    if not workspace.collection().table.equals(table):
        return None
    if not workspace.has_array(EMBEDDINGS):
        return workspace
    array = workspace.array(EMBEDDINGS)
    return workspace if array.attributes == attributes and array.missing() else None


def _take_back(location: str, *, fresh: bool) -> None:
    objects = open_objects(location)
    # First what makes it a workspace: a process that is killed in here leaves no workspace either.
    for key in ("workspace.toml", EMBEDDINGS.name, "markers", "collection.parquet"):
        objects.delete(key)
    if fresh:
        objects.delete("")


__all__ = ["extend", "first_frames", "initialise"]
