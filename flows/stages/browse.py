"""`cccount browse`: write the contact sheet of a subclustering campaign, and say which subcluster an image is most like.

Reads only, except for that file, and needs no lease.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cccount_dist.campaign.outcome import Outcome
from cccount_dist.campaign.reporting import write_report
from cccount_dist.kinds.subcluster.browse import read_subclusters
from cccount_dist.kinds.subcluster.sheet import most_like
from cccount_dist.taken import require, size_of
from flows.compute.progress import progress
from storage.campaigns import CampaignFolder
from storage.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Likeness:
    """A subcluster, its most similar item, and how similar that is."""

    subcluster: int
    item: int
    similarity: float
    id: str


@dataclass(frozen=True, slots=True)
class Browsed(Outcome):
    """Where the sheet is, and what an image is most like."""

    campaign: str
    file: str
    subclusters: int
    nearest: Sequence[Likeness]

    def words(self) -> str:
        lines = [f"Most like subcluster {n.subcluster + 1} ({n.id}, similarity {n.similarity:.3f})" for n in self.nearest]
        return "\n".join([*lines, self.file])


def browse(workspace: str, campaign: str, *, item: str | None = None, image: str | None = None) -> Browsed:
    """Write the contact sheet; with `item` (an id) or `image` (a file), find the subclusters that it is most like as well."""
    folder = CampaignFolder(Workspace.open(workspace), campaign)
    rows = read_subclusters(folder)
    require("browse", replace(size_of(folder.workspace, campaign), shown=sum(map(len, rows))))
    subclusters = len(rows)
    ids = folder.workspace.collection().ids
    found = [Likeness(m.subcluster, m.item, m.similarity, ids[m.item]) for m in most_like(folder, item=item, image=image)]
    return Browsed(campaign, write_report(folder, progress=progress), subclusters, found)
