"""Check everything that a workspace holds: every shard, log part, marker and setting. Says what is damaged and what to do."""

import itertools
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from flows.progress import progress
from storage.campaigns import CampaignFolder
from storage.errors import CccountError
from storage.problems import Problem
from storage.schema import ARRAYS, DEGREE, EMBEDDINGS, ESTIMATES, GROUPINGS
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
    for spec in (ESTIMATES, GROUPINGS):
        try:
            last = folder.last_row(spec)
        except (CccountError, ValueError, OSError) as error:  # Arrow raises ValueError and OSError for a damaged file
            repair = f"delete it: `cccount advance --campaign {folder.name}` writes it again"
            yield Problem(f"{where}/results/{spec.name}.parquet", " ".join(str(error).split()), repair)
        else:
            yield from _removed(folder, 0 if last is None else int(last["answers"]))


def _removed(folder: CampaignFolder, rests_on: int) -> Iterator[Problem]:
    """A result knows how many answers it rests on: fewer than that cannot be here."""
    try:
        rows = folder.log.answers().num_rows
    except CccountError:  # the log is damaged, which it says itself
        return
    if rows < rests_on:
        problem = f"the result rests on {rests_on} answers, and only {rows} are here: the newest are missing"
        where = f"{folder.workspace.location}/{folder.prefix}/answers"
        yield Problem(where, problem, "put the missing parts back from a backup")
