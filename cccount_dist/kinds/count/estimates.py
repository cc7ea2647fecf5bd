"""What the counts of a workspace say, for kinds of campaign that need the number of clusters."""

from dataclasses import dataclass

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

    @property
    def clusters(self) -> int:
        return max(1, round(self.estimate))


def best_count(workspace: Workspace) -> Counted | None:
    """Return what the count campaign with the most answers says; None if there is none with an estimate."""
    found = []
    for name in workspace.campaigns():
        folder = CampaignFolder(workspace, name)
        last = folder.last_row(ESTIMATES) if folder.settings().kind == KIND else None
        if last is not None and last["estimate"] is not None:
            found.append(Counted(name, last["estimate"], last["low"], last["high"], last["level"], last["answers"]))
    return max(found, key=lambda one: (one.answers, one.campaign), default=None)
