"""Processes that tests start, stop and kill. Started from a fork server that has everything imported, so that fifty cost little.

Each is a process of its own that runs the real functions of the front door and dies by a real SIGKILL.
"""

import os
import traceback
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tests.forkserver import SERVER


def start(function: Callable[..., None], *arguments: Any) -> BaseProcess:
    process = SERVER.Process(target=_said, args=(function, *arguments))
    process.start()
    return process


def _said(function: Callable[..., None], *arguments: Any) -> None:
    """Exit with 0, with 3 for a failure that is explained, with 1 for any other."""
    from storage.errors import CccountError

    os.environ["NO_COLOR"] = "1"
    try:
        function(*arguments)
    except CccountError as error:
        Path(f"{os.environ.get('TEST_SAYS', '/dev/null')}").write_text(str(error))
        os._exit(3)
    except BaseException:  # noqa: BLE001  the parent only sees the exit code
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def count_labels(workspace: str, campaign: str, budget: int, batch: int = 16) -> None:
    """Go on with a labels campaign in small steps, so that there are many moments to be killed at."""
    from cccount_dist.campaign.inputs import load_inputs
    from cccount_dist.kinds.count.runner import CountRunner
    from tests.flows.calls import CountOptions, open_campaign

    folder = open_campaign(workspace, campaign, CountOptions(budget=budget, oracle="labels", method="nis", seed=3))
    with folder.lease() as lease:
        runner = CountRunner(folder, lease, load_inputs(folder.workspace))
        while runner.step(batch=batch).state == "running":
            pass


def step_with_lease(workspace: str, campaign: str, seconds: float, says: str) -> None:
    """Take a lease of a few seconds, tell the parent, and step for ever: the parent stops and continues us."""
    from cccount_dist.campaign.inputs import load_inputs
    from cccount_dist.kinds.count.runner import CountRunner
    from storage.campaigns import CampaignFolder
    from storage.workspace import Workspace

    os.environ["TEST_SAYS"] = says
    folder = CampaignFolder(Workspace.open(workspace), campaign)
    with folder.lease(seconds=seconds) as lease:
        runner = CountRunner(folder, lease, load_inputs(folder.workspace))
        Path(says).write_text("holding")
        while True:
            runner.step(batch=1)


def group_labels(workspace: str, campaign: str, budget: int, method: str = "evidence") -> None:
    """What `cccount cluster --oracle labels` does."""
    from tests.flows.calls import ClusterOptions, cluster

    cluster(workspace, campaign, ClusterOptions(method=method, budget=budget, oracle="labels", error_rate=0.05, seed=3))


def leave_a_temporary(folder: str) -> None:
    """What a process leaves that is killed while it writes a file."""
    from storage.objects import temporary_beside

    temporary_beside(Path(folder) / "lease.json").write_text("half")


def upgrade_workspace(workspace: str) -> None:
    """What `cccount upgrade` does."""
    from flows.stages.upgrade import upgrade

    upgrade(workspace)
