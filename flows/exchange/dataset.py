"""A workspace as one zarr group and as one xarray dataset: arrays side by side, the ids as a coordinate, consolidated metadata.

    from flows.exchange.dataset import open_dataset
    census = open_dataset("census")            # the same as xarray.open_zarr(as_group("census"))
    census.embeddings.sel(item="photo-17.jpg").values

Nothing is copied or written: the metadata of the group are made in memory, and a chunk is the workspace's own under another name.
Needs xarray (`pip install xarray`). Memory: the collection table. The arrays are Dask arrays, from a disk or an object store.
"""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.storage import MemoryStore, WrapperStore

from storage.errors import InputError
from storage.layout import stored_metadata
from storage.schema import DEGREE, EMBEDDINGS, ENCODED, FEATURES, MATCHES, NEIGHBOR_INDEX, NEIGHBOR_SIMILARITY, ArraySpec
from storage.workspace import Workspace

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class _Shown:
    """An array under the name that it has in the group. An axis is called the same only where it is as long."""

    spec: ArraySpec
    dims: tuple[str, ...]


ARRAYS = {
    "embeddings": _Shown(EMBEDDINGS, ("item", "dimension")),
    "neighbors": _Shown(NEIGHBOR_INDEX, ("item", "neighbor")),
    "similarity": _Shown(NEIGHBOR_SIMILARITY, ("item", "neighbor")),
    "degree": _Shown(DEGREE, ("item",)),
    "encoded": _Shown(ENCODED, ("item", "encoded_dimension")),
    "features": _Shown(FEATURES, ("item", "point", "column")),
    "matches": _Shown(MATCHES, ("item", "compared")),
}
_COLUMNS = ("label", "group", "taken_at", "side", "latitude", "longitude")  # that the items may have, beside their ids


def open_dataset(location: str) -> "xarray.Dataset":
    """Return what is computed of a workspace; an array that is not there yet, or not of all items, is left out."""
    store = as_group(location)
    import xarray

    opened: xarray.Dataset = xarray.open_zarr(store)
    return opened


def as_group(location: str) -> Store:
    """Return a zarr store, to be read only, with every array of the workspace that has a row for each item."""
    try:
        import xarray
    except ImportError as error:
        raise InputError("this needs xarray: pip install xarray") from error
    workspace = Workspace.open(location)
    table = workspace.collection().table
    there = {
        name: shown
        for name, shown in ARRAYS.items()
        if workspace.has_array(shown.spec) and workspace.array(shown.spec).shape[0] == len(table)
    }
    files: dict[str, Buffer] = {}
    about = {"workspace": workspace.location}
    xarray.Dataset(coords=_items(table), attrs=about).to_zarr(MemoryStore(files), zarr_format=3, consolidated=False)
    for name, shown in there.items():
        files[f"{name}/zarr.json"] = _written(_metadata(workspace, shown))
    root = json.loads(files["zarr.json"].to_bytes())
    members = {key.removesuffix("/zarr.json"): json.loads(files[key].to_bytes()) for key in files if key.endswith("/zarr.json")}
    # Readers look here first, and need no other file to know what there is.
    root["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": members}
    files["zarr.json"] = _written(root)
    return _Group(workspace.objects.zarr_store(read_only=True), files, {name: one.spec.name for name, one in there.items()})


def _items(table: pa.Table) -> Mapping[str, object]:
    """What is known of the items, as xarray takes coordinates. Text that is not known is empty."""
    items: dict[str, object] = {"item": table["id"].to_numpy(zero_copy_only=False)}
    for name in _COLUMNS:
        if name in table.column_names and table[name].null_count < len(table):
            column = pc.fill_null(table[name], "") if pa.types.is_string(table[name].type) else table[name]
            items[name] = ("item", column.to_numpy(zero_copy_only=False))
    return items


def _metadata(workspace: Workspace, shown: _Shown) -> Mapping[str, object]:
    """What `zarr.json` says of the array, with the names of the group."""
    workspace.array(shown.spec).require_complete()
    metadata: Mapping[str, object] = json.loads(stored_metadata(workspace.objects, shown.spec) or b"{}")
    return {**metadata, "dimension_names": list(shown.dims), "attributes": {"meaning": shown.spec.meaning}}


def _written(content: Mapping[str, object]) -> Buffer:
    return default_buffer_prototype().buffer.from_bytes(json.dumps(content).encode())


class _Group(WrapperStore[Store]):
    """What is in front is read from there; chunks of `names` from the store behind, where they have other names."""

    def __init__(self, behind: Store, front: dict[str, Buffer], names: Mapping[str, str]) -> None:
        super().__init__(behind)
        self._front = MemoryStore(front, read_only=True)
        self._names = dict(names)

    def _behind(self, key: str) -> str | None:
        name, _, rest = key.partition("/")
        return f"{self._names[name]}/{rest}" if name in self._names else None

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        found = await self._front.get(key, prototype, byte_range)
        behind = self._behind(key)
        return found if found is not None or behind is None else await super().get(behind, prototype, byte_range)

    async def exists(self, key: str) -> bool:
        behind = self._behind(key)
        return await self._front.exists(key) or (behind is not None and await super().exists(behind))

    async def list(self) -> AsyncIterator[str]:
        async for key in self._front.list():
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        async for key in self._front.list_prefix(prefix):
            yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        async for key in self._front.list_dir(prefix):
            yield key
