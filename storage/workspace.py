"""The workspace: a folder with the collection, the arrays and the campaigns, and `workspace.toml` that says what it is.

`workspace.toml` is written last: a folder without it is no workspace, whatever a killed `init` left there.
"""

import json
import os
import uuid
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import pyarrow as pa

from storage import inventory
from storage.arrays import JSON, ShardedArray
from storage.collection import KEY as COLLECTION_KEY
from storage.collection import Collection, read_collection, write_collection
from storage.errors import InputError, MissingObjectError, StoreError, WorkspaceError
from storage.identity import read_identity
from storage.objects import Objects, explained, is_remote, make_folder, open_objects
from storage.problems import Problem
from storage.schema import FORMAT, ArraySpec
from storage.scratch import ScratchPath, StorePath
from storage.stamp import stamped
from storage.stored import tops
from storage.toml import load_toml
from storage.version import __version__

_KEY = "workspace.toml"
_BEGUN = ".init"  # there while `create` is under way: what it wrote may be written again, what is not its own may not
_swept: set[str] = set()


@dataclass(frozen=True)
class Workspace:
    """An open workspace; made by `create` or `open`."""

    objects: Objects
    uuid: str

    @classmethod
    def create(cls, location: str | Path, table: pa.Table, *, noun: str | None = None) -> Self:
        """Make a workspace with this collection. Killed or out of disk it leaves no workspace, and can be called again.

        `noun`: what is in it, in the user's word, for campaigns that are told no other.
        """
        collection = Collection(table)
        objects = open_objects(location)
        if not is_remote(location) and Path(location).exists() and not Path(location).is_dir():
            raise InputError(f"{location} is a file: choose a folder for the workspace")
        with objects.locked(_KEY):
            if objects.size(_KEY) is not None:
                raise InputError(
                    f"{location} is a workspace already, and stays as it is: `cccount status {location}` says how to go on, "
                    f"`cccount extend {location} …` adds items; for another collection name another folder"
                )
            if objects.size(_BEGUN) is None:
                _refuse_foreign(objects)
            identity = str(uuid.uuid4())
            try:
                objects.replace(_BEGUN, b"")
                write_collection(objects, collection.table)
                objects.replace(_KEY, _described(identity, noun))
            except StoreError:
                for key in (_KEY, COLLECTION_KEY, _BEGUN):
                    objects.delete(key)
                raise
            objects.delete(_BEGUN)
        return cls(objects, identity)

    @staticmethod
    def exists(location: str | Path) -> bool:
        """Whether there is a workspace: a folder that a killed `create` left is none."""
        return open_objects(location).size(_KEY) is not None

    def finish(self) -> bool:
        """Remove the mark of a `create` that was killed after its last step, and return whether there was one."""
        with self.objects.locked(_KEY):
            was_killed = self.objects.size(_BEGUN) is not None
            self.objects.delete(_BEGUN)
        return was_killed

    @classmethod
    def open(cls, location: str | Path) -> Self:
        """Open a workspace of this format, and remove what dead writers left in it."""
        objects, _, identity = read_description(location)
        if objects.location not in _swept:  # once for each process: a worker opens the workspace for every task
            objects.sweep()
            _swept.add(objects.location)
        return cls(objects, identity)

    @property
    def location(self) -> str:
        return self.objects.location

    @property
    def noun(self) -> str | None:
        """What is in it, in the user's word; None if nobody said."""
        found = load_toml(self.objects.read(_KEY)).get("noun")
        return found if isinstance(found, str) and found else None

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
        return _made(self._elsewhere("CCCOUNT_CACHE", "XDG_CACHE_HOME", ".cache") or Path(self.location) / ".cache")

    def state_folder(self) -> Path:
        """Return a folder of this host for what must not be lost before it is in the store: the journals of its campaigns."""
        return _made(self._elsewhere("CCCOUNT_STATE", "XDG_STATE_HOME", ".local/state") or Path(self.location))

    def _elsewhere(self, variable: str, of_user: str, otherwise: str) -> Path | None:
        """Return the folder of this host outside of the workspace; None if it is inside."""
        set_by_user = os.environ.get(variable)
        if set_by_user:
            return Path(set_by_user) / self.uuid
        return _of_user(of_user, otherwise) / self.uuid if self.is_remote else None

    @property
    def is_remote(self) -> bool:
        return is_remote(self.location)

    def scratch(self, name: str) -> ScratchPath:
        """Return where partial results of a stage lie: in the workspace, where all of its workers see them."""
        if self.is_remote:
            return StorePath(self.objects, f".scratch/{name}".rstrip("/"))
        return _made(Path(self.location) / ".scratch" / name)

    def problems(self, checked: Callable[[], None] | None = None) -> Iterator[Problem]:
        """Check everything that is stored (`inventory.py`), calling `checked` for each shard. Nothing is raised for damage."""
        cache = self._elsewhere("CCCOUNT_CACHE", "XDG_CACHE_HOME", ".cache")
        state = self._elsewhere("CCCOUNT_STATE", "XDG_STATE_HOME", ".local/state")
        yield from inventory.problems(self.objects, cache=cache, state=state, checked=checked)


def _described(identity: str, noun: str | None) -> bytes:
    created_at = datetime.now(UTC).isoformat(timespec="seconds")
    text = f'format = {FORMAT}\ncccount = "{__version__}"\ncreated_at = {created_at}\nuuid = "{identity}"\n'
    if noun is not None:
        text += f"noun = {json.dumps(noun)}\n"
    return stamped(_KEY, text.encode())


def read_description(location: str | Path, also: Container[object] = ()) -> tuple[Objects, int, str]:
    """Return the objects of a workspace, its number and its id; `also`: numbers that are let through though they are not read."""
    objects = open_objects(location)
    where = f"{objects.location}/{_KEY}"
    try:
        return objects, *read_identity(objects.read(_KEY), where, also)
    except MissingObjectError as error:
        raise WorkspaceError(
            f"{objects.location} is not a workspace: make one with `cccount init {objects.location} …`"
        ) from error


def _refuse_foreign(objects: Objects) -> None:
    for key in tops():
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


__all__ = ["Workspace", "read_description"]
