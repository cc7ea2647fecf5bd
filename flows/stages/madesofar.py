"""What was made in a workspace so far, stage by stage, and the command that comes next. Reads markers only."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from cccount_dist.campaign.campaign import CampaignStatus
from cccount_dist.campaign.hindrance import missing_input
from cccount_dist.campaign.inputs import has_matches
from cccount_dist.campaign.outcome import review_command
from storage.arrays import ShardedArray
from storage.schema import EMBEDDINGS, MATCHES, NEIGHBOR_INDEX, ArraySpec
from storage.workspace import Workspace


@dataclass(frozen=True, slots=True)
class StageState:
    """How far a stage is."""

    stage: str
    state: Literal["done", "begun", "missing"]
    said: str  # for people


def made_so_far(workspace: Workspace) -> list[StageState]:
    """How far each stage before the campaigns is."""
    collection = workspace.collection()
    failed = len(collection.problems())
    left = f", {failed:,} of them left out: no vector could be made" if failed else ""
    return [
        StageState("init", "done", f"{collection.items:,} items{left}"),
        _of_array(workspace, "embed", EMBEDDINGS, lambda array: f"vectors of {array.shape[1]:,} dimensions ({_encoder(array)})"),
        _of_array(
            workspace,
            "neighbors",
            NEIGHBOR_INDEX,
            lambda array: f"{array.shape[1]:,} for each item, by {array.attributes.get('metric')} similarity{_stale(workspace)}",
        ),
        *_asked_for(workspace),
    ]


def _asked_for(workspace: Workspace) -> list[StageState]:
    """Local matches are only spoken of where somebody wanted them."""
    if not workspace.has_array(MATCHES):
        return []
    of_now = has_matches(workspace)
    stale = "" if of_now else "; made before the neighbours changed"
    return [_of_array(workspace, "matches", MATCHES, lambda array: f"with the {array.shape[1]:,} nearest of each item{stale}")]


def _stale(workspace: Workspace) -> str:
    """What to say of neighbours that are those of earlier vectors."""
    lacks = missing_input(workspace)
    return "" if lacks is None else "; made before the vectors changed"


def next_command(
    workspace: str, made: Sequence[StageState], campaigns: Sequence[CampaignStatus], lacks: tuple[str, str] | None = None
) -> str:
    """The command that takes the workspace a step further; `lacks`: what its campaigns wait for, and the command for it."""
    place = shlex.quote(workspace)
    if lacks is not None and any(one.hindrance is not None and one.state in ("waiting", "running") for one in campaigns):
        return lacks[1]
    if any(one.state == "waiting" and one.pending for one in campaigns):
        return review_command(workspace)
    for one in made:
        if one.state != "done" and not campaigns:
            return f"cccount {one.stage} {place}"
    if not campaigns:
        return f"cccount count {place}"
    for row in campaigns:
        if row.state == "stopped" and not (row.pending or row.interrupted):
            continue  # its budget is used up: whether it goes on is for people to say
        if row.state != "done":
            return f"cccount advance {place} --campaign {row.campaign}"
    return f"cccount report {place}"


def _of_array(workspace: Workspace, stage: str, spec: ArraySpec, said: Callable[[ShardedArray], str]) -> StageState:
    if not workspace.has_array(spec):
        return StageState(stage, "missing", "not yet")
    array = workspace.array(spec)
    missing = len(array.missing())
    if missing:
        return StageState(
            stage, "begun", f"begun: {array.shards - missing:,} of {array.shards:,} parts; the same command goes on"
        )
    return StageState(stage, "done", said(array))


def _encoder(array: ShardedArray) -> str:
    name = str(array.attributes.get("encoder"))
    return "given with the collection" if name in ("given", "distances") else name
