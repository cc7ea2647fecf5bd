"""Check everything that a workspace holds: every shard, log part, marker and setting. Says what is damaged and what to do."""

import itertools
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from flows.progress import progress
from storage.campaigns import CampaignFolder
from storage.errors import CccountError
from storage.problems import Problem
from storage.schema import ARRAYS, DEGREE, EMBEDDINGS
from storage.workspace import Workspace


def verify(workspace: str) -> dict[str, Any]:
    """Return `ok` and the list of problems, each with the file and its repair."""
    opened = Workspace.open(workspace)
    done = itertools.count(1)
    with progress("Verifying", _shards(opened), "shards") as update:
        problems = list(opened.problems(lambda: update(next(done))))
    if not problems:
        problems += _stale_neighbours(opened)
    for name in opened.campaigns():
        problems += _campaign(CampaignFolder(opened, name))
    return {"ok": not problems, "problems": [asdict(problem) for problem in problems]}


def _shards(workspace: Workspace) -> int:
    total = 0
    for spec in ARRAYS:
        try:
            total += workspace.array(spec).shards if workspace.has_array(spec) else 0
        except CccountError:  # too damaged to be opened: it is reported below, and only the bar's end is off
            continue
    return total


def _stale_neighbours(workspace: Workspace) -> Iterator[Problem]:
    if workspace.has_array(EMBEDDINGS) and workspace.has_array(DEGREE):
        embeddings, degree = workspace.array(EMBEDDINGS), workspace.array(DEGREE)
        if not embeddings.missing() and degree.attributes["embeddings"] != embeddings.fingerprint():
            where = f"{workspace.location}/{DEGREE.name}"
            yield Problem(where, "was computed from other embeddings than are here now", "run `cccount neighbors` again")


def _campaign(folder: CampaignFolder) -> Iterator[Problem]:
    yield from folder.log.problems()
    where = f"{folder.workspace.location}/{folder.prefix}"
    for name, read in (("campaign.toml", folder.settings), ("goal.toml", folder.goal)):
        try:
            read()
        except CccountError as error:
            yield Problem(f"{where}/{name}", str(error), "restore it from a backup")
    try:
        folder.estimates()
    except (CccountError, ValueError, OSError) as error:  # Arrow raises ValueError and OSError for a damaged file
        repair = f"delete it: `cccount advance --campaign {folder.name}` writes it again"
        yield Problem(f"{where}/results/estimates.parquet", " ".join(str(error).split()), repair)
