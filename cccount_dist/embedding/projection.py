"""Mean-centring and principal components: a second, streamed step from `encoded.zarr` to `embeddings.zarr`.

Fitted once, on at most `SAMPLE` evenly spaced items (O(SAMPLE d^2) time, O(d^2) memory), and stored in the workspace: resumed
runs and items that are added later are projected by the same numbers. Centring is most of the gain: vectors of one network
share a large common part that makes everything look alike by cosine.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.shard import ShardReport, failures, finite_rows, shard_report
from storage.arrays import JSON, ShardedArray
from storage.errors import CorruptionError, InputError, MissingObjectError
from storage.objects import Objects
from storage.schema import EMBEDDINGS, ENCODED
from storage.stamp import intact, stamped
from storage.workspace import Workspace

KEY = "projection.npz"
SAMPLE = 32_768
BLOCK_ROWS = 256


@dataclass(frozen=True, slots=True)
class Projection:
    """x -> (x - mean) @ basis: mean (d,), basis (d, components), both float32."""

    mean: NDArray[np.float32]
    basis: NDArray[np.float32]
    attributes: Mapping[str, JSON]  # encoder, revision and components that it belongs to

    def apply(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return (n, components); a row of NaN stays one.

        How BLAS sums for a row depends on how many rows there are, on some processors. Blocks of one size, the last one filled
        up, make each row's vector the same bits whatever is added to the collection later.
        """
        out = np.empty((len(vectors), self.basis.shape[1]), np.float32)
        block = np.zeros((BLOCK_ROWS, vectors.shape[1]), np.float32)
        for start in range(0, len(vectors), BLOCK_ROWS):
            rows = vectors[start : start + BLOCK_ROWS]
            block[: len(rows)] = rows - self.mean
            out[start : start + len(rows)] = (block @ self.basis)[: len(rows)]
        return out

    def digest(self) -> str:
        """Return 16 hexadecimal digits for these numbers."""
        return hashlib.blake2b(self.mean.tobytes() + self.basis.tobytes(), digest_size=8).hexdigest()


def projection_for(
    workspace: Workspace, attributes: Mapping[str, JSON], progress: Callable[[int], None] | None = None
) -> Projection:
    """Return the stored projection of this encoder and number of components, or fit one and store it."""
    stored = _load(workspace.objects)
    if stored is not None and stored.attributes == attributes:
        return stored
    fitted = fit(workspace.array(ENCODED), attributes, progress)
    _save(workspace.objects, fitted)
    return fitted


def fit(array: ShardedArray, attributes: Mapping[str, JSON], progress: Callable[[int], None] | None = None) -> Projection:
    """Find the mean and the directions of largest variance."""
    items, dimensions = array.shape
    components = int(str(attributes["components"]))
    if not 1 <= components <= dimensions:
        raise InputError(f"--components must be from 1 to {dimensions}, the length of the encoder's vectors, not {components}")
    step = -(-items // SAMPLE)
    count, total, squares = 0, np.zeros(dimensions), np.zeros((dimensions, dimensions))
    for shard in range(array.shards):
        start, stop = array.shard_range(shard)
        rows = array.read(start, stop)[-start % step :: step]
        rows = rows[finite_rows(rows)].astype(np.float64)
        count += len(rows)
        total += rows.sum(axis=0)
        squares += rows.T @ rows
        if progress is not None:
            progress(stop)
    if count <= components:
        raise InputError(f"--components {components} needs more than {components} items with a vector, and there are {count}")
    mean = total / count
    _, directions = np.linalg.eigh(squares / count - np.outer(mean, mean))
    basis = directions[:, ::-1][:, :components]
    # A direction has no sign of its own: let its largest part be positive, whatever the LAPACK.
    basis = basis * np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(components)])
    return Projection(mean.astype(np.float32), np.ascontiguousarray(basis, np.float32), dict(attributes))


def project_shard(workspace: str, shard: int) -> ShardReport:
    """Fill one shard of embeddings.zarr from encoded.zarr; a Dask task."""
    opened = Workspace.open(workspace)
    encoded, target = opened.array(ENCODED), opened.array(EMBEDDINGS)
    projection = _load(opened.objects)
    if projection is None or projection.digest() != target.attributes["projection"]:
        raise CorruptionError(f"{workspace}/{KEY} is not the one that embeddings.zarr was begun with: run `cccount embed` again")
    start, stop = target.shard_range(shard)
    failed: dict[str, JSON] = {str(item): why for item, why in failures(encoded).items() if start <= item < stop}
    target.write_shard(shard, projection.apply(encoded.read(start, stop)), notes={"failed": failed})
    return shard_report(shard, stop - start, len(failed))


def _save(objects: Objects, projection: Projection) -> None:
    sink = io.BytesIO()
    described = json.dumps(dict(projection.attributes))
    np.savez(sink, mean=projection.mean, basis=projection.basis, attributes=np.array(described))
    objects.replace(KEY, stamped(KEY, sink.getvalue()))


def _load(objects: Objects) -> Projection | None:
    try:
        data = objects.read(KEY)
        if intact(data) is False:
            raise ValueError("its bytes are not those that were written")  # noqa: TRY301
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            return Projection(stored["mean"], stored["basis"], json.loads(str(stored["attributes"])))
    except MissingObjectError:
        return None
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise CorruptionError(f"{objects.location}/{KEY} is damaged: delete it and run `cccount embed` again") from error


__all__ = ["Projection", "fit", "project_shard", "projection_for"]
