"""Campaigns as stages: start or go on, advance by one step, write reports, say where each one stands."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cccount_dist.campaign.advancing import advance, method_of, start
from cccount_dist.campaign.answerwords import rest_words
from cccount_dist.campaign.campaign import Campaign, CampaignStatus
from cccount_dist.campaign.hindrance import missing_input
from cccount_dist.campaign.options import CampaignOptions
from cccount_dist.campaign.outcome import CampaignOutcome, Outcome, plain_fields
from cccount_dist.campaign.reporting import refresh_report, write_report
from cccount_dist.sampling.methods import Method
from cccount_dist.taken import require_for
from flows.compute.options import PreparingOptions
from flows.compute.progress import progress
from flows.stages.madesofar import StageState, made_so_far, next_command
from storage.campaigns import CampaignFolder
from storage.errors import InputError
from storage.workspace import Workspace

if TYPE_CHECKING:
    from flows.compute.preparing import DaskCluster


@dataclass(frozen=True, slots=True)
class Advanced(Outcome):
    """What a step came to, and where the report is (None for a kind whose reports are written on request)."""

    reached: CampaignOutcome
    report: str | None

    def words(self) -> str:
        return self.reached.words()

    def json(self) -> dict[str, object]:
        return {**self.reached.json(), "report": self.report}


@dataclass(frozen=True, slots=True)
class Statuses(Outcome):
    """What was made so far, where every campaign stands, and the command that comes next."""

    campaigns: Sequence[CampaignStatus]
    stages: Sequence[StageState] = ()
    next: str | None = None

    def words(self) -> str:
        lines = [f"{one.stage:<10} {one.said}" for one in self.stages]
        lines += ["", *self._table()] if lines else self._table()
        return "\n".join([*lines, *([f"\nNext: {self.next}"] if self.next else [])])

    def _table(self) -> list[str]:
        if not self.campaigns:
            return ["No campaign yet."]
        lines = [f"{'campaign':<20} {'method':<10} {'state':<8} {'answers':>8} {'pending':>8} {'contradictions':>14}  result"]
        for c in self.campaigns:
            numbers = f"{c.questions + (c.glances or 0):>8,} {c.pending:>8,} {c.contradictions:>14,}"
            lines.append(f"{c.campaign:<20} {c.method:<10} {c.state:<8} {numbers}  {c.brief}")
            if c.carried:
                lines.append(f"{'':<20} from {rest_words(c.questions, c.glances or 0, c.free or 0, c.carried)}")
            if c.sides_found is not None:
                lines.append(f"{'':<20} {c.sides_found.brief}")
            if c.epoch is not None:
                lines.append(f"{'':<20} {c.epoch}")
            if c.hindrance is not None:
                lines.append(f"{'':<20} {c.hindrance}")
        return lines

    def json(self) -> dict[str, object]:
        return {
            "campaigns": [row.json() for row in self.campaigns],
            "stages": [plain_fields(one) for one in self.stages],
            "next": self.next,
        }


@dataclass(frozen=True, slots=True)
class Reported(Outcome):
    """Where the reports are."""

    files: Sequence[str]

    def words(self) -> str:
        return "\n".join(self.files) or "No campaign yet: nothing to report."


def run_campaign(workspace: str, campaign: str, options: CampaignOptions, preparing: PreparingOptions) -> CampaignOutcome:
    """Start the campaign or go on with it, until it is done or waits for people."""
    opened = Workspace.open(workspace)
    cluster = _cluster(method_of(opened, campaign, options), preparing)
    started = start(opened, campaign, options, progress)
    if started.note is not None:
        sys.stderr.write(f"{started.note}\n")
    reached = advance(
        started.folder, inputs=started.inputs, to_the_end=True, cluster=cluster, progress=progress, strict=options.strict_replay
    )
    if cluster is not None and cluster.named and not cluster.used:
        sys.stderr.write("--compute, --workers and --memory-limit were of no use: nothing was left to prepare\n")
    return reached


def _cluster(method: Method, preparing: PreparingOptions) -> "DaskCluster | None":
    """Where the method prepares; `InputError` if a cluster was named that nobody would use."""
    if preparing.named and not method.prepares:
        raise InputError(
            f"--compute, --workers and --memory-limit are of no use to {method.name}: it runs in this process; leave them out"
        )
    if not method.prepares:
        return None
    from flows.compute.preparing import DaskCluster  # loads Dask

    return DaskCluster(preparing)


def advance_campaign(workspace: str, campaign: str, *, strict: bool = False) -> Advanced:
    """Advance a campaign by one idempotent step, and write its report again if the answers have changed."""
    folder = CampaignFolder(Workspace.open(workspace), campaign)
    reached = advance(folder, progress=progress, strict=strict)
    return Advanced(reached, refresh_report(folder, progress))


def status(workspace: str, campaign: str | None = None) -> Statuses:
    """Where every campaign stands, and what it waits for. Reads only: any number of people may look."""
    opened = Workspace.open(workspace)
    require_for("status", opened, campaign)
    names = opened.campaigns() if campaign is None else [campaign]
    found = [Campaign(CampaignFolder(opened, name)).status() for name in names]
    found = [one if one.sides_found is None else _with_sides(one, CampaignFolder(opened, one.campaign)) for one in found]
    made = made_so_far(opened)
    return Statuses(found, made, next_command(workspace, made, found, missing_input(opened)))


def _with_sides(one: CampaignStatus, folder: CampaignFolder) -> CampaignStatus:
    """The status with what joins sides by now: a catalogue that came later, a correction by hand."""
    from cccount_dist.individuals.sides import sides_now

    return replace(one, sides_found=sides_now(folder))


def refresh_reports(workspace: str, campaigns: Sequence[str]) -> Reported:
    """Write the reports of these campaigns, where the answers are others than the report says."""
    opened = Workspace.open(workspace)
    require_for("report", opened)
    found = [refresh_report(CampaignFolder(opened, name), progress) for name in campaigns]
    return Reported([one for one in found if one is not None])


def write_reports(workspace: str, campaign: str | None, price: float | None = None) -> Reported:
    """Write the report of one campaign, or of all; `price` is that of a question."""
    if price is not None and not 0.0 <= price < math.inf:
        raise InputError(f"--price must be 0 or more, not {price}")
    opened = Workspace.open(workspace)
    require_for("report", opened, campaign)
    collection = opened.collection()
    folders = [CampaignFolder(opened, name) for name in (opened.campaigns() if campaign is None else [campaign])]
    return Reported([write_report(folder, collection, price=price, progress=progress) for folder in folders])
