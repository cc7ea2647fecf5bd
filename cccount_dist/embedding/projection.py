"""From `encoded.zarr` to `embeddings.zarr`: mean-centring and principal components, or the map of the collection.

What `--components` asks for is fitted here, once, on at most `SAMPLE` evenly spaced items (O(SAMPLE d^2) time, O(d^2) memory);
the map is fitted by `mapping.py`. Either is stored in the workspace: resumed runs and items that are added later go through the
same numbers. Centring is most of the gain of components: vectors of one network share a large common part that makes everything
look alike by cosine.
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
from cccount_dist.similarity.metrics import prepare
from cccount_dist.similarity.threads import one_thread
from storage.arrays import JSON, ShardedArray
from storage.errors import CorruptionError, InputError, MissingObjectError
from storage.objects import Objects
from storage.schema import EMBEDDINGS, ENCODED
from storage.stamp import intact, stamped
from storage.workspace import Workspace

KEY = "projection.npz"
SAMPLE = 32_768
BLOCK_ROWS = 256


def centred_rows(vectors: NDArray[np.float32], mean: NDArray[np.float32], basis: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return (x - mean) @ basis; a row of NaN stays one.

    How BLAS sums for a row depends on how many rows there are, on some processors. Blocks of one size, the last one filled
    up, make each row's vector the same bits whatever is added to the collection later.
    """
    out = np.empty((len(vectors), basis.shape[1]), np.float32)
    block = np.zeros((BLOCK_ROWS, vectors.shape[1]), np.float32)
    with one_thread():
        for start in range(0, len(vectors), BLOCK_ROWS):
            rows = vectors[start : start + BLOCK_ROWS]
            block[: len(rows)] = rows - mean
            out[start : start + len(rows)] = (block @ basis)[: len(rows)]
    return out


def unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows of length 1; a row of zeros stays one."""
    return prepare(rows, "cosine")


@dataclass(frozen=True, slots=True)
class Whitening:
    """p -> unit row of (p - centre) @ matrix: centre (K,), matrix (K, K), both float32."""

    centre: NDArray[np.float32]
    matrix: NDArray[np.float32]

    def apply(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        return unit_rows(centred_rows(rows, self.centre, self.matrix))


@dataclass(frozen=True, slots=True)
class Projection:
    """x -> (x - mean) @ basis: mean (d,), basis (d, components), both float32; with a whitening, the map of the collection.

    A basis without directions leaves vectors as they are: a map that would not have helped.
    """

    mean: NDArray[np.float32]
    basis: NDArray[np.float32]
    attributes: Mapping[str, JSON]  # encoder, revision and components that it belongs to; of a map, what it was fitted to
    whitening: Whitening | None = None

    @property
    def dimensions(self) -> int:
        """Length of what comes out."""
        return int(self.basis.shape[1] or self.basis.shape[0])

    def apply(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return (n, components); a row of NaN stays one."""
        if not self.basis.shape[1]:
            return vectors
        rows = centred_rows(vectors, self.mean, self.basis)
        return rows if self.whitening is None else self.whitening.apply(unit_rows(rows))

    def digest(self) -> str:
        """Return 16 hexadecimal digits for these numbers."""
        white = b"" if self.whitening is None else self.whitening.centre.tobytes() + self.whitening.matrix.tobytes()
        return hashlib.blake2b(self.mean.tobytes() + self.basis.tobytes() + white, digest_size=8).hexdigest()


def unchanged(dimensions: int, attributes: Mapping[str, JSON]) -> Projection:
    """Return the projection that leaves vectors of this length as they are."""
    return Projection(np.zeros(dimensions, np.float32), np.zeros((dimensions, 0), np.float32), attributes)


def projection_for(
    workspace: Workspace, attributes: Mapping[str, JSON], progress: Callable[[int], None] | None = None
) -> Projection:
    """Return the stored projection of this encoder and number of components, or fit one and store it."""
    stored = load_projection(workspace.objects)
    if stored is not None and stored.attributes == attributes:
        return stored
    fitted = fit(workspace.array(ENCODED), attributes, progress)
    save_projection(workspace.objects, fitted)
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


def projection_of(workspace: Workspace) -> Projection:
    """Return the stored projection by which embeddings.zarr is made; `CorruptionError` if it is another."""
    projection = load_projection(workspace.objects)
    if projection is None or projection.digest() != workspace.array(EMBEDDINGS).attributes["projection"]:
        raise CorruptionError(
            f"{workspace.location}/{KEY} is not the one that embeddings.zarr was begun with: run `cccount embed` again"
        )
    return projection


def project_shard(workspace: str, shard: int) -> ShardReport:
    """Fill one shard of embeddings.zarr from encoded.zarr; a Dask task."""
    opened = Workspace.open(workspace)
    encoded, target = opened.array(ENCODED), opened.array(EMBEDDINGS)
    projection = projection_of(opened)
    start, stop = target.shard_range(shard)
    failed: dict[str, JSON] = {str(item): why for item, why in failures(encoded).items() if start <= item < stop}
    target.write_shard(shard, projection.apply(encoded.read(start, stop)), notes={"failed": failed})
    return shard_report(shard, stop - start, len(failed))


def save_projection(objects: Objects, projection: Projection) -> None:
    """Store it in the place of the one that is there."""
    sink = io.BytesIO()
    described = json.dumps(dict(projection.attributes))
    white = projection.whitening
    if white is None:
        np.savez(sink, mean=projection.mean, basis=projection.basis, attributes=np.array(described))
    else:
        np.savez(
            sink, mean=projection.mean, basis=projection.basis, attributes=np.array(described), centre=white.centre,
            matrix=white.matrix,
        )  # fmt: skip
    objects.replace(KEY, stamped(KEY, sink.getvalue()))


def load_projection(objects: Objects) -> Projection | None:
    """Return the one that is stored, if there is one; `CorruptionError` if it is damaged."""
    try:
        data = objects.read(KEY)
        if intact(data) is False:
            raise ValueError("its bytes are not those that were written")  # noqa: TRY301
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            white = Whitening(stored["centre"], stored["matrix"]) if "matrix" in stored else None
            return Projection(stored["mean"], stored["basis"], json.loads(str(stored["attributes"])), white)
    except MissingObjectError:
        return None
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise CorruptionError(f"{objects.location}/{KEY} is damaged: delete it and run `cccount embed` again") from error


__all__ = [
    "Projection", "Whitening", "centred_rows", "fit", "load_projection", "project_shard", "projection_for", "projection_of",
    "save_projection",
    "unchanged", "unit_rows",
]  # fmt: skip
