"""Check everything that a workspace holds (`storage/inventory.py`), with a bar. Says what is damaged and what to do."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from cccount_dist.campaign.kind import declare_stored
from cccount_dist.campaign.outcome import Outcome
from cccount_dist.embedding.address import Address
from cccount_dist.embedding.moved import missing_pictures
from cccount_dist.sampling.logged import kind_problems
from cccount_dist.taken import require_for
from flows.compute.progress import progress
from storage import inventory
from storage.campaigns import CampaignFolder
from storage.errors import CccountError, CorruptionError, FormatError, WorkspaceError
from storage.objects import Objects, open_objects
from storage.problems import Problem
from storage.schema import ARRAYS, DEGREE, EMBEDDINGS, MATCHES, NEIGHBOR_INDEX
from storage.stored import declared
from storage.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Verified(Outcome):
    """What is damaged, each with the file and its repair."""

    ok: bool
    problems: Sequence[Problem]

    @property
    def success(self) -> bool:
        return self.ok

    def words(self) -> str:
        if self.ok:
            return "Everything is sound."
        return "\n".join(f"{p.path}: {p.problem}\n    repair: {p.repair}" for p in self.problems)


def verify(workspace: str) -> Verified:
    """Return every problem, each with the file and its repair."""
    declare_stored()
    problems = _of_damaged(workspace)
    if problems is None:
        opened = Workspace.open(workspace)
        require_for("verify", opened)
        done = itertools.count(1)
        with progress("Verifying", _shards(opened), "shards") as update:
            problems = list(opened.problems(lambda: update(next(done))))
        problems += _stale_neighbours(opened)
        problems += _stale_matches(opened)
        problems += _lost_pictures(opened)
        for name in opened.campaigns():
            problems += kind_problems(CampaignFolder(opened, name))
    return Verified(not problems, problems)


def _of_damaged(workspace: str) -> list[Problem] | None:
    """Return the problems of a workspace that cannot be opened because workspace.toml is damaged or lost; None of any other."""
    objects = open_objects(workspace)
    try:
        Workspace.open(workspace)
    except FormatError as error:  # the rest may be anything
        return [error.problem]
    except CorruptionError:
        return list(inventory.problems(objects))
    except WorkspaceError:
        if _has_lost_its_name(objects):
            return list(inventory.problems(objects))
        raise
    return None


def _has_lost_its_name(objects: Objects) -> bool:
    """Whether this was a workspace: workspace.toml is gone, and there is more than a killed `init` leaves."""
    if objects.size("workspace.toml") is not None:  # it is of another format
        return False
    begun = (".init", "collection.parquet", EMBEDDINGS.name, "markers")
    return any(declared(key) and key.partition("/")[0] not in begun for key in objects.keys(""))


def _shards(workspace: Workspace) -> int:
    total = 0
    for spec in ARRAYS:
        try:
            total += workspace.array(spec).shards if workspace.has_array(spec) else 0
        except CccountError:  # too damaged to be opened: it is reported below, and only the bar's end is off
            continue
    return total


def _lost_pictures(workspace: Workspace) -> Iterator[Problem]:
    """Say where pictures are missing, once for each folder that they were in."""
    try:
        collection = workspace.collection()
    except CccountError:  # said already
        return
    folders: dict[str, list[str]] = {}
    for item in missing_pictures(collection):
        path = Address.parse(collection.uri(item) or "").path
        folders.setdefault(str(PurePath(path).parent), []).append(path)
    for folder, paths in folders.items():
        count = "a picture is" if len(paths) == 1 else f"{len(paths):,} pictures are"
        yield Problem(
            folder,
            f"{count} missing here, or shorter than before; the first: {PurePath(paths[0]).name}",
            f"put them back, or say where they are now: `cccount relocate {workspace.location} --images DIR`",
        )


def _stale_neighbours(workspace: Workspace) -> Iterator[Problem]:
    try:
        if workspace.has_array(EMBEDDINGS) and workspace.has_array(DEGREE):
            embeddings, degree = workspace.array(EMBEDDINGS), workspace.array(DEGREE)
            if not embeddings.missing() and degree.attributes.get("embeddings") != embeddings.fingerprint():
                where = f"{workspace.location}/{DEGREE.name}"
                yield Problem(where, "was computed from other embeddings than are here now", "run `cccount neighbors` again")
    except (CorruptionError, FormatError):  # said already
        return


def _stale_matches(workspace: Workspace) -> Iterator[Problem]:
    try:
        if workspace.has_array(MATCHES) and workspace.has_array(NEIGHBOR_INDEX):
            index, found = workspace.array(NEIGHBOR_INDEX), workspace.array(MATCHES)
            if not index.missing() and found.attributes.get("neighbors") != index.fingerprint():
                where = f"{workspace.location}/{MATCHES.name}"
                yield Problem(where, "was computed for other neighbours than are here now", "run `cccount matches` again")
    except (CorruptionError, FormatError):  # said already
        return
