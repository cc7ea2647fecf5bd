"""`python -m flows.deploy WORKSPACE CAMPAIGN…`: work pool, deployments and the heartbeat automation on the Prefect server.

`infra/prefect.yaml` says what the deployments are; here the workspace and the campaigns are filled in, one `advance-NAME` for
each campaign. Run it again at any time: everything is replaced by what it says now.
"""

import argparse
import subprocess
import sys
import tempfile
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml
from prefect.automations import Automation, EventTrigger, Posture
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.exceptions import ObjectAlreadyExists

PREFECT_FILE = "infra/prefect.yaml"
ZOMBIES = "cccount: runs whose heartbeat stopped"
SILENCE = timedelta(seconds=120)  # four heartbeats of 30 s: a run that is only slow is not taken for dead


def filled_in(document: dict[str, Any], workspace: str, campaigns: list[str], every: float | None = None) -> dict[str, Any]:
    """Return the Prefect file for this workspace; `every` replaces the schedule of `advance` by an interval in seconds."""
    deployments = []
    for deployment in document["deployments"]:
        for campaign in campaigns if deployment["name"] == "advance" else [None]:
            filled = {**deployment, "parameters": {**deployment["parameters"], "workspace": workspace}}
            if campaign is not None:
                filled["name"] = f"advance-{campaign}"
                filled["parameters"]["campaign"] = campaign
                filled["tags"] = [f"campaign:{campaign}"]
                if every is not None:
                    filled["schedules"] = [{"interval": every}]
            deployments.append(filled)
    return {**document, "deployments": deployments}


def zombie_automation() -> Automation:
    """A run that has sent a heartbeat, and then neither another nor its end, is marked as crashed: it frees its concurrency slot.

    Crashed is only a label. The next schedule goes on from the workspace, and should the run live after all, its lease is fenced.
    It is not forced: of a run that the schedule made, automations hear the end 15 minutes late (they wait for an event
    "Scheduled" that is never sent), so this fires for every run, and the server refuses it for those that have ended.
    """
    ends = ("Completed", "Failed", "Cancelled", "Crashed", "Cancelling", "Paused", "Suspended")
    return Automation(
        name=ZOMBIES,
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.heartbeat", *(f"prefect.flow-run.{end}" for end in ends)},
            match={"prefect.resource.id": "prefect.flow-run.*"},
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=SILENCE,
        ),
        actions=[ChangeFlowRunState(name="Zombie", state=StateType.CRASHED, message="its heartbeat stopped", force=False)],
    )


def deploy(workspace: str, campaigns: list[str], *, prefect_file: Path, every: float | None = None) -> None:
    """Make everything that scheduled runs need, on the server that the environment or the profile names."""
    document = filled_in(yaml.safe_load(prefect_file.read_text()), workspace, campaigns, every)
    with get_client(sync_client=True) as client:
        _make_pool(client, document["definitions"]["pool"]["name"])
    _replace_automation()
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(document, file, sort_keys=False)
        file.flush()
        command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", file.name]
        subprocess.run(command, check=True)  # noqa: S603  our own interpreter and file


def _make_pool(client: SyncPrefectClient, name: str) -> None:
    try:
        client.create_work_pool(WorkPoolCreate(name=name, type="process"))
    except ObjectAlreadyExists:
        return


def _replace_automation() -> None:
    with suppress(ValueError):  # there is none yet
        Automation.read(name=ZOMBIES).delete()  # type: ignore[attr-defined] # a coroutine only inside a loop
    zombie_automation().create()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m flows.deploy", description="Deploy cccount's flows for one workspace.")
    parser.add_argument("workspace", help="a folder that the workers see, or s3://bucket/prefix")
    parser.add_argument("campaigns", nargs="*", help="campaigns to advance on the schedule")
    parser.add_argument("--file", type=Path, default=Path(PREFECT_FILE), help="the Prefect file")
    parser.add_argument("--every", type=float, help="advance every so many seconds instead of the file's schedule")
    given = parser.parse_args()
    deploy(given.workspace, given.campaigns, prefect_file=given.file, every=given.every)


if __name__ == "__main__":
    main()
