"""The workspace: a folder with the collection, the arrays and the campaigns, and `workspace.toml` that says what it is.

`workspace.toml` is written last: a folder without it is no workspace, whatever a killed `init` left there.
"""

import os
import tomllib
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import pyarrow as pa

from storage.arrays import JSON, ShardedArray, array_problems
from storage.collection import KEY as COLLECTION_KEY
from storage.collection import Collection, collection_problems, read_collection, write_collection
from storage.errors import CorruptionError, InputError, MissingObjectError, StoreError, WorkspaceError
from storage.objects import Objects, explained, is_remote, make_folder, open_objects
from storage.problems import Problem
from storage.schema import ARRAYS, FORMAT, ArraySpec
from storage.scratch import ScratchPath, StorePath
from storage.version import __version__

_KEY = "workspace.toml"
_BEGUN = ".init"  # there while `create` is under way: what it wrote may be written again, what is not its own may not
_OURS = (
    COLLECTION_KEY,
    "embeddings.zarr",
    "encoded.zarr",
    "previous.zarr",
    "neighbors.zarr",
    "similarity.zarr",
    "campaigns",
    "markers",
)
_swept: set[str] = set()


@dataclass(frozen=True)
class Workspace:
    """An open workspace; made by `create` or `open`."""

    objects: Objects
    uuid: str

    @classmethod
    def create(cls, location: str | Path, table: pa.Table) -> Self:
        """Make a workspace with this collection. Killed or out of disk it leaves no workspace, and can be called again."""
        collection = Collection(table)
        objects = open_objects(location)
        if not is_remote(location) and Path(location).exists() and not Path(location).is_dir():
            raise InputError(f"{location} is a file: choose a folder for the workspace")
        with objects.locked(_KEY):
            if objects.size(_KEY) is not None:
                raise InputError(f"{location} is a workspace already: choose another folder, or delete this one first")
            if objects.size(_BEGUN) is None:
                _refuse_foreign(objects)
            identity = str(uuid.uuid4())
            try:
                objects.replace(_BEGUN, b"")
                write_collection(objects, collection.table)
                objects.replace(_KEY, _described(identity))
            except StoreError:
                for key in (_KEY, COLLECTION_KEY, _BEGUN):
                    objects.delete(key)
                raise
            objects.delete(_BEGUN)
        return cls(objects, identity)

    @classmethod
    def open(cls, location: str | Path) -> Self:
        """Open a workspace of this format, and remove what dead writers left in it."""
        objects = open_objects(location)
        identity = _identity(objects)
        if objects.location not in _swept:  # once for each process: a worker opens the workspace for every task
            objects.sweep()
            _swept.add(objects.location)
        return cls(objects, identity)

    @property
    def location(self) -> str:
        return self.objects.location

    def collection(self) -> Collection:
        return read_collection(self.objects)

    def update_collection(self, table: pa.Table) -> None:
        """Replace the collection table; items and their ids must stay as they are, for everything else refers to them."""
        if Collection(table).ids != self.collection().ids:
            raise InputError(
                f"the items of {self.location} cannot change: the new table has other ids; make a new workspace for them"
            )
        write_collection(self.objects, table)

    def array(self, spec: ArraySpec) -> ShardedArray:
        return ShardedArray.open(self.objects, spec)

    def create_array(
        self, spec: ArraySpec, shape: tuple[int, ...], *, attributes: Mapping[str, JSON], shard_rows: int | None = None
    ) -> ShardedArray:
        return ShardedArray.create(self.objects, spec, shape, attributes=attributes, shard_rows=shard_rows)

    def has_array(self, spec: ArraySpec) -> bool:
        return ShardedArray.exists(self.objects, spec)

    def campaigns(self) -> list[str]:
        """Return the names of all campaigns, sorted."""
        keys = [key.split("/") for key in self.objects.keys("campaigns")]
        return sorted(parts[1] for parts in keys if len(parts) == 3 and parts[2] == "campaign.toml")

    def cache_folder(self) -> Path:
        """Return a folder of this host for row caches: $CCCOUNT_CACHE/<workspace id> if set, else in the workspace.

        A workspace in an object store has it in the user's cache folder.
        """
        set_by_user = os.environ.get("CCCOUNT_CACHE")
        if set_by_user:
            return _made(Path(set_by_user) / self.uuid)
        return _made(_of_user("XDG_CACHE_HOME", ".cache") / self.uuid if self.is_remote else Path(self.location) / ".cache")

    def state_folder(self) -> Path:
        """Return a folder of this host for what must not be lost before it is in the store: the journals of its campaigns."""
        set_by_user = os.environ.get("CCCOUNT_STATE")
        if set_by_user:
            return _made(Path(set_by_user) / self.uuid)
        return _made(_of_user("XDG_STATE_HOME", ".local/state") / self.uuid if self.is_remote else Path(self.location))

    @property
    def is_remote(self) -> bool:
        return is_remote(self.location)

    def scratch(self, name: str) -> ScratchPath:
        """Return where partial results of a stage lie: in the workspace, where all of its workers see them."""
        if self.is_remote:
            return StorePath(self.objects, f".scratch/{name}".rstrip("/"))
        return _made(Path(self.location) / ".scratch" / name)

    def problems(self, checked: Callable[[], None] | None = None) -> Iterator[Problem]:
        """Check the collection and every shard of every array, calling `checked` for each. Campaigns' logs check themselves."""
        yield from collection_problems(self.objects)
        for spec in ARRAYS:
            yield from array_problems(self.objects, spec, checked)


def _described(identity: str) -> bytes:
    created_at = datetime.now(UTC).isoformat(timespec="seconds")
    return f'format = {FORMAT}\ncccount = "{__version__}"\ncreated_at = {created_at}\nuuid = "{identity}"\n'.encode()


def _identity(objects: Objects) -> str:
    where = f"{objects.location}/{_KEY}"
    try:
        fields = tomllib.loads(objects.read(_KEY).decode())
        found, identity = fields["format"], str(uuid.UUID(fields["uuid"]))
    except MissingObjectError as error:
        raise WorkspaceError(
            f"{objects.location} is not a workspace: make one with `cccount init {objects.location} …`"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptionError(
            f'{where} is damaged: it must have the lines `format = {FORMAT}` and `uuid = "…"`; restore it from a copy'
        ) from error
    if found != FORMAT:
        age = "a newer" if isinstance(found, int) and found > FORMAT else "another"
        raise WorkspaceError(
            f"{objects.location} was made by {age} cccount: format {found}, this one reads {FORMAT}; use the version that made it"
        )
    return identity


def _refuse_foreign(objects: Objects) -> None:
    for key in _OURS:
        if objects.size(key) is not None or objects.keys(key):
            raise InputError(
                f"{objects.location}/{key} is there already and belongs to no workspace: choose another folder, or move it away"
            )


def _of_user(variable: str, otherwise: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / otherwise) / "cccount"


def _made(folder: Path) -> Path:
    try:
        make_folder(folder)
    except OSError as error:
        raise explained(error, folder) from error
    return folder


__all__ = ["Workspace"]
