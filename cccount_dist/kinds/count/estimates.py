"""What the counts of a workspace say, for kinds of campaign that need the number of clusters."""

from dataclasses import dataclass
from typing import Any

from cccount_dist.campaign.options import TOGETHER
from cccount_dist.campaign.sideclusters import written
from cccount_dist.campaign.sidesread import sides_of
from cccount_dist.campaign.sidewords import SideFigures
from cccount_dist.counting.methods import KIND
from storage.campaigns import CampaignFolder
from storage.schema import ESTIMATES
from storage.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Counted:
    """The newest estimate of a count campaign."""

    campaign: str
    estimate: float
    low: float
    high: float
    level: float
    answers: int
    sides: SideFigures | None = None  # what it says of each side, if it kept them apart

    @property
    def clusters(self) -> int:
        """How many there are: of all sides together, if the count kept them apart."""
        return max(1, round(self.estimate))

    def told(self, sides: str | None) -> dict[str, Any]:
        """Options of a campaign that takes K from here: where it keeps sides apart, too, K is that of each side."""
        if self.sides is None or sides == TOGETHER:
            return {"clusters": self.clusters, "clusters_from": self.campaign}
        of_side = self.sides.of_side.items()
        own = {name: max(1, round(side.low if side.estimate is None else side.estimate)) for name, side in of_side}
        return {"clusters": max(own.values()), "clusters_from": self.campaign, "clusters_of_sides": written(own)}


def best_count(workspace: Workspace) -> Counted | None:
    """Return what the count campaign with the most answers says; None if there is none with an estimate."""
    found = []
    for name in workspace.campaigns():
        folder = CampaignFolder(workspace, name)
        last = folder.last_row(ESTIMATES) if folder.settings().kind == KIND else None
        if last is not None and last["estimate"] is not None:
            said = {name: last[name] for name in ("estimate", "low", "high", "level", "answers")}
            found.append(Counted(name, sides=sides_of(folder), **said))
    return max(found, key=lambda one: (one.answers, one.campaign), default=None)
