"""Which campaigns will go on in a new epoch because of what a command is about to do: said, and asked, before it does it.

Nothing is lost by it: answers stay known. But questions that are open are put anew, and an epoch is for good. Time: the markers
of the arrays and the small files of the campaigns.
"""

from collections.abc import Sequence

from cccount_dist.campaign.inputs import items_alone
from cccount_dist.sampling.methods import find_method
from flows.stages import embed, matches, neighbors
from flows.stages.options import EmbedOptions, MatchesOptions, NeighborsOptions
from storage.campaigns import CampaignFolder
from storage.errors import CccountError
from storage.schema import DEGREE, EMBEDDINGS, MATCHES, ArraySpec
from storage.workspace import Workspace


def of_extending(workspace: str) -> list[str]:
    """Campaigns that go on over more items."""
    return resting_on(Workspace.open(workspace), "embeddings", "items")


def of_embedding(workspace: str, options: EmbedOptions) -> list[str]:
    """Campaigns that go on over other vectors; none if the vectors stay as they are, or are being completed."""
    opened = Workspace.open(workspace)
    found = resting_on(opened, "embeddings")
    if not found or embed.standing(workspace, options.encoder, options.components, options.map) == "complete":
        return []
    return found


def of_neighbors(workspace: str, options: NeighborsOptions) -> list[str]:
    """Campaigns that go on over other neighbours."""
    opened = Workspace.open(workspace)
    found = resting_on(opened, "degree")
    same = {"k": options.k, "metric": options.metric, "engine": options.engine}
    if not found or neighbors.standing(workspace, **same) == "complete":  # type: ignore[arg-type]
        return []
    return found


def of_matches(workspace: str, options: MatchesOptions) -> list[str]:
    """Campaigns that will look at local matches, or at others than now."""
    opened = Workspace.open(workspace)
    found = [name for name in resting_on(opened, "degree") if _looks_at_matches(CampaignFolder(opened, name))]
    return found if found and matches.standing(workspace, nearest=options.nearest) != "complete" else []


def _looks_at_matches(folder: CampaignFolder) -> bool:
    settings = folder.settings()
    return find_method(settings.kind, settings.method).takes("matches")


def resting_on(workspace: Workspace, *inputs: str) -> list[str]:
    """Campaigns that have asked something and rest on one of these inputs, and on everything, as it is now."""
    names = workspace.campaigns()
    present = _present(workspace) if names else {}
    return [name for name in names if _rests(CampaignFolder(workspace, name), inputs, present)]


def words(campaigns: Sequence[str], change: str) -> str:
    """What a person is told before anything changes."""
    several = len(campaigns) > 1
    which = ", ".join(map(repr, campaigns))
    return (
        f"Campaign{'s' if several else ''} {which} will go on in a new epoch: {change}. All answers stay known and are not asked "
        "again; questions that are open now are asked anew."
    )


def _rests(folder: CampaignFolder, inputs: Sequence[str], present: dict[str, str]) -> bool:
    try:
        expected = folder.epochs()[-1].fingerprints or {}
        rests = all(present.get(name) == fingerprint for name, fingerprint in expected.items())
        return rests and any(name in expected for name in inputs) and folder.log.questions().num_rows > 0
    except CccountError:  # a damaged campaign is `verify`'s to report, and keeps nobody from working on the others
        return False


def _present(workspace: Workspace) -> dict[str, str]:
    """The fingerprints of the inputs that are whole."""
    found = dict(items_alone(workspace).fingerprints)
    arrays: dict[str, ArraySpec] = {"embeddings": EMBEDDINGS, "degree": DEGREE, "matches": MATCHES}
    for name, spec in arrays.items():
        if workspace.has_array(spec) and not workspace.array(spec).missing():
            found[name] = workspace.array(spec).fingerprint()
    return found


__all__ = ["of_embedding", "of_extending", "of_matches", "of_neighbors", "resting_on", "words"]
