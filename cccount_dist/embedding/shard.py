"""The Dask task of `embed`: decode the images of one shard, encode them in batches, write the shard whole.

A thread decodes the next batch while the model runs on this one. Memory: one shard of vectors, two batches of pictures and
the model, whatever the number of items. An image that cannot be decoded becomes a row of NaN and a note on the shard.
"""

import resource
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.encoders import Encoder, open_encoder
from cccount_dist.embedding.images import UnreadableImageError, load_image
from storage.arrays import JSON, ShardedArray
from storage.errors import ComputeError, InputError
from storage.schema import EMBEDDINGS, ENCODED, PREVIOUS, ArraySpec
from storage.workspace import Workspace

NO_IMAGE = "the collection has no image for it"
NOT_FINITE = "its vector has NaN or infinite values"


@dataclass(frozen=True, slots=True)
class ShardReport:
    """What came of one shard."""

    shard: int
    items: int
    failed: int
    peak_bytes: int  # of the worker process, until now


def shard_report(shard: int, items: int, failed: int) -> ShardReport:
    """Return the report of a task that ends here."""
    return ShardReport(shard, items, failed, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def embed_shard(workspace: str, encoder: str, shard: int, *, strict: bool = False, spec: ArraySpec = EMBEDDINGS) -> ShardReport:
    """Fill one shard of the array `spec`; nothing happens if it is done already.

    Raises
    ------
    InputError
        With `strict`, for the first image that cannot be decoded.
    ComputeError
        If this worker's encoder is of another revision than the one that the array was begun with.
    """
    opened = Workspace.open(workspace)
    array = opened.array(spec)
    start, stop = array.shard_range(shard)
    if shard in array.done():  # a task that was retried after it had written
        return shard_report(shard, stop - start, len(failures(array, shard)))
    vectors, failed = known_rows(opened, array, start, stop)
    if len(vectors) < stop - start:
        table = opened.collection().table.slice(start + len(vectors), stop - start - len(vectors))
        new, reasons = encode_all(_model(encoder, array), table.column("uri").to_pylist(), stop_at_failure=strict)
        if strict and reasons:
            row, reason = next(iter(reasons.items()))
            raise InputError(f"{table.column('id')[row]}: {reason} (--strict stops at the first image without a vector)")
        failed.update({start + len(vectors) + row: reason for row, reason in reasons.items()})
        vectors = np.concatenate([vectors, new])
    notes: dict[str, JSON] = {"failed": {str(item): reason for item, reason in failed.items()}}
    array.write_shard(shard, vectors, notes=notes)
    return shard_report(shard, stop - start, len(failed))


def known_rows(workspace: Workspace, array: ShardedArray, start: int, stop: int) -> tuple[NDArray[np.float32], dict[int, str]]:
    """Return as many rows from `start` on as another array of the same encoder has, and their failures: none is encoded twice."""
    for spec in (EMBEDDINGS, ENCODED, PREVIOUS):
        if spec == array.spec or not workspace.has_array(spec):
            continue
        other = workspace.array(spec)
        there = min(stop, other.shape[0])
        if there > start and other.shape[1:] == array.shape[1:] and other.attributes == array.attributes:
            shards = range(start // other.shard_rows, -(-there // other.shard_rows))
            if set(shards).isdisjoint(other.missing()):
                failed = {item: reason for item, reason in failures(other).items() if start <= item < there}
                return other.read(start, there), failed
    return np.empty((0, *array.shape[1:]), np.float32), {}


def _model(encoder: str, array: ShardedArray) -> Encoder:
    model = open_encoder(encoder)
    begun = array.attributes.get("revision")
    if begun != model.revision:
        raise ComputeError(
            f"this worker has revision {model.revision} of {encoder}, and {array.spec.name} was begun with {begun}: "
            "install the same packages on every machine"
        )
    return model


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


__all__ = ["ShardReport", "embed_shard", "encode_all", "failures", "finite_rows", "known_rows", "shard_report"]
