"""What a scheduled run leaves on Prefect's page about its campaign: how far it is, where it stands, and where its report is."""

import re

from prefect.artifacts import create_link_artifact, create_progress_artifact, create_table_artifact

from flows.stages.campaigns import Advanced
from storage.campaigns import CampaignFolder
from storage.workspace import Workspace


def artifact_key(campaign: str, what: str) -> str:
    """Return a key as Prefect wants it: small letters, digits and dashes.

    >>> artifact_key("Census_2.b", "progress")
    'campaign-census-2-b-progress'
    """
    return f"campaign-{re.sub('[^a-z0-9]+', '-', campaign.lower()).strip('-')}-{what}"


def show_campaign(workspace: str, done: Advanced) -> None:
    """Leave progress, table and link; needs a running flow."""
    reached, campaign = done.reached, done.reached.campaign
    folder = CampaignFolder(Workspace.open(workspace), campaign)
    budget = folder.goal().budget
    share = 100.0 if reached.state == "done" else min(100.0, 100.0 * reached.questions / budget if budget else 100.0)
    create_progress_artifact(
        share, key=artifact_key(campaign, "progress"), description=f"{reached.questions} of {budget} questions"
    )
    fields = reached.json()
    row = {name: fields[name] for name in reached.shown if name in fields}
    create_table_artifact([row], key=artifact_key(campaign, "table"), description=f"{campaign} in {workspace}")
    if done.report is not None:
        link = done.report if folder.workspace.is_remote else f"file://{done.report}"
        create_link_artifact(link, link_text="report.html", key=artifact_key(campaign, "report"))


__all__ = ["artifact_key", "show_campaign"]
