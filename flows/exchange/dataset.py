"""A workspace as one xarray dataset: arrays with named axes, the ids as a coordinate, nothing read before it is wanted.

    from flows.exchange.dataset import open_dataset
    census = open_dataset("census")
    census.embeddings.sel(item="photo-17.jpg").values

Needs xarray (`pip install xarray`). Memory: the collection table. The arrays are Dask arrays of whole shards, from a disk or an
object store.
"""

from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np

from storage.errors import InputError
from storage.schema import DEGREE, EMBEDDINGS, NEIGHBOR_INDEX, NEIGHBOR_SIMILARITY, ArraySpec
from storage.workspace import Workspace

if TYPE_CHECKING:
    import xarray

ARRAYS = {"embeddings": EMBEDDINGS, "neighbors": NEIGHBOR_INDEX, "similarity": NEIGHBOR_SIMILARITY, "degree": DEGREE}
_COLUMNS = ("label", "group", "taken_at")  # that the items may have, beside their ids


def open_dataset(location: str) -> "xarray.Dataset":
    """Return what is computed of a workspace; an array that is not there yet is left out."""
    try:
        import xarray
    except ImportError as error:
        raise InputError("this needs xarray: pip install xarray") from error
    workspace = Workspace.open(location)
    table = workspace.collection().table
    items: dict[str, Any] = {"item": table["id"].to_numpy(zero_copy_only=False)}  # what xarray takes as coordinates
    for name in _COLUMNS:
        if name in table.column_names and table[name].null_count < len(table):
            items[name] = ("item", table[name].to_numpy(zero_copy_only=False))
    there = {name: spec for name, spec in ARRAYS.items() if workspace.has_array(spec)}
    arrays = {name: (spec.dims, _lazy(workspace, spec), {"meaning": spec.meaning}) for name, spec in there.items()}
    return xarray.Dataset(arrays, coords=items, attrs={"workspace": workspace.location})


def _lazy(workspace: Workspace, spec: ArraySpec) -> da.Array:
    stored = workspace.array(spec)
    stored.require_complete()
    rows: da.Array = da.from_array(
        _Rows(stored), chunks=(stored.shard_rows, *stored.shape[1:]), name=False, meta=np.empty(0, spec.dtype)
    )
    return rows


class _Rows:
    """A stored array as Dask slices it: rows are read, and checked, shard by shard."""

    def __init__(self, stored: Any) -> None:
        self._stored = stored
        self.shape, self.dtype, self.ndim = stored.shape, np.dtype(stored.spec.dtype), len(stored.shape)

    def __getitem__(self, wanted: tuple[Any, ...]) -> Any:
        """Rows by a slice, by one number or by a list of them; further axes as numpy has it."""
        rows, *others = wanted
        numbers = np.arange(self.shape[0])[rows]
        if np.size(numbers) == 0:
            return np.empty(self.shape, self.dtype)[:0][(numbers, *others)]
        first = int(np.min(numbers))
        return self._stored.read(first, int(np.max(numbers)) + 1)[numbers - first][
            (slice(None), *others) if np.ndim(numbers) else tuple(others)
        ]
