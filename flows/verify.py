"""Check everything that a workspace holds: every shard, log part, marker and setting. Says what is damaged and what to do."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from storage.campaigns import CampaignFolder
from storage.errors import CccountError
from storage.problems import Problem
from storage.schema import ARRAYS, DEGREE, EMBEDDINGS, ArraySpec
from storage.workspace import Workspace


def verify(workspace: str) -> dict[str, Any]:
    """Return `ok` and the list of problems, each with the file and its repair."""
    opened = Workspace.open(workspace)
    problems = [*_collection(opened), *_arrays(opened)]
    for name in opened.campaigns():
        problems += _campaign(CampaignFolder(opened, name))
    return {"ok": not problems, "problems": [asdict(problem) for problem in problems]}


def _collection(workspace: Workspace) -> Iterator[Problem]:
    try:
        workspace.collection()
    except CccountError as error:
        yield Problem(
            "collection.parquet", str(error), "restore it from a backup, or make the workspace anew with `cccount init`"
        )


def _arrays(workspace: Workspace) -> Iterator[Problem]:
    present = [spec for spec in ARRAYS if workspace.has_array(spec)]
    sound = True
    for spec in present:
        found = list(_array(workspace, spec))
        sound = sound and not found
        yield from found
    if sound and {EMBEDDINGS, DEGREE} <= set(present):
        embeddings, degree = workspace.array(EMBEDDINGS), workspace.array(DEGREE)
        if not embeddings.missing() and degree.attributes["embeddings"] != embeddings.fingerprint():
            yield Problem(DEGREE.name, "was computed from other embeddings than are here now", "run `cccount neighbors` again")


def _array(workspace: Workspace, spec: ArraySpec) -> Iterator[Problem]:
    try:
        yield from workspace.array(spec).problems()
    except CccountError as error:
        yield Problem(spec.name, str(error), f"delete {spec.name} and run the stage that makes it again")


def _campaign(folder: CampaignFolder) -> Iterator[Problem]:
    yield from folder.log.problems()
    for name, read in (("campaign.toml", folder.settings), ("goal.toml", folder.goal)):
        try:
            read()
        except CccountError as error:
            yield Problem(f"{folder.prefix}/{name}", str(error), "restore it from a backup")
    try:
        folder.estimates()
    except (CccountError, ValueError) as error:  # ArrowInvalid is a ValueError
        path = f"{folder.prefix}/results/estimates.parquet"
        yield Problem(path, str(error), f"delete it: `cccount advance --campaign {folder.name}` writes it again")
