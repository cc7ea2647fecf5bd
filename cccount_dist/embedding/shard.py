"""The Dask task of `embed`: decode the images of one shard, encode them in batches, write the shard whole.

A thread decodes the next batch while the model runs on this one. Memory: one shard of vectors, two batches of pictures and
the model, whatever the number of items. An image that cannot be decoded becomes a row of NaN and a note on the shard.
"""

import resource
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.encoders import Encoder, open_encoder
from cccount_dist.embedding.images import UnreadableImageError, load_image
from storage.arrays import ShardedArray
from storage.errors import ComputeError, InputError
from storage.schema import EMBEDDINGS, ArraySpec
from storage.workspace import Workspace

NO_IMAGE = "the collection has no image for it"
NOT_FINITE = "its vector has NaN or infinite values"


@dataclass(frozen=True, slots=True)
class ShardReport:
    """What came of one shard."""

    shard: int
    items: int
    failed: int
    seconds: float
    peak_bytes: int  # of the worker process, until now


def embed_shard(workspace: str, encoder: str, shard: int, *, strict: bool = False, spec: ArraySpec = EMBEDDINGS) -> ShardReport:
    """Fill one shard of the array `spec`; nothing happens if it is done already.

    Raises
    ------
    InputError
        With `strict`, for the first image that cannot be decoded.
    ComputeError
        If this worker's encoder is of another revision than the one that the array was begun with.
    """
    began = time.perf_counter()
    opened = Workspace.open(workspace)
    array = opened.array(spec)
    start, stop = array.shard_range(shard)
    if shard in array.done():  # a task that was retried after it had written
        return ShardReport(shard, stop - start, len(failures(array, shard)), time.perf_counter() - began, _peak_bytes())
    model = open_encoder(encoder)
    if array.attributes.get("revision") != model.revision:
        raise ComputeError(
            f"this worker has revision {model.revision} of {encoder}, and {spec.name} was begun with "
            f"{array.attributes.get('revision')}: install the same packages on every machine"
        )
    table = opened.collection().table.slice(start, stop - start)
    ids: list[str] = table.column("id").to_pylist()
    vectors, failed = encode_all(model, table.column("uri").to_pylist(), stop_at_failure=strict)
    if strict and failed:
        row, reason = next(iter(failed.items()))
        raise InputError(f"{ids[row]}: {reason} (--strict stops at the first image without a vector)")
    array.write_shard(shard, vectors, notes={"failed": {str(start + row): reason for row, reason in failed.items()}})
    return ShardReport(shard, stop - start, len(failed), time.perf_counter() - began, _peak_bytes())


def encode_all(
    model: Encoder, uris: Sequence[str | None], *, stop_at_failure: bool = False
) -> tuple[NDArray[np.float32], dict[int, str]]:
    """Return (n, dimensions) vectors, NaN where there is none, and the reason for each row that has none, in order."""
    vectors = np.full((len(uris), model.dimensions), np.nan, np.float32)
    failed: dict[int, str] = {}
    for first, pictures in _decoded(uris, model.side, model.batch):
        rows = [first + i for i, picture in enumerate(pictures) if not isinstance(picture, str)]
        failed.update({first + i: picture for i, picture in enumerate(pictures) if isinstance(picture, str)})
        if rows:
            found = model.encode([picture for picture in pictures if not isinstance(picture, str)])
            finite = finite_rows(found)
            failed.update({row: NOT_FINITE for row, good in zip(rows, finite, strict=True) if not good})
            vectors[rows] = np.where(finite[:, None], found, np.float32(np.nan))
        if failed and stop_at_failure:
            break
    return vectors, dict(sorted(failed.items()))


def finite_rows(vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return (n,) True for every row without NaN or infinite values."""
    return np.asarray(np.isfinite(vectors).all(axis=1))


def failures(array: ShardedArray, shard: int | None = None) -> dict[int, str]:
    """Return the items without a vector and why, of one shard or of all that are done."""
    found: dict[int, str] = {}
    for number, notes in array.notes().items():
        failed = notes.get("failed", {}) if isinstance(notes, dict) else {}
        if shard in (None, number) and isinstance(failed, dict):
            found.update({int(item): str(reason) for item, reason in failed.items()})
    return found


def _decoded(uris: Sequence[str | None], side: int, batch: int) -> Iterator[tuple[int, list[NDArray[np.uint8] | str]]]:
    """Yield the first row of each batch and its pictures, or the reason in the place of one that cannot be decoded."""
    with ThreadPoolExecutor(1, "decode") as thread:
        ahead = None
        for first in range(0, len(uris), batch):
            now = ahead or thread.submit(_pictures, uris[first : first + batch], side)
            ahead = thread.submit(_pictures, uris[first + batch : first + 2 * batch], side)
            yield first, now.result()


def _pictures(uris: Sequence[str | None], side: int) -> list[NDArray[np.uint8] | str]:
    pictures: list[NDArray[np.uint8] | str] = []
    for uri in uris:
        try:
            pictures.append(load_image(uri, side) if uri else NO_IMAGE)
        except UnreadableImageError as error:
            pictures.append(str(error))
    return pictures


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


__all__ = ["ShardReport", "embed_shard", "encode_all", "failures", "finite_rows"]
