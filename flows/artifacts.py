"""What a scheduled run leaves on Prefect's page about its campaign: how far it is, where it stands, and where its report is."""

import re
from typing import Any

from prefect.artifacts import create_link_artifact, create_progress_artifact, create_table_artifact

from storage.campaigns import CampaignFolder
from storage.workspace import Workspace

_SHOWN = ("method", "state", "estimate", "low", "high", "clusters", "questions", "inferred", "pending", "contradictions")


def artifact_key(campaign: str, what: str) -> str:
    """Return a key as Prefect wants it: small letters, digits and dashes.

    >>> artifact_key("Census_2.b", "progress")
    'campaign-census-2-b-progress'
    """
    return f"campaign-{re.sub('[^a-z0-9]+', '-', campaign.lower()).strip('-')}-{what}"


def show_campaign(workspace: str, report: dict[str, Any]) -> None:
    """Leave progress, table and link; needs a running flow."""
    campaign = str(report["campaign"])
    folder = CampaignFolder(Workspace.open(workspace), campaign)
    budget = folder.goal().budget
    done = 100.0 if report["state"] == "done" else min(100.0, 100.0 * report["questions"] / budget if budget else 100.0)
    create_progress_artifact(
        done, key=artifact_key(campaign, "progress"), description=f"{report['questions']} of {budget} questions"
    )
    row = {name: report[name] for name in _SHOWN if name in report}
    create_table_artifact([row], key=artifact_key(campaign, "table"), description=f"{campaign} in {workspace}")
    page = f"{folder.prefix}/results/report.html"
    if folder.workspace.objects.size(page) is not None:
        where = f"{folder.workspace.location}/{page}"
        link = where if folder.workspace.is_remote else f"file://{where}"
        create_link_artifact(link, link_text="report.html", key=artifact_key(campaign, "report"))


__all__ = ["artifact_key", "show_campaign"]
