"""How stored things are checked. A check reads the whole file, yields what is wrong, and raises nothing for damage.

Each first looks at the stamp (`stamp.py`); a file that is older than stamps is read as far as its format can tell. Memory: one
file; a row cache is streamed block by block, an array shard by shard, the log of a campaign is read whole.
"""

import io
import json
import math
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from storage import layout, parquet, scratch
from storage.arrays import array_problems
from storage.collection import collection_problems
from storage.epochs import read_epoch
from storage.errors import CorruptionError, FormatError, MissingObjectError
from storage.goldrows import check_gold
from storage.handouts import handouts_problems
from storage.identity import read_identity
from storage.journal import journal_problems
from storage.lease import lease_problems
from storage.picturecache import is_whole
from storage.problems import Problem
from storage.querylog import QueryLog
from storage.reading import damage, reason
from storage.schema import ArraySpec, TableSpec
from storage.settings import Goal, Settings
from storage.stamp import Trailer, intact
from storage.stored import Check, Place, Stored
from storage.tokens import read_tokens

_BLOCK_BYTES = 2**23
_CHANGED = "its bytes are not those that were written"
_DAMAGE = damage()


@dataclass(frozen=True, slots=True)
class Whole:
    """A file by itself. `read` gets its bytes and its path, and raises if it cannot use them."""

    read: Callable[[bytes, str], object]

    def __call__(self, place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:
        for key in keys:
            data = layout.read_or_none(place.objects, key)
            if data is None:  # removed since the keys were listed
                continue
            if intact(data) is False:
                yield stored.problem(place, key, _CHANGED)
                continue
            try:
                self.read(data, place.where(key))
            except FormatError as error:
                yield error.problem
            except _DAMAGE as error:
                yield stored.problem(place, key, reason(error))


def text(read: Callable[[bytes], object]) -> Whole:
    """A small text file that `read` understands."""
    return Whole(lambda data, _: read(data))


def table(spec: TableSpec) -> Whole:
    """A parquet file with these columns."""
    return Whole(lambda data, where: spec.check(parquet.from_bytes(data), where))


def history(spec: TableSpec) -> Check:
    """A parquet file with a row for each refresh, whose column `answers` says how many answers it rests on."""

    def check(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:
        damage = list(table(spec)(place, stored, keys))
        yield from damage
        for key in keys if not damage else ():
            try:
                rows = spec.check(parquet.from_bytes(place.objects.read(key)), key).column("answers").to_pylist()
                there = QueryLog(place.objects, place.named("campaigns/{campaign}")).answers().num_rows
            except (
                MissingObjectError,
                CorruptionError,
                FormatError,
            ):  # gone meanwhile, or the log says it itself
                continue
            if rows and rows[-1] > there:
                problem = f"the result rests on {rows[-1]} answers, and only {there} are here: the newest are missing"
                where = place.where(place.named("campaigns/{campaign}/answers"))
                yield Problem(where, problem, "put the missing parts back from a backup")

    return check


def gold(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:
    """The gold pairs, whose items the collection has."""
    items = _items(place)
    yield from Whole(lambda data, where: check_gold(parquet.from_bytes(data), where, items))(place, stored, keys)


def _items(place: Place) -> int | None:
    """How many items there are; None if the collection cannot tell, which its own check says."""
    try:
        return int(parquet.from_bytes(place.objects.read("collection.parquet")).num_rows)
    except _DAMAGE:
        return None


def _html(data: bytes, where: str) -> None:
    if b"</html>" not in data[-1000:]:
        raise CorruptionError(f"{where} ends in the middle")


def _npz(data: bytes, where: str) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        if file.testzip() is not None:
            raise CorruptionError(f"{where} is damaged")


def _group(data: bytes, where: str) -> None:
    """A `zarr.json` of ours above an array says only that it is there, so there is only one that is right."""
    found = json.loads(data)
    plain = {"attributes": {}, "zarr_format": 3, "node_type": "group"}
    if found != plain or json.dumps(found, indent=2).encode() != data:
        raise CorruptionError(f"{where}: {_CHANGED}")


def _kept(data: bytes, where: str) -> None:
    """A file as it was once, of whatever version: at least it is what its ending says."""
    if not data:
        raise ValueError("the file is empty")
    if where.endswith(".toml"):
        tomllib.loads(data.decode())
    elif where.endswith(".json"):
        json.loads(data)
    elif where.endswith(".parquet"):
        parquet.from_bytes(data)


kept = Whole(_kept)
page = Whole(_html)
arrays_file = Whole(_npz)
group = Whole(_group)
json_object = text(lambda data: dict(json.loads(data)))
settings = Whole(Settings.from_toml)
epoch = Whole(read_epoch)
identity = Whole(read_identity)
tokens = Whole(read_tokens)
goal = Whole(Goal.from_toml)


def empty(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:
    """A file that says something by being there."""
    for key in keys:
        if place.objects.size(key):
            yield stored.problem(place, key, "it should be empty")


def collection(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:
    if intact(layout.read_or_none(place.objects, keys[0]) or b"") is False:
        yield stored.problem(place, keys[0], _CHANGED)
    else:
        yield from collection_problems(place.objects)


def array(spec_of: Callable[[str], ArraySpec]) -> Check:
    """An array with its shards and markers; `spec_of` gets the campaign's name."""

    def check(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:  # noqa: ARG001
        spec = spec_of(place.campaign)
        folder = layout.marker_folder(spec)
        if place.campaign and not any(key.startswith(place.named("campaigns/{campaign}/")) for key in place.keys):
            yield Problem(place.where(folder), f"there is no campaign {place.campaign!r} any more", "delete it")
            return
        yield from array_problems(place.objects, spec, place.checked)

    return check


def log(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:  # noqa: ARG001
    yield from QueryLog(place.objects, place.named("campaigns/{campaign}")).problems(place.journal)


def lease(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:  # noqa: ARG001
    for key in keys:
        yield from lease_problems(place.objects, key)


def journal(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:  # noqa: ARG001
    logs = tuple(place.named(f"campaigns/{{campaign}}/{folder}/") for folder in ("questions", "answers"))
    with_log = any(key.startswith(logs) for key in place.keys)  # then the log looks at its journal, too
    if not with_log and (path := _database(place, keys)) is not None:
        yield from journal_problems(path)


def handouts(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:
    if (path := _database(place, keys)) is not None:
        for problem in handouts_problems(path):
            yield Problem(str(path), problem, f"nothing, or delete it: the review page makes it anew, and {stored.remedy}")


def _database(place: Place, keys: Sequence[str]) -> Path | None:
    """Return the SQLite file among the keys; those beside it are SQLite's own, and checked by it."""
    found = [key for key in keys if key.endswith(".sqlite")]
    return Path(place.objects.location) / found[0] if found and not place.objects.locks_can_break else None


def partial(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:
    """Partial results of a stage."""
    for key in keys:
        try:
            scratch.read_arrays(scratch.StorePath(place.objects, key))
        except MissingObjectError:
            continue
        except CorruptionError:
            yield stored.problem(place, key, _CHANGED)


def row_cache(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:
    """Copies of arrays on this host. Read in blocks: memory does not grow with the rows."""
    for key in keys:
        try:
            if not _cache_is_whole(place, key):
                yield stored.problem(place, key, _CHANGED)
        except MissingObjectError:
            continue
        except _DAMAGE as error:
            yield stored.problem(place, key, reason(error))


def picture_cache(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:
    """Resized pictures, each with its stamp behind it."""
    for key in keys:
        data = layout.read_or_none(place.objects, key)
        if data is not None and not is_whole(data):
            yield stored.problem(place, key, _CHANGED)


def _cache_is_whole(place: Place, key: str) -> bool:
    objects, size = place.objects, place.objects.size(key) or 0
    rest = max(size - Trailer.SIZE, 0)
    end = objects.read_range(key, rest, Trailer.SIZE)
    if not Trailer.is_at(end):  # it is older than stamps, or cut
        start = io.BytesIO(objects.read_range(key, 0, 65_536))
        if np.lib.format.read_magic(start) != (1, 0):
            return False
        shape, _, kind = np.lib.format.read_array_header_1_0(start)
        return size == start.tell() + math.prod(shape) * kind.itemsize
    trailer = Trailer()
    for at in range(0, rest, _BLOCK_BYTES):
        trailer.feed(objects.read_range(key, at, min(_BLOCK_BYTES, rest - at)))
    return end == trailer.bytes()


__all__ = [
    "Whole", "array", "arrays_file", "collection", "empty", "epoch", "goal", "gold", "group", "handouts", "history", "identity",
    "journal", "json_object", "kept", "lease", "log", "page", "partial", "picture_cache", "row_cache", "settings",
    "table", "text", "tokens",
]  # fmt: skip
