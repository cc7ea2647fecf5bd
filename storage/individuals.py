"""What a workspace remembers of its individuals: the pictures behind each number, the journal of names, what was brought in.

Numbers outlive results: `identities.parquet` says which pictures a number stood for when it was last listed. Names and notes are
a journal of small files that are created once and never changed; what takes an entry back is another entry. Memory and time: the
pictures that are in individuals, and the entries.
"""

import json
from collections.abc import Callable
from dataclasses import asdict

import pyarrow as pa

from storage import parquet
from storage.errors import ConflictError, CorruptionError, MissingObjectError
from storage.nameentries import FOLDER, NAMES, REPAIR, Entry, read_entry
from storage.reading import damage, reason
from storage.schema import IDENTITIES, KNOWN_PAIRS, KNOWN_PICTURES, TableSpec
from storage.stamp import stamped
from storage.workspace import Workspace

IDENTITIES_KEY = f"{FOLDER}/{IDENTITIES.name}.parquet"
PICTURES_KEY = f"{FOLDER}/{KNOWN_PICTURES.name}.parquet"
PAIRS_KEY = f"{FOLDER}/{KNOWN_PAIRS.name}.parquet"
_TRIES = 100


def read_names(workspace: Workspace, known: dict[str, Entry] | None = None) -> list[Entry]:
    """Return the journal, the oldest entry first. `known`: entries that were read before; those that are new come into it.

    An entry never changes, so whoever reads often, and keeps what is known, reads each once.
    """
    objects, known = workspace.objects, {} if known is None else known
    there = sorted(objects.keys(NAMES))
    for key in there:
        if key not in known:
            known[key] = read_entry(objects.read(key), f"{workspace.location}/{key}")
    return [known[key] for key in there]


def append_name(workspace: Workspace, entry: Entry, known: dict[str, Entry] | None = None) -> bool:
    """Add an entry, and return whether it is new: one with an id that is there already changes nothing.

    `known` as in `read_names`.
    """
    known = {} if known is None else known
    for _ in range(_TRIES):
        there = read_names(workspace, known)
        if any(one.id == entry.id for one in there):
            return False
        key = f"{NAMES}/{len(there):06d}.json"
        try:
            workspace.objects.create(key, stamped(key, json.dumps(asdict(entry)).encode()))
        except ConflictError:  # somebody else wrote one at this moment: ours comes behind it
            continue
        return True
    raise ConflictError("too many people give names at this moment: try again")


def read_identities(workspace: Workspace) -> pa.Table:
    """Return which pictures each number stood for."""
    return _read(workspace, IDENTITIES_KEY, IDENTITIES)


def update_identities(workspace: Workspace, change: Callable[[pa.Table], pa.Table]) -> pa.Table:
    """Change the table while nobody else does, and return it; nothing is written if nothing changed."""
    with workspace.objects.locked(IDENTITIES_KEY):
        before = read_identities(workspace)
        after = change(before).cast(IDENTITIES.schema)
        if not after.equals(before):
            workspace.objects.replace(IDENTITIES_KEY, parquet.to_bytes(after))
    return after


def read_known_pictures(workspace: Workspace) -> pa.Table:
    """Return which pictures show whom, by the catalogues that were brought in."""
    return _read(workspace, PICTURES_KEY, KNOWN_PICTURES)


def read_known_pairs(workspace: Workspace) -> pa.Table:
    """Return what is known about pairs of pictures, in the order in which it was brought in."""
    return _read(workspace, PAIRS_KEY, KNOWN_PAIRS)


def add_known(workspace: Workspace, make: Callable[[pa.Table, pa.Table], tuple[pa.Table, pa.Table]]) -> None:
    """Add pictures and pairs while nobody else does: `make` gets what is there and returns all of it with the new rows behind.

    The pairs are written last: campaigns read those alone, so a kill in between leaves pictures whose pairs come with the
    next import of the same file.
    """
    with workspace.objects.locked(PAIRS_KEY):
        pictures, pairs = make(read_known_pictures(workspace), read_known_pairs(workspace))
        workspace.objects.replace(PICTURES_KEY, parquet.to_bytes(pictures.cast(KNOWN_PICTURES.schema)))
        workspace.objects.replace(PAIRS_KEY, parquet.to_bytes(pairs.cast(KNOWN_PAIRS.schema)))


def _read(workspace: Workspace, key: str, spec: TableSpec) -> pa.Table:
    where = f"{workspace.location}/{key}"
    try:
        data = workspace.objects.read(key)
    except MissingObjectError:
        return spec.empty()
    try:
        return spec.check(parquet.from_bytes(data), where)
    except damage() as error:
        raise CorruptionError(f"{where} is damaged ({reason(error)}): {REPAIR}") from error


__all__ = [
    "IDENTITIES_KEY", "PAIRS_KEY", "PICTURES_KEY", "add_known", "append_name", "read_identities", "read_known_pairs",
    "read_known_pictures", "read_names", "update_identities",
]  # fmt: skip
